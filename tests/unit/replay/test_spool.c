/* The spool: what was added stays where it is, and a disk that is full or missing is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "replay/spool.h"
#include "traces/base/mem.h"

static void pieces_stay_where_they_are(void **state)
{
    (void)state;
    enum { PIECES = 70, PIECE = (3 << 20) / 2 + 7 }; /* 105 MB: over the first step of the file */
    struct spool *s = spool_new();
    struct slice at[PIECES], empty;
    struct err e;
    char *text = mem_alloc(PIECE);
    for (int i = 0; i < PIECES; i++) {
        memset(text, 'a' + i % 26, PIECE);
        text[0] = (char)i;
        assert_int_equal(spool_add(s, (struct slice){text, PIECE}, &at[i], &e), TA_OK);
        assert_int_equal(spool_add(s, slice_of(""), &empty, &e), TA_OK);
        assert_int_equal(empty.n, 0);
    }
    assert_int_equal(spool_bytes(s), (uint64_t)PIECES * PIECE);
    for (int i = 0; i < PIECES; i++) {
        memset(text, 'a' + i % 26, PIECE);
        text[0] = (char)i;
        assert_int_equal(at[i].n, PIECE);
        assert_memory_equal(at[i].p, text, PIECE);
        assert_ptr_equal(at[i].p, at[0].p + (size_t)i * PIECE);
    }
    free(text);
    spool_free(s);
    spool_free(NULL);
}

static size_t entries(const char *path)
{
    size_t n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static void file_has_no_name(void **state)
{
    (void)state;
    char folder[] = "/tmp/test-spool-XXXXXX";
    assert_non_null(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    struct spool *s = spool_new();
    struct slice at;
    struct err e;
    assert_int_equal(spool_add(s, slice_of("abc"), &at, &e), TA_OK);
    assert_int_equal(entries(folder), 2); /* . and .. */
    assert_memory_equal(at.p, "abc", 3);
    spool_free(s);
    rmdir(folder);
    unsetenv("TMPDIR");
}

static void faults_name_the_folder(void **state)
{
    (void)state;
    setenv("TMPDIR", "/nonexistent/of/test-spool", 1);
    struct spool *s = spool_new();
    struct slice at;
    struct err e;
    assert_int_equal(spool_add(s, slice_of("abc"), &at, &e), TA_ESYS);
    assert_non_null(strstr(e.msg, "/nonexistent/of/test-spool"));
    assert_non_null(strstr(e.msg, "TMPDIR"));
    unsetenv("TMPDIR");
    assert_int_equal(spool_add(s, slice_of("abc"), &at, &e), TA_OK); /* it is as before */
    assert_int_equal(spool_bytes(s), 3);
    spool_free(s);
}

/* A limit on file sizes stands in for a full disk. */
static void full_disk_is_an_error(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small = {0};
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    struct spool *s = spool_new();
    struct slice first, at;
    struct err e;
    assert_int_equal(spool_add(s, slice_of("first"), &first, &e), TA_OK);
    small.rlim_cur = 70 << 20;
    setrlimit(RLIMIT_FSIZE, &small);
    char *text = mem_zalloc(80 << 20);
    int r = spool_add(s, (struct slice){text, 80 << 20}, &at, &e);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(r, TA_ESYS);
    assert_int_equal(spool_bytes(s), 5);
    assert_int_equal(spool_add(s, slice_of("second"), &at, &e), TA_OK);
    assert_ptr_equal(at.p, first.p + 5);
    assert_memory_equal(first.p, "firstsecond", 11);
    free(text);
    spool_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_stay_where_they_are),
        cmocka_unit_test(file_has_no_name),
        cmocka_unit_test(faults_name_the_folder),
        cmocka_unit_test(full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
