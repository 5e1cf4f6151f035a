/* The table of kinds: whole, in order with the options and the tests, and readable. */
#include <dirent.h>
#include <stdlib.h>

#include "analyze/cmd_analyze.h"
#include "tests/unit/analyze/finding_test.h"
#include "traces/base/buf.h"

static void rows_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < FINDING_KINDS; i++) {
        const struct finding_kind *k = &finding_kinds[i];
        if (k->id == NULL || k->title == NULL || k->meaning == NULL)
            fail_msg("row %zu is not filled in", i);
        assert_ptr_equal(finding_kind_named(k->id), k); /* no id twice */
        assert_non_null(strchr(k->id, '.'));
        assert_int_equal(k->id[strspn(k->id, "abcdefghijklmnopqrstuvwxyz0123456789.-")], '\0');
        assert_true(k->meaning[strlen(k->meaning) - 1] == '.');
        assert_true(k->title[strlen(k->title) - 1] != '.');
    }
    assert_null(finding_kind_named("server.none"));
}

static bool is_option(const char *name, size_t n)
{
    for (const struct cli_option *o = cmd_analyze.options; o->name != NULL; o++) {
        if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return true;
    }
    return false;
}

static void thresholds_are_options(void **state)
{
    (void)state;
    for (size_t i = 0; i < FINDING_KINDS; i++) {
        const char *at = finding_kinds[i].options;
        while (at != NULL && *at != '\0') {
            size_t n = strcspn(at, " ");
            if (!is_option(at, n))
                fail_msg("%s: analyze has no --%.*s", finding_kinds[i].id, (int)n, at);
            at += n + (at[n] == ' ');
        }
    }
}

static void causes_are_found(void **state)
{
    (void)state;
    const struct finding_kind *k = finding_kind_of_cause("P43", NULL);
    size_t n = 0;
    for (; k != NULL; k = finding_kind_of_cause("P43", k))
        n += strncmp(k->id, "stream.", 7) == 0;
    assert_int_equal(n, 3);
    k = finding_kind_of_cause("P62", NULL);
    assert_non_null(k);
    assert_string_equal(k->id, "server.cache-reuse");
    assert_null(finding_kind_of_cause("P4", NULL)); /* not P42 */
    assert_null(finding_kind_of_cause("", NULL));
}

/* Of every test beside this one. */
static void read_tests(struct buf *out)
{
    const char *folder = TESTS_DIR "/unit/analyze";
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        char path[1024];
        size_t n = strlen(e->d_name);
        if (n < 3 || strcmp(e->d_name + n - 2, ".c") != 0 ||
            strcmp(e->d_name, "test_finding_kinds.c") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        char text[4096];
        for (size_t got; (got = fread(text, 1, sizeof text, f)) > 0;)
            assert_int_equal(buf_add(out, text, got), TA_OK);
        fclose(f);
    }
    closedir(d);
}

static void every_kind_is_tested(void **state)
{
    (void)state;
    struct buf tests;
    size_t missing = 0;
    buf_init(&tests, 64u << 20);
    read_tests(&tests);
    for (size_t i = 0; i < FINDING_KINDS; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\"", finding_kinds[i].id);
        if (strstr(buf_text(&tests), quoted) == NULL) {
            fprintf(stderr, "no test speaks of %s\n", finding_kinds[i].id);
            missing++;
        }
    }
    buf_done(&tests);
    assert_int_equal(missing, 0);
}

static void help_is_readable(void **state)
{
    (void)state;
    char *text = NULL, *rest;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    finding_kinds_print(f);
    fclose(f);
    for (size_t i = 0; i < FINDING_KINDS; i++) {
        assert_non_null(strstr(text, finding_kinds[i].id));
        assert_true(finding_kinds[i].options == NULL || strstr(text, "Threshold: --") != NULL);
    }
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strlen(line) > 80)
            fail_msg("wider than 80 columns: %s", line);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),   cmocka_unit_test(thresholds_are_options),
        cmocka_unit_test(causes_are_found), cmocka_unit_test(every_kind_is_tested),
        cmocka_unit_test(help_is_readable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
