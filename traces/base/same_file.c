/* By device and inode. */
#include "traces/base/same_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && S_ISREG(a->st_mode);
}

bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && is_same(&x, &y);
}

int same_file_refuse(const char *input, const char *output, const char *option, struct err *e)
{
    struct stat in, out;
    if (output == NULL || strcmp(output, "-") == 0)
        return TA_OK;
    bool there = strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &in) == 0 : stat(input, &in) == 0;
    if (!there || stat(output, &out) != 0 || !is_same(&in, &out))
        return TA_OK;
    return err_set(e, TA_EUSAGE, "%s would be read and written at once: name another %s",
                   strcmp(input, "-") == 0 ? output : input, option);
}
