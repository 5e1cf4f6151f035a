/* What is new in texts that say all so far again, and in texts that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text_so_far.h"
#include "traces/limits.h"

static void add(struct text_so_far *t, uint32_t choice, const char *text, uint64_t fresh)
{
    uint64_t n = text_so_far_new(t, choice, slice_of(text));
    if (n != fresh)
        fail_msg("\"%s\": %llu bytes are new, expected %llu", text, (unsigned long long)n,
                 (unsigned long long)fresh);
}

static void a_text_goes_on(void **state)
{
    (void)state;
    struct text_so_far t = {0};
    add(&t, 0, "a", 1);
    add(&t, 0, "a b", 2);
    add(&t, 1, "other", 5);
    add(&t, 0, "a b", 0);
    add(&t, 1, "others", 1);
    add(&t, 0, "a b c", 2);
    text_so_far_done(&t);
}

/* SGLang cuts a stop string off that it had begun to send: nothing is new, then or later. */
static void an_end_is_cut_off(void **state)
{
    (void)state;
    struct text_so_far t = {0};
    add(&t, 0, "a b", 3);
    add(&t, 0, "a b <st", 4);
    add(&t, 0, "a b", 0);
    add(&t, 0, "a b", 0);
    text_so_far_done(&t);
    add(&t, 0, "Hi <", 4); /* in the second event already */
    add(&t, 0, "Hi", 0);
    text_so_far_done(&t);
}

static void an_end_is_revised(void **state)
{
    (void)state;
    struct text_so_far t = {0};
    add(&t, 0, "a", 1);
    add(&t, 0, "a b", 2);
    add(&t, 0, "a b \xEF\xBF\xBD", 4);
    add(&t, 0, "a b \xC3\xA9", 2);
    add(&t, 0, "a b \xC3\xA8", 2); /* a whole character, though one byte differs */
    for (char text[] = "a b \xC3\xA8.........", *end = text + 7; *end != '\0'; end++) {
        char so_far[sizeof text];
        snprintf(so_far, sizeof so_far, "%.*s", (int)(end - text), text);
        add(&t, 0, so_far, 1);
    }
    text_so_far_done(&t);
}

/* The first two texts have nothing in common, and it goes on all the same. */
static void a_first_piece_is_revised(void **state)
{
    (void)state;
    struct text_so_far t = {0};
    add(&t, 0, "\xEF\xBF\xBD", 3);
    add(&t, 0, "\xC3\xA9", 2);
    add(&t, 0, "\xC3\xA9 b", 2);
    add(&t, 0, "\xC3\xA9 b c", 2);
    add(&t, 0, "\xC3\xA9 b c d", 2);
    add(&t, 0, "\xC3\xA9 b c", 0);
    text_so_far_done(&t);
}

/* Near misses: pieces that begin alike, that are equal, that begin with the one before. */
static void pieces_are_all_new(void **state)
{
    (void)state;
    static const char *const pieces[] = {"one ", "two ",  "three ", "tree ", "tree ", " a",
                                         " b",   " both", " b",     "1",     "10"};
    struct text_so_far t = {0};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        add(&t, 0, pieces[i], strlen(pieces[i]));
    text_so_far_done(&t);
}

/* Too much to hold: its length tells. */
static void a_long_text_is_measured(void **state)
{
    (void)state;
    struct text_so_far t = {0};
    size_t n = LIMIT_SO_FAR_BYTES + 1;
    char *text = malloc(n + 2);
    assert_non_null(text);
    memset(text, 'x', n + 2);
    assert_int_equal(text_so_far_new(&t, 0, (struct slice){text, n - 2}), n - 2);
    assert_int_equal(text_so_far_new(&t, 0, (struct slice){text, n}), 2);
    assert_int_equal(text_so_far_new(&t, 0, (struct slice){text, n + 2}), 2);
    assert_int_equal(text_so_far_new(&t, 0, (struct slice){text, n}), 0);
    assert_true(t.held <= LIMIT_SO_FAR_BYTES);
    add(&t, 1, "a", 1);
    add(&t, 1, "ab", 1);
    add(&t, 4096, "ab", 2); /* nobody's */
    add(&t, 4096, "ab", 2);
    free(text);
    text_so_far_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_goes_on),     cmocka_unit_test(an_end_is_cut_off),
        cmocka_unit_test(an_end_is_revised),  cmocka_unit_test(a_first_piece_is_revised),
        cmocka_unit_test(pieces_are_all_new), cmocka_unit_test(a_long_text_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
