/* Replies counted again: choices and kinds apart, pieces together, and what is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/recount.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

/* a b c, and ab and bc as one. */
static const char ranks[] = "YQ== 0\nYg== 1\nYw== 2\nYWI= 3\nYmM= 4\n";

static struct recounter with(const char *text, const char *model, struct arena *texts)
{
    struct recounter r = {.held = 0};
    struct err e;
    char path[] = "/tmp/test_recount.XXXXXX", operand[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    snprintf(operand, sizeof operand, "%s%s", model, path);
    if (recounter_add(&r, operand, "[a-z!]+", texts, &e) != TA_OK)
        fail_msg("%s", e.msg);
    unlink(path);
    return r;
}

static void say(struct recount *c, uint32_t choice, enum delta_kind kind, const char *text)
{
    recount_text(c, choice, kind, slice_of(text));
}

static void pieces_are_one_text_and_kinds_are_not(void **state)
{
    (void)state;
    struct arena texts = {0};
    struct recounter all = with(ranks, "", &texts);
    struct recount c = {.tokens = 0};
    const char *why = "";
    recount_begin(&c, &all, slice_of("m"));
    say(&c, 0, DELTA_REASONING, "a"); /* ab | c, not a | bc: one text */
    say(&c, 0, DELTA_REASONING, "b");
    say(&c, 0, DELTA_REASONING, "c");
    say(&c, 0, DELTA_TEXT, "a"); /* a, b apart: two kinds, of the second choice a third text */
    say(&c, 1, DELTA_TEXT, "b");
    say(&c, 0, DELTA_TEXT, "b");
    say(&c, 1, DELTA_TEXT, "c");
    say(&c, 0, DELTA_TOOL, "b");
    say(&c, 0, DELTA_TEXT, "a");
    assert_int_equal(all.held, 1 + 2);
    assert_int_equal(recount_done(&c, &why), 2 + 1 + 1 + 1 + 1);
    assert_null(why);
    assert_int_equal(all.held, 0);
    recounter_done(&all);
    arena_free(&texts);
}

/* Piece by piece the same text has other tokens, and others with "!" before each. */
static void pieces_are_counted_apart(void **state)
{
    (void)state;
    struct arena texts = {0};
    struct recounter all = with("YQ== 0\nYg== 1\nYw== 2\nYWI= 3\nIQ== 4\nIWM= 5\n", "", &texts);
    const char *why = "";
    for (int apart = 0; apart < 2; apart++) {
        struct recount c = {.tokens = 0};
        all.apart = apart;
        recount_begin(&c, &all, slice_of("m"));
        say(&c, 0, DELTA_REASONING, "a");
        say(&c, 0, DELTA_REASONING, "b"); /* ab */
        say(&c, 0, DELTA_TEXT, "c");      /* !c is one token */
        assert_int_equal(recount_done(&c, &why), 2);
        assert_int_equal(c.apart.content, 1);
        assert_int_equal(c.apart.pieces, apart ? 3 : 0);
        assert_int_equal(c.apart.prefixed, apart ? 1 + 1 + 0 : 0);
        assert_int_equal(c.apart.times, apart ? 3 : 0);
        assert_int_equal(c.apart.around, 0);
    }
    recounter_done(&all);
    arena_free(&texts);
}

static void nothing_to_count_with_is_no_reason(void **state)
{
    (void)state;
    struct recounter none = {.held = 0};
    struct recount c = {.tokens = 0};
    const char *why = "";
    recount_begin(&c, &none, slice_of("m"));
    say(&c, 0, DELTA_TEXT, "a");
    assert_int_equal(recount_done(&c, &why), -1);
    assert_null(why);
}

static void a_model_has_its_own(void **state)
{
    (void)state;
    struct arena texts = {0};
    struct recounter all = with(ranks, "org/m=", &texts);
    const char *why = NULL;
    struct recount other = {.tokens = 0}, own = {.tokens = 0};
    recount_begin(&other, &all, slice_of("m"));
    say(&other, 0, DELTA_TEXT, "a");
    assert_int_equal(recount_done(&other, &why), -1);
    assert_non_null(strstr(why, "no tokenizer"));
    recount_begin(&own, &all, slice_of("org/m"));
    say(&own, 0, DELTA_TEXT, "a");
    assert_int_equal(recount_done(&own, &why), 1);
    recounter_done(&all);
    arena_free(&texts);
}

static void what_is_too_much_is_given_up(void **state)
{
    (void)state;
    struct arena texts = {0};
    struct recounter all = with(ranks, "", &texts);
    const char *why = NULL;
    char *text = mem_alloc(LIMIT_RECOUNT_BYTES);
    memset(text, 'a', LIMIT_RECOUNT_BYTES);
    struct recount c = {.tokens = 0}, d = {.tokens = 0};
    recount_begin(&c, &all, slice_of("m"));
    recount_text(&c, 0, DELTA_TEXT, (struct slice){text, LIMIT_RECOUNT_BYTES});
    say(&c, 0, DELTA_TEXT, "a"); /* one more than a text may have */
    say(&c, 0, DELTA_REASONING, "a");
    assert_int_equal(recount_done(&c, &why), -1);
    assert_non_null(strstr(why, "too long"));
    assert_int_equal(all.held, 0);
    all.held = LIMIT_RECOUNT_HELD_BYTES; /* of other replies */
    recount_begin(&d, &all, slice_of("m"));
    say(&d, 0, DELTA_TEXT, "a");
    assert_int_equal(recount_done(&d, &why), -1);
    assert_non_null(strstr(why, "too long"));
    struct recount many = {.tokens = 0};
    all.held = 0;
    recount_begin(&many, &all, slice_of("m"));
    say(&many, UINT32_MAX, DELTA_TEXT, "a");
    assert_int_equal(recount_done(&many, &why), -1);
    assert_non_null(strstr(why, "choices"));
    free(text);
    recounter_done(&all);
    arena_free(&texts);
}

static void an_unknown_character_is_given_up(void **state)
{
    (void)state;
    struct arena texts = {0};
    struct recounter all = with(ranks, "", &texts);
    const char *why = NULL;
    struct recount c = {.tokens = 0};
    recount_begin(&c, &all, slice_of("m"));
    say(&c, 0, DELTA_TEXT, "abz");
    assert_int_equal(recount_done(&c, &why), -1);
    assert_non_null(strstr(why, "no token for"));
    recounter_done(&all);
    arena_free(&texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_one_text_and_kinds_are_not),
        cmocka_unit_test(pieces_are_counted_apart),
        cmocka_unit_test(nothing_to_count_with_is_no_reason),
        cmocka_unit_test(a_model_has_its_own),
        cmocka_unit_test(what_is_too_much_is_given_up),
        cmocka_unit_test(an_unknown_character_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
