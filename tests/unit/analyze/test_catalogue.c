/* The catalogue is whole: what a trace decides is tried on claims or found without any, and nothing
 * is said by an id that is not in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/catalogue.h"
#include "analyze/causes_row.h"
#include "analyze/finding_kinds.h"

enum { CAUSES = 114 };

/* These two fit too easily to stand among the rows: causes.c tries them behind all others. */
static bool is_tried_last(const char *id)
{
    return strcmp(id, "P34") == 0 || strcmp(id, "P27") == 0;
}

static size_t rows_of(const char *id)
{
    size_t n = 0;
    for (size_t i = 0; i < cause_tables_n; i++) {
        for (size_t k = 0; k < cause_tables[i]->n; k++)
            n += strcmp(cause_tables[i]->rows[k].id, id) == 0;
    }
    return n;
}

static void ids_are_one_to_the_last(void **state)
{
    (void)state;
    assert_int_equal(cause_kinds_n, CAUSES);
    for (size_t i = 0; i < cause_kinds_n; i++) {
        char id[24];
        snprintf(id, sizeof id, "P%02zu", i + 1);
        assert_string_equal(cause_kinds[i].id, id);
        assert_ptr_equal(catalogue_find(id), &cause_kinds[i]);
        assert_true(strlen(cause_kinds[i].title) > 0 && strlen(cause_kinds[i].direction) > 0);
    }
    assert_null(catalogue_find("P115"));
    assert_null(catalogue_find(""));
}

static void what_is_decided_is_tried_or_found(void **state)
{
    (void)state;
    size_t decided = 0;
    for (size_t i = 0; i < cause_kinds_n; i++) {
        const struct cause_kind *c = &cause_kinds[i];
        bool named = rows_of(c->id) > 0 || finding_kind_of_cause(c->id, NULL) != NULL ||
                     is_tried_last(c->id);
        bool undecided = c->need == CAUSE_UNDECIDED;
        if (named == undecided)
            fail_msg("%s is %s", c->id,
                     undecided ? "not decided, and named all the same"
                               : "decided, and no formula and no finding names it");
        if ((c->lacks != NULL) != undecided)
            fail_msg("%s: what it lacks is said of those not decided", c->id);
        decided += !undecided;
    }
    assert_true(decided >= 89);
}

static void rows_are_of_the_catalogue(void **state)
{
    (void)state;
    for (size_t i = 0; i < cause_tables_n; i++) {
        for (size_t k = 0; k < cause_tables[i]->n; k++) {
            const struct cause_row *row = &cause_tables[i]->rows[k];
            if (catalogue_find(row->id) == NULL)
                fail_msg("%s: no such id", row->id);
            assert_true(row->subjects != 0 && strlen(row->formula.text) > 0);
        }
    }
}

/* A formula that a cause has twice for one kind of claim says nothing the second time. */
static void no_row_is_there_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < cause_tables_n; i++) {
        const struct cause_rows *t = cause_tables[i];
        for (size_t k = 0; k < t->n; k++) {
            for (size_t m = k + 1; m < t->n; m++) {
                if (strcmp(t->rows[k].id, t->rows[m].id) == 0 &&
                    (t->rows[k].subjects & t->rows[m].subjects) != 0 &&
                    strcmp(t->rows[k].formula.text, t->rows[m].formula.text) == 0)
                    fail_msg("%s: %s twice", t->rows[k].id, t->rows[k].formula.text);
            }
        }
    }
}

static void findings_are_signs_of_what_is_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < FINDING_KINDS; i++) {
        char ids[128];
        snprintf(ids, sizeof ids, "%s",
                 finding_kinds[i].causes != NULL ? finding_kinds[i].causes : "");
        for (char *rest = ids, *id; (id = strtok_r(rest, " ", &rest)) != NULL;) {
            const struct cause_kind *c = catalogue_find(id);
            if (c == NULL || c->need == CAUSE_UNDECIDED)
                fail_msg("%s: %s is %s", finding_kinds[i].id, id,
                         c == NULL ? "no cause" : "not decided");
            assert_non_null(finding_kind_of_cause(id, NULL));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_one_to_the_last),
        cmocka_unit_test(what_is_decided_is_tried_or_found),
        cmocka_unit_test(rows_are_of_the_catalogue),
        cmocka_unit_test(no_row_is_there_twice),
        cmocka_unit_test(findings_are_signs_of_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
