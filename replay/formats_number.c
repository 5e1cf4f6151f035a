/* Numbers and time stamps of workload files, read as they are written: a double has not the digits
 * for nanoseconds since 1970, nor for the seventh decimal of Azure's seconds. */
#include "replay/formats_row.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes a run of digits into digits[*n..most), counting those that do not fit. */
static size_t take_digits(struct slice *s, char *digits, size_t *n, size_t most)
{
    size_t taken = 0;
    for (; s->n > 0 && is_digit(*s->p); s->p++, s->n--, taken++) {
        if (*n < most)
            digits[(*n)++] = *s->p;
    }
    return taken;
}

static bool take_exponent(struct slice *s, int *out)
{
    *out = 0;
    if (s->n == 0 || (*s->p != 'e' && *s->p != 'E'))
        return true;
    s->p++;
    s->n--;
    bool minus = s->n > 0 && *s->p == '-';
    if (s->n > 0 && (*s->p == '-' || *s->p == '+')) {
        s->p++;
        s->n--;
    }
    size_t digits = 0;
    for (; s->n > 0 && is_digit(*s->p) && digits < 3; s->p++, s->n--, digits++)
        *out = *out * 10 + (*s->p - '0');
    *out = minus ? -*out : *out;
    return digits > 0;
}

/* digits, of which the first `point` (which may be below 0 or beyond n) stand before the point. */
static bool compose(const char *digits, size_t n, int64_t point, struct formats_number *out)
{
    *out = (struct formats_number){0};
    for (int64_t i = 0; i < point; i++) {
        if (out->whole > INT64_MAX / 10 - 1)
            return false;
        out->whole = out->whole * 10 + (i < (int64_t)n ? digits[i] - '0' : 0);
    }
    for (int64_t i = point; i < point + 9; i++)
        out->nano = out->nano * 10 + (i >= 0 && i < (int64_t)n ? digits[i] - '0' : 0);
    for (int64_t i = point > 0 ? point : 0; i < (int64_t)n; i++)
        out->fraction = out->fraction || digits[i] != '0';
    return true;
}

bool formats_number(struct slice text, struct formats_number *out)
{
    enum { DIGITS = 40 }; /* of significance; Python writes 17 */
    char digits[DIGITS];
    size_t n = 0;
    int exponent;
    while (text.n > 0 && *text.p == '0') {
        text.p++;
        text.n--;
        digits[0] = '0'; /* at least one: "0" */
        n = 1;
    }
    size_t whole = n, fraction = 0;
    whole += take_digits(&text, digits, &n, DIGITS);
    if (text.n > 0 && *text.p == '.') {
        text.p++;
        text.n--;
        fraction = take_digits(&text, digits, &n, DIGITS);
    }
    return whole + fraction > 0 && whole <= DIGITS && take_exponent(&text, &exponent) &&
           text.n == 0 && compose(digits, n, (int64_t)whole + exponent, out);
}

bool formats_tokens(struct slice text, int64_t *out)
{
    struct formats_number v;
    if (!formats_number(text, &v) || v.fraction)
        return false;
    *out = v.whole;
    return true;
}

/* --- stamps ----------------------------------------------------------------------------------- */

static bool take_number(struct slice *s, size_t digits, int64_t least, int64_t most, int64_t *out)
{
    if (s->n < digits)
        return false;
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        if (!is_digit(s->p[i]))
            return false;
        *out = *out * 10 + (s->p[i] - '0');
    }
    s->p += digits;
    s->n -= digits;
    return *out >= least && *out <= most;
}

static bool take_char(struct slice *s, const char *any)
{
    if (s->n == 0 || *s->p == '\0' || strchr(any, *s->p) == NULL)
        return false;
    s->p++;
    s->n--;
    return true;
}

/* Days since 1970-01-01 of the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date
 * algorithms"). */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* "+00:00", "Z" or nothing: UTC. */
static bool take_zone(struct slice *s, int64_t *offset_s)
{
    int64_t hours, minutes;
    *offset_s = 0;
    if (s->n == 0 || take_char(s, "Zz"))
        return true;
    bool minus = *s->p == '-';
    if (!take_char(s, "+-") || !take_number(s, 2, 0, 23, &hours))
        return false;
    take_char(s, ":");
    if (!take_number(s, 2, 0, 59, &minutes))
        return false;
    *offset_s = (hours * 60 + minutes) * 60 * (minus ? -1 : 1);
    return true;
}

bool formats_stamp(struct slice s, struct formats_number *out)
{
    int64_t year, month, day, hour, minute, second, offset_s;
    if (!take_number(&s, 4, 1970, 2261, &year) || !take_char(&s, "-") ||
        !take_number(&s, 2, 1, 12, &month) || !take_char(&s, "-") ||
        !take_number(&s, 2, 1, 31, &day) || !take_char(&s, " T") ||
        !take_number(&s, 2, 0, 23, &hour) || !take_char(&s, ":") ||
        !take_number(&s, 2, 0, 59, &minute) || !take_char(&s, ":") ||
        !take_number(&s, 2, 0, 60, &second))
        return false;
    *out = (struct formats_number){0};
    if (take_char(&s, ".")) {
        size_t digits = 0;
        for (; s.n > 0 && is_digit(*s.p); s.p++, s.n--, digits++) {
            if (digits < 9)
                out->nano = out->nano * 10 + (*s.p - '0');
        }
        if (digits == 0)
            return false;
        for (; digits < 9; digits++)
            out->nano *= 10;
    }
    if (!take_zone(&s, &offset_s) || s.n > 0)
        return false;
    out->whole =
        ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset_s;
    out->fraction = out->nano != 0;
    return out->whole >= 0;
}
