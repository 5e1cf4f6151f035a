/* The command line in a trace: readable, and without what must not be handed on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/command_text.h"

static void check(const char *const *argv, const char *expected)
{
    struct buf out;
    buf_init(&out, 4096);
    command_text(&out, (char *const *)(uintptr_t)argv);
    assert_string_equal(buf_text(&out), expected);
    buf_done(&out);
}
#define CHECK(expected, ...) check((const char *const[]){__VA_ARGS__, NULL}, expected)

static void quoting(void **state)
{
    (void)state;
    CHECK("python bench.py --n 3", "python", "bench.py", "--n", "3");
    CHECK("sh -c 'echo \"a b\"; it'\\''s' ''", "sh", "-c", "echo \"a b\"; it's", "");
}

static void secrets(void **state)
{
    (void)state;
    CHECK("b --api-key *** -n 1", "b", "--api-key", "sk-1", "-n", "1");
    CHECK("b --api-key=*** x", "b", "--api-key=sk-1", "x");
    CHECK("env OPENAI_API_KEY=*** b", "env", "OPENAI_API_KEY=sk-1", "b");
    CHECK("env HF_TOKEN=*** b", "env", "HF_TOKEN=hf_1", "b");
    CHECK("b --password *** -v", "b", "--password", "p", "-v");
    CHECK("sh -c 'A=1 API_KEY='***", "sh", "-c", "A=1 API_KEY=sk-1 b");
    CHECK("sh -c 'b --api-key '***", "sh", "-c", "b --api-key sk-1");
    CHECK("sh -c 'curl -H \"Authorization:'***", "sh", "-c", "curl -H \"Authorization: Bearer x\"");
    CHECK("curl -H Authorization:***", "curl", "-H", "Authorization: Bearer x");
    CHECK("curl -H X-Api-Key:***", "curl", "-H", "X-Api-Key: x");
    CHECK("b http://***@h:1/v1", "b", "http://user:pass@h:1/v1");
    CHECK("b http://***'@h/a?b'", "b", "http://user:p@ss@h/a?b");
}

/* Counts of tokens are no tokens, and an option without a value hides nothing. */
static void no_secrets(void **state)
{
    (void)state;
    CHECK("b --max-tokens 64 --prompt-tokens=9", "b", "--max-tokens", "64", "--prompt-tokens=9");
    CHECK("b --tokenizer t.json --author me", "b", "--tokenizer", "t.json", "--author", "me");
    CHECK("sh -c 'b --no-auth -n 3'", "sh", "-c", "b --no-auth -n 3");
    CHECK("b --no-auth -n 3", "b", "--no-auth", "-n", "3");
    CHECK("b http://h/a@b", "b", "http://h/a@b");
}

static void cut(void **state)
{
    (void)state;
    struct buf out;
    char *const argv[] = {(char[]){"abcdefgh"}, (char[]){"ijkl"}, NULL};
    buf_init(&out, 11);
    command_text(&out, argv);
    assert_string_equal(buf_text(&out), "abcdefgh i");
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quoting),
        cmocka_unit_test(secrets),
        cmocka_unit_test(no_secrets),
        cmocka_unit_test(cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
