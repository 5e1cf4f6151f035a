/* Units for people. */
#include "traces/base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double scale;
};

static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"k", 1024},
    {"K", 1024},
    {"kB", 1e3},
    {"KB", 1e3},
    {"KiB", 1024},
    {"M", 1048576},
    {"MB", 1e6},
    {"MiB", 1048576},
    {"G", 1073741824.0},
    {"GB", 1e9},
    {"GiB", 1073741824.0},
};

static const struct unit durations[] = {
    {"", 1e9},  {"ns", 1},   {"us", 1e3},   {"ms", 1e6},
    {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9},
};

static bool parse(const char *text, const struct unit *units, size_t n, double *value)
{
    char *end = NULL;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(v) || v < 0)
        return false;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(end, units[i].name) == 0) {
            *value = v * units[i].scale;
            return true;
        }
    }
    return false;
}

bool units_parse_size(const char *text, uint64_t *bytes)
{
    double v;
    if (!parse(text, sizes, sizeof sizes / sizeof *sizes, &v) || v > 9e18)
        return false;
    *bytes = (uint64_t)llround(v);
    return true;
}

bool units_parse_duration(const char *text, int64_t *ns)
{
    double v;
    if (!parse(text, durations, sizeof durations / sizeof *durations, &v) || v > 9e18)
        return false;
    *ns = llround(v);
    return true;
}

static const char *three_digits(double v, const char *unit, char out[32])
{
    int decimals = v >= 100 || v == floor(v) ? 0 : v >= 10 ? 1 : 2;
    snprintf(out, 32, "%.*f %s", decimals, v, unit);
    return out;
}

const char *units_bytes(uint64_t bytes, char out[32])
{
    static const struct unit shown[] = {{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if ((double)bytes >= shown[i].scale)
            return three_digits((double)bytes / shown[i].scale, shown[i].name, out);
    }
    snprintf(out, 32, "%" PRIu64 " B", bytes);
    return out;
}

const char *units_duration(int64_t ns, char out[32])
{
    static const struct unit shown[] = {
        {"h", 3600e9}, {"min", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
    double v = fabs((double)ns);
    const char *sign = ns < 0 ? "-" : "";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (v >= shown[i].scale) {
            char plain[32];
            three_digits(v / shown[i].scale, shown[i].name, plain);
            snprintf(out, 32, "%s%.30s", sign, plain);
            return out;
        }
    }
    snprintf(out, 32, "%" PRId64 " ns", ns);
    return out;
}

const char *units_count(uint64_t n, char out[32])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    int at = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}
