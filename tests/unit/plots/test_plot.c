/* Tables, scripts and pictures of plots/plot.c. Scripts and tables are checked everywhere; pictures
 * where there is a gnuplot, else the test says so and skips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plots/plot.h"
#include "tests/support/folder.h"
#include "traces/base/mem.h"

static const char hostile[] = "it's `touch HACKED` \"q\" $(touch HACKED) \\n <b>&\n\tx\x1b[0m\xff#";

/* compare is the template that needs the fewest tables. */
static void fill(struct plot *p, const char *text)
{
    plot_init(p, "compare", "compare", "alt text");
    struct plot_table *t = plot_table(p, "SUM", "summary", "row, …");
    plot_cell_number(t, 0);
    plot_cell_text(t, slice_of(text));
    plot_cell_number(t, 41.4);
    plot_cell_number(t, 82.8);
    plot_cell_text(t, slice_of("2.00×"));
    plot_cell_text(t, slice_of("ok"));
    plot_cell_text(t, slice_of(text));
    for (int i = 0; i < 2; i++) {
        plot_cell_number(t, 41.4 * (i + 1));
        plot_cell_number(t, 41.4 * (i + 1));
    }
    plot_cell_text(t, slice_of(""));
    plot_cell_text(t, slice_of("41.4"));
    plot_cell_text(t, slice_of("82.8"));
    plot_row_end(t);
    t = plot_table(p, "REP", "repeats", "row, scenario, tok/s");
    for (int i = 0; i < 2; i++) {
        plot_cell_number(t, 0);
        plot_cell_number(t, i);
        plot_cell_number(t, 41.4 * (i + 1));
        plot_row_end(t);
    }
    plot_text(p, "TITLE", text);
    plot_text(p, "SUB", text);
    plot_text(p, "FOOT", text);
    plot_text(p, "L_TOGETHER", "double");
}

static void tables_hold_cells(void **state)
{
    (void)state;
    struct plot p;
    plot_init(&p, "x", "compare", "");
    struct plot_table *t = plot_table(&p, "T", "kind", "a, b");
    plot_cell_number(t, 1.5);
    plot_cell_number(t, NAN);
    plot_cell_number(t, INFINITY);
    plot_cell_text(t, slice_of(""));
    plot_cell_text(t, slice_of("a\tb\nc\"d\\n\xEF\xBF\xBF"));
    plot_row_end(t);
    plot_block_end(t);
    plot_cell_number(t, 1234567.25);
    plot_row_end(t);
    assert_string_equal(buf_text(&t->rows), "# tokaudit plot-data v1  kind=kind\n# a, b\n"
                                            "1.5\tnan\tnan\t \ta\xEF\xBF\xBD"
                                            "b\xEF\xBF\xBD"
                                            "c'd/n\xEF\xBF\xBD\n\n\n1234567.25\n");
    plot_done(&p);
}

static void a_script_that_stands_alone(void **state)
{
    (void)state;
    struct plot p;
    fill(&p, hostile);
    plot_number(&p, "A", 14000);
    plot_number(&p, "B", NAN);
    char *dir = folder_make();
    struct plot_result result;
    struct err e = {0};
    assert_int_equal(plot_draw(&p, dir, &result, &e), TA_OK);
    char *script = folder_read(dir, "plots/compare.gp");
    assert_non_null(strstr(script, "\nSUM = '../data/compare-summary.tsv'\n"));
    assert_non_null(strstr(script, "\nA = 14000\nB = NaN\n"));
    assert_non_null(
        strstr(script, "\nTITLE = 'it''s `touch HACKED` \"q\" $(touch HACKED) \\n <b>&"));
    assert_non_null(strstr(script, "C_REAL"));          /* the style */
    assert_non_null(strstr(script, "unset multiplot")); /* the template */
    assert_null(strstr(script, "\nload "));
    assert_true(folder_has(dir, "data/compare-summary.tsv"));
    free(script);
    free(result.svg);
    free(result.why_not);
    folder_remove(dir);
    free(dir);
    plot_done(&p);
}

static void pictures_of_hostile_text(void **state)
{
    (void)state;
    if (!gnuplot_is_there())
        skip();
    struct plot p;
    fill(&p, hostile);
    char *dir = folder_make();
    struct plot_result result;
    struct err e = {0};
    assert_int_equal(plot_draw(&p, dir, &result, &e), TA_OK);
    if (!result.drawn)
        fail_msg("%s", result.why_not);
    assert_null(result.why_not);
    assert_false(folder_has(dir, "HACKED"));
    assert_false(folder_has(dir, "plots/HACKED"));
    /* gnuplot escapes & and < only. */
    assert_non_null(
        strstr(result.svg, "it's `touch HACKED` \"q\" $(touch HACKED) \\n &lt;b>&amp;"));
    assert_non_null(strstr(result.svg, "<title id=\"compare-t\">alt text</title>"));
    char *svg = folder_read(dir, "plots/compare.svg");
    assert_int_equal(strncmp(svg, "<?xml", 5), 0);
    free(svg);
    free(result.svg);
    folder_remove(dir);
    free(dir);
    plot_done(&p);
}

