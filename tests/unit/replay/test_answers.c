/* Which recorded exchange answers a request, and what is said where none does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/answers.h"
#include "tests/support/made_recording.h"

static struct buf why;

/* The id, negative if it had been given before; 0: none, and why says it. */
static int find(struct answers *a, const char *method, const char *target, const char *body)
{
    buf_clear(&why);
    struct answers_found f =
        answers_find(a, slice_of(method), slice_of(target), slice_of(body), &why);
    if (f.x == NULL)
        return 0;
    return f.again ? -(int)f.x->id : (int)f.x->id;
}

static void assert_why(const char *text)
{
    if (strstr(buf_text(&why), text) == NULL)
        fail_msg("no '%s' in: %s", text, buf_text(&why));
}

static struct recording made(void)
{
    struct recording r = {0};
    made_add(&r, "POST", "/chat", "{\"model\":\"a\",\"n\":1}", NULL, 0);
    made_add(&r, "POST", "/chat", "{\"model\":\"a\",\"n\":2}", NULL, 0);
    made_add(&r, "POST", "/chat", "{\"model\":\"a\",\"n\":1}", NULL, 0);
    made_add(&r, "GET", "/models", "", NULL, 0);
    made_add(&r, "POST", "/chat", "{\"n\":3}", NULL, 0);
    return r;
}

static void test_body(void **state)
{
    (void)state;
    struct recording r = made();
    struct answers *a = answers_new(&r, ANSWERS_BODY);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"a\",\"n\":1}"), 1);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"a\",\"n\":1}"), 3);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"a\",\"n\":1}"), -1);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"a\",\"n\":2}"), 2);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"a\",\"n\":1}"), -3);
    assert_int_equal(find(a, "GET", "/models", ""), 4);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"b\",\"n\":1}"), 0);
    assert_why("2 of which differ in the model's name alone");
    assert_int_equal(find(a, "POST", "/chat", "{\"n\":4}"), 0);
    assert_why("the 4 recorded there had other ones; --match order");
    assert_int_equal(find(a, "GET", "/chat", ""), 0);
    assert_why("recorded with POST (4 times)");
    assert_int_equal(find(a, "GET", "/none", ""), 0);
    assert_why("never asked. Recorded are POST /chat (4), GET /models (1)");
    answers_free(a);
    VEC_FREE(&r.exchanges);
}

static void test_any_model(void **state)
{
    (void)state;
    struct recording r = made();
    struct answers *a = answers_new(&r, ANSWERS_ANY_MODEL);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"other\",\"n\":1}"), 1);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"other\",\"n\":1}"), 3);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"a\",\"n\":1}"), -1);
    assert_int_equal(find(a, "POST", "/chat", "{ \"model\":\"a\",\"n\":1}"), 0);
    assert_int_equal(find(a, "POST", "/chat", "{\"n\":3}"), 5); /* has no model: the same body */
    assert_int_equal(find(a, "POST", "/chat", "{\"n\":1}"), 0);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":"), 0);
    answers_free(a);
    VEC_FREE(&r.exchanges);
}

/* What a body that is the same has taken is not given to one that is not. */
static void test_order(void **state)
{
    (void)state;
    struct recording r = made();
    struct answers *a = answers_new(&r, ANSWERS_ORDER);
    assert_int_equal(find(a, "POST", "/chat", "{\"model\":\"a\",\"n\":2}"), 2);
    assert_int_equal(find(a, "POST", "/chat", "x"), 1);
    assert_int_equal(find(a, "POST", "/chat", "y"), 3);
    assert_int_equal(find(a, "POST", "/chat", "z"), 5);
    assert_int_equal(find(a, "POST", "/chat", "x"), -1);
    assert_int_equal(find(a, "POST", "/models", "x"), 0);
    answers_free(a);
    VEC_FREE(&r.exchanges);
}

/* Credentials in a target were overwritten when it was recorded, and what is asked has others. */
static void test_secrets(void **state)
{
    (void)state;
    struct recording r = {.redacted = "secrets"};
    made_add(&r, "POST", "/chat?key=****&alt=sse", "", NULL, 0);
    struct answers *a = answers_new(&r, ANSWERS_BODY);
    assert_int_equal(find(a, "POST", "/chat?key=k&alt=sse", ""), 1);
    assert_int_equal(find(a, "POST", "/chat?key=longer-than-that&alt=sse", ""), -1);
    assert_int_equal(find(a, "POST", "/chat?key=k&alt=json", ""), 0);
    answers_free(a);
    VEC_FREE(&r.exchanges);
}

/* Of bodies that are not there only the order is left. */
static void test_redacted_and_gaps(void **state)
{
    (void)state;
    struct recording r = {.redacted = "bodies"};
    made_add(&r, "POST", "/chat?q=xxx", "{\"model\":\"a\",\"n\":\"x\"}", NULL, 0)->request_flaw =
        RECORDING_REDACTED;
    made_add(&r, "POST", "/chat?q=xxx", "", NULL, 0)->request_flaw = RECORDING_GAP;
    struct answers *a = answers_new(&r, ANSWERS_ANY_MODEL);
    assert_int_equal(find(a, "POST", "/chat?q=one", "{\"model\":\"a\",\"n\":\"x\"}"), 0);
    assert_why("overwritten before");
    answers_free(a);
    a = answers_new(&r, ANSWERS_ORDER);
    assert_int_equal(find(a, "POST", "/chat?q=one", "1"), 1);
    assert_int_equal(find(a, "POST", "/chat?q=two", "2"), 2);
    assert_int_equal(find(a, "POST", "/chat", "3"), -1);
    answers_free(a);
    VEC_FREE(&r.exchanges);
}

static void test_words(void **state)
{
    (void)state;
    enum answers_match match;
    for (int i = ANSWERS_BODY; i <= ANSWERS_ORDER; i++) {
        assert_true(answers_match_of(answers_match_word((enum answers_match)i), &match));
        assert_int_equal(match, i);
    }
    assert_false(answers_match_of("prompt", &match));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_any_model),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_redacted_and_gaps),
        cmocka_unit_test(test_words),
    };
    buf_init(&why, 1 << 20);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_done(&why);
    return failed;
}
