/* Profiles: what is shipped reads, and every fault names file and field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/profile.h"

static const char whole[] =
    "{\"name\":\"n\",\"about\":\"a\",\"model\":\"m\",\"dialect\":\"openai-chat\",\"prefill_tps\":"
    "1000,"
    "\"decode_tps\":50.5,\"batching\":{\"kind\":\"continuous\"},\"delivery\":{\"kind\":\"stream\"},"
    "\"role_event\":\"at-once\",\"usage\":\"always\"}";

static char path[] = "/tmp/tokaudit-profile-XXXXXX.json";

static int read_text(const char *text, struct profile *p, struct err *e)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return profile_read(path, p, e);
}

/* whole with the first `from` replaced. */
static void expect_fault(const char *from, const char *to, const char *said)
{
    char text[2048];
    const char *at = strstr(whole, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    struct profile p;
    struct err e;
    assert_int_equal(read_text(text, &p, &e), TA_EFORMAT);
    if (strstr(e.msg, said) == NULL || strstr(e.msg, path) == NULL)
        fail_msg("%s -> %s\n  said      %s\n  expected  %s and %s", from, to, e.msg, path, said);
    profile_done(&p);
}

static void test_defaults(void **state)
{
    (void)state;
    struct profile p;
    struct err e;
    assert_int_equal(read_text(whole, &p, &e), TA_OK);
    assert_string_equal(p.name, "n");
    assert_string_equal(p.model, "m");
    assert_ptr_equal(p.dialect, &dialect_openai_chat);
    assert_true(p.decode_tps == 50.5 && p.prefill_tps == 1000);
    assert_int_equal(p.batching, BATCHING_CONTINUOUS);
    assert_int_equal(p.max_batch, 256);
    assert_int_equal(p.delivery, DELIVERY_STREAM);
    assert_int_equal(p.role_event, ROLE_AT_ONCE);
    assert_int_equal(p.usage, USAGE_ALWAYS);
    assert_int_equal(p.heartbeat_ns, 0);
    assert_int_equal(p.context_limit, 0);
    profile_done(&p);
}

static void test_all_fields(void **state)
{
    (void)state;
    struct profile p;
    struct err e;
    assert_int_equal(
        read_text("{\"name\":\"n-1\",\"about\":\"a\",\"model\":\"m\",\"dialect\":\"openai-chat\","
                  "\"prefill_tps\":1,"
                  "\"decode_tps\":1,\"batching\":{\"kind\":\"serial\"},\"delivery\":{\"kind\":"
                  "\"collect-then-replay\",\"event_cost_us\":71.5},\"role_event\":\"with-first\","
                  "\"usage\":\"asked\","
                  "\"heartbeat_s\":0.25,\"context_limit\":32768,\"jitter\":0.1}",
                  &p, &e),
        TA_OK);
    assert_int_equal(p.max_batch, 1);
    assert_int_equal(p.event_cost_ns, 71500);
    assert_int_equal(p.role_event, ROLE_WITH_FIRST);
    assert_int_equal(p.usage, USAGE_ASKED);
    assert_int_equal(p.heartbeat_ns, 250000000);
    assert_int_equal(p.context_limit, 32768);
    assert_true(p.jitter == 0.1);
    profile_done(&p);
}

static void test_faults(void **state)
{
    (void)state;
    expect_fault("\"about\"", "\"abuot\"", "unknown field \"abuot\"");
    expect_fault("\"kind\":\"stream\"", "\"kind\":\"stream\",\"event_cost\":1",
                 "\"event_cost\" in delivery");
    expect_fault("\"about\"", "\"a\\u001b[1m\"", "unknown field");
    expect_fault("\"model\":\"m\",", "", "no field \"model\"");
    expect_fault("{\"kind\":\"continuous\"}", "{}", "no field \"kind\" in batching");
    expect_fault("{\"kind\":\"continuous\"}", "\"serial\"", "batching: expected an object");
    expect_fault("{\"kind\":\"continuous\"}", "{\"kind\":\"serial\",\"max\":2}", "batching");
    expect_fault("{\"kind\":\"continuous\"}", "{\"kind\":\"continuous\",\"max\":1.5}",
                 "whole number");
    expect_fault("\"stream\"", "\"burst\"", "\"stream\" or \"collect-then-replay\"");
    expect_fault("{\"kind\":\"stream\"}", "{\"kind\":\"stream\",\"event_cost_us\":71}",
                 "event_cost_us");
    expect_fault("50.5", "0", "decode_tps: expected a number");
    expect_fault("50.5", "\"50\"", "decode_tps: expected a number");
    expect_fault("\"n\"", "\"a\\r\\nb\"", "name: expected a text of one line");
    expect_fault("\"n\"", "\"a b\"", "name: expected at most 64 letters");
    expect_fault("\"m\"", "7", "model: expected a text");
    expect_fault("\"openai-chat\"", "\"ollama\"", "dialect: expected \"openai-chat\"");
    expect_fault("always", "never", "usage: expected \"asked\" or \"always\"");
}

static void test_not_a_profile(void **state)
{
    (void)state;
    struct profile p;
    struct err e;
    assert_int_equal(read_text("[]", &p, &e), TA_EFORMAT);
    profile_done(&p);
    assert_int_equal(read_text("{", &p, &e), TA_EFORMAT);
    profile_done(&p);
    assert_int_equal(profile_read("/nonexistent/x.json", &p, &e), TA_EFORMAT);
    assert_non_null(strstr(e.msg, "/nonexistent/x.json"));
    profile_done(&p);
    assert_int_equal(profile_read("no-such-profile", &p, &e), TA_EFORMAT);
    assert_non_null(strstr(e.msg, "no-such-profile"));
    profile_done(&p);
}

static void test_shipped(void **state)
{
    (void)state;
    static const char *const names[] = {"ideal", "collect-then-replay"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[256];
        struct profile p;
        struct err e;
        snprintf(file, sizeof file, TESTS_DIR "/../replay/profiles/%s.json", names[i]);
        if (profile_read(file, &p, &e) != TA_OK)
            fail_msg("%s", e.msg);
        assert_string_equal(p.name, names[i]);
        profile_done(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_not_a_profile),
        cmocka_unit_test(test_shipped),
    };
    int fd = mkstemps(path, 5);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