/* A warning leaves exit status 0 and a broken picture: it counts as a failure, and an old picture
 * does not stay. */
static void a_warning_is_a_failure(void **state)
{
    (void)state;
    if (!gnuplot_is_there())
        skip();
    char *dir = folder_make();
    struct plot p;
    struct plot_result result;
    struct err e = {0};
    fill(&p, "fine");
    assert_int_equal(plot_draw(&p, dir, &result, &e), TA_OK);
    assert_true(result.drawn);
    assert_true(folder_has(dir, "plots/compare.svg"));
    free(result.svg);
    buf_clear(&p.tables.v[1].rows);
    buf_puts(&p.tables.v[1].rows, "# nothing\n");
    assert_int_equal(plot_draw(&p, dir, &result, &e), TA_OK);
    assert_false(result.drawn);
    assert_null(result.svg);
    assert_non_null(result.why_not);
    assert_non_null(strstr(result.why_not, "gnuplot"));
    free(result.why_not);
    folder_remove(dir);
    free(dir);
    plot_done(&p);
}

static void without_gnuplot_only_the_pictures_are_missing(void **state)
{
    (void)state;
    char *path = mem_strdup(getenv("PATH"));
    char *dir = folder_make();
    setenv("PATH", dir, 1);
    struct plot p;
    struct plot_result result;
    struct err e = {0};
    fill(&p, "x");
    assert_int_equal(plot_draw(&p, dir, &result, &e), TA_OK);
    assert_null(plot_gnuplot_version());
    setenv("PATH", path, 1);
    assert_false(result.drawn);
    assert_non_null(strstr(result.why_not, "no gnuplot"));
    assert_true(folder_has(dir, "plots/compare.gp"));
    assert_true(folder_has(dir, "data/compare-repeats.tsv"));
    assert_false(folder_has(dir, "plots/compare.svg"));
    free(result.why_not);
    folder_remove(dir);
    free(dir);
    free(path);
    plot_done(&p);
}

/* A stand-in for gnuplot in a folder of its own, first in PATH. */
static char *put_stand_in(const char *dir, const char *script)
{
    char *file = mem_printf("%s/gnuplot", dir), *before = mem_strdup(getenv("PATH"));
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    chmod(file, 0755);
    char *path = mem_printf("%s:%s", dir, before);
    setenv("PATH", path, 1);
    free(path);
    free(file);
    return before;
}

static void what_gnuplot_says(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        bool drawn;
        const char *why; /* NULL: none */
    } cases[] = {
        {"echo '<svg ></svg>' > compare.svg", true, NULL},
        {"echo '<svg ></svg>' > compare.svg; echo 'iconv failed to convert degree sign' >&2", true,
         NULL},
        {"echo '<svg ></svg>' > compare.svg; echo 'warning: x' >&2", false, "warning: x"},
        {"exit 3", false, "status 3"},
        {"kill -9 $$", false, "status 137"},
        {"head -c 100000 /dev/zero | tr '\\0' x >&2", false, "xxx"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *bin = folder_make(), *dir = folder_make();
        char *before = put_stand_in(bin, cases[i].script);
        struct plot p;
        struct plot_result result;
        struct err e = {0};
        fill(&p, "x");
        assert_int_equal(plot_draw(&p, dir, &result, &e), TA_OK);
        setenv("PATH", before, 1);
        assert_int_equal(result.drawn, cases[i].drawn);
        if (cases[i].why != NULL && strstr(result.why_not, cases[i].why) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", result.why_not, cases[i].why);
        free(result.svg);
        free(result.why_not);
        free(before);
        plot_done(&p);
        folder_remove(dir);
        folder_remove(bin);
        free(dir);
        free(bin);
    }
}

static void faults_of_the_disk_are_errors(void **state)
{
    (void)state;
    struct plot p;
    struct plot_result result;
    struct err e = {0};
    fill(&p, "x");
    assert_int_equal(plot_draw(&p, "/dev/null/no", &result, &e), TA_ESYS);
    assert_non_null(strstr(e.msg, "/dev/null/no"));
    plot_done(&p);

    char *dir = folder_make();
    fill(&p, "x");
    p.template = "no-such-template";
    assert_int_equal(plot_draw(&p, dir, &result, &e), TA_ESYS);
    assert_non_null(strstr(e.msg, "no-such-template.gp"));
    plot_done(&p);
    folder_remove(dir);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_cells),
        cmocka_unit_test(a_script_that_stands_alone),
        cmocka_unit_test(pictures_of_hostile_text),
        cmocka_unit_test(a_warning_is_a_failure),
        cmocka_unit_test(without_gnuplot_only_the_pictures_are_missing),
        cmocka_unit_test(what_gnuplot_says),
        cmocka_unit_test(faults_of_the_disk_are_errors),
    };
    return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
