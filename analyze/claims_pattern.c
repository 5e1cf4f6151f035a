/* Places in result files, and what statistics are called there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims_table.h"

/* "p99", "p99.9"; and GuideLLM's "p001", "p01", "p999". */
static bool read_quantile(struct slice s, double *q)
{
    char digits[16], *end;
    if (s.n < 2 || s.n > 8 || s.p[0] != 'p')
        return false;
    memcpy(digits, s.p + 1, s.n - 1);
    digits[s.n - 1] = '\0';
    double x = strtod(digits, &end);
    if (*end != '\0' || strspn(digits, "0123456789.") != s.n - 1)
        return false;
    bool tenths = strchr(digits, '.') == NULL && s.n == 4 && x != 100;
    *q = x / (tenths ? 1000 : 100);
    return *q >= 0 && *q <= 1;
}

bool claims_table_stat(struct slice s, struct file_figure *f)
{
    static const struct {
        const char *name;
        enum file_stat stat;
    } names[] = {{"mean", FILE_MEAN},  {"avg", FILE_MEAN},    {"std", FILE_STD},
                 {"stddev", FILE_STD}, {"std_dev", FILE_STD}, {"min", FILE_MIN},
                 {"max", FILE_MAX},    {"sum", FILE_SUM},     {"total_sum", FILE_SUM},
                 {"value", FILE_VALUE}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (slice_is(s, names[i].name)) {
            f->stat = names[i].stat;
            return true;
        }
    }
    f->stat = FILE_QUANTILE;
    f->q = 0.5;
    return slice_is(s, "median") || read_quantile(s, &f->q);
}

const char *file_stat_text(const struct file_figure *f, char out[16])
{
    static const char *const names[] = {"value", "mean", "std", "min", "max", "sum"};
    if (f->stat == FILE_QUANTILE)
        snprintf(out, 16, "p%g", f->q * 100);
    else
        snprintf(out, 16, "%s", names[f->stat]);
    return out;
}

/* What '*' stands for; an empty slice for none. */
bool claims_table_matches(const char *pattern, struct slice path, struct slice *star)
{
    const char *at = strchr(pattern, '*');
    size_t n = strlen(pattern);
    *star = (struct slice){path.p, 0};
    if (at == NULL)
        return slice_is(path, pattern);
    size_t before = (size_t)(at - pattern), after = n - before - 1;
    if (path.n < before + after + 1 || memcmp(path.p, pattern, before) != 0 ||
        memcmp(path.p + path.n - after, at + 1, after) != 0)
        return false;
    *star = (struct slice){path.p + before, path.n - before - after};
    return true;
}

const struct file_figure *file_find(const struct file_summary *s, enum figure_id id,
                                    enum file_stat stat)
{
    for (size_t i = 0; i < s->figures.n; i++) {
        const struct file_figure *f = &s->figures.v[i];
        if (f->id == id && f->stat == stat && (stat != FILE_QUANTILE || f->q == 0.5))
            return f;
    }
    return NULL;
}
