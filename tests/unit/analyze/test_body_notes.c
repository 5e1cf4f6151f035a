/* Hashes of overwritten bodies find their requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/body_notes.h"

#define ONES "1111111111111111111111111111111111111111111111111111111111111111"
#define TWOS "2222222222222222222222222222222222222222222222222222222222222222"

static const char block[] =
    "{\"kind\":\"bodies\",\"requests\":["
    "{\"client\":\"[::1]:4001\",\"nth\":1,\"t_ns\":\"20\",\"sha256\":\"" TWOS "\"},"
    "{\"client\":\"127.0.0.1:4000\",\"nth\":0,\"t_ns\":\"10\",\"sha256\":\"" ONES "\"},"
    "{\"client\":\"127.0.0.1:70000\",\"nth\":0,\"t_ns\":\"10\",\"sha256\":\"" ONES "\"},"
    "{\"client\":\"127.0.0.1:4000\",\"nth\":0,\"t_ns\":\"10\",\"sha256\":\"short\"},7]}";

static void joined_by_place(void **state)
{
    struct arena texts = {0};
    struct body_notes notes = {0};
    struct audit a = {0};
    (void)state;
    struct json *v = json_parse(block, sizeof block - 1, NULL);
    assert_int_equal(body_notes_read(&notes, v, &texts), 3);
    json_free(v);
    VEC_PUSH(&a.requests, (struct request){.t0 = 10, .client_port = 4000, .body_sha256 = "a"});
    VEC_PUSH(&a.requests, (struct request){.t0 = 10, .client_port = 4000, .body_sha256 = "a"});
    VEC_PUSH(&a.requests,
             (struct request){.t0 = 20, .client_port = 4001, .nth = 1, .body_sha256 = "a"});
    VEC_PUSH(&a.requests, (struct request){.t0 = 21, .client_port = 4001, .body_sha256 = "b"});
    VEC_PUSH(&a.requests, (struct request){.t0 = 10, .client_port = 4000});
    body_notes_join(&notes, &a, 1);
    assert_string_equal(a.requests.v[0].body_sha256, "a"); /* of another trace */
    assert_string_equal(a.requests.v[1].body_sha256, ONES);
    assert_string_equal(a.requests.v[2].body_sha256, TWOS);
    assert_string_equal(a.requests.v[3].body_sha256, "b");
    assert_null(a.requests.v[4].body_sha256); /* it had none */
    body_notes_done(&notes);
    VEC_FREE(&a.requests);
    arena_free(&texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joined_by_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
