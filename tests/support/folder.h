/* A folder for what a test draws, and whether it can draw. Include it after cmocka.h. */
#ifndef TESTS_SUPPORT_FOLDER_H
#define TESTS_SUPPORT_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plots/plot.h"
#include "traces/base/mem.h"

static inline char *folder_make(void)
{
    char template[] = "/tmp/tokaudit-test-XXXXXX";
    assert_non_null(mkdtemp(template));
    return mem_strdup(template);
}

static inline void folder_remove(const char *dir)
{
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char *path = mem_printf("%s/%s", dir, e->d_name);
        struct stat st;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                folder_remove(path);
            else
                unlink(path);
        }
        free(path);
    }
    closedir(d);
    rmdir(dir);
}

static inline char *folder_read(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("no %s", path);
    free(path);
    char *text = mem_zalloc(16u << 20);
    size_t n = fread(text, 1, (16u << 20) - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

static inline bool folder_has(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static inline bool gnuplot_is_there(void)
{
    char *version = plot_gnuplot_version();
    bool there = version != NULL;
    if (there)
        assert_int_equal(strncmp(version, "gnuplot ", 8), 0);
    free(version);
    if (!there)
        fprintf(stderr, "SKIPPED: there is no gnuplot, no picture was tested\n");
    return there;
}

#endif
