/* The grammar of --claim: NAME[.STAT][@REQUEST]=VALUE[UNIT]. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "traces/base/buf.h"
#include "traces/base/units.h"

#define NONE NO_DEFINITION
#define ONE(d)                                                                                     \
    {                                                                                              \
        d, NONE, NONE, NONE                                                                        \
    }
#define THREE(d, e, f)                                                                             \
    {                                                                                              \
        d, e, f, NONE                                                                              \
    }
#define FOUR(d, e, f, g)                                                                           \
    {                                                                                              \
        d, e, f, g                                                                                 \
    }
#define TWO(d, e)                                                                                  \
    {                                                                                              \
        d, e, NONE, NONE                                                                           \
    }

static const struct claim_name names[] = {
    /* Published without a definition: each is tried. */
    {"rate", DIM_TOKEN_RATE, SUBJECT_DECODE, false, false, TWO(D_OUTPUT_TPS_USER, D_E2E_OUTPUT_TPS),
     D_E2E_OUTPUT_TPS, SUBJECT_WHOLE},
    {"gen_tps", DIM_TOKEN_RATE, SUBJECT_DECODE, false, false,
     TWO(D_OUTPUT_TPS_USER, D_E2E_OUTPUT_TPS), D_E2E_OUTPUT_TPS, SUBJECT_WHOLE},
    {"throughput", DIM_TOKEN_RATE, SUBJECT_THROUGHPUT, false, true,
     TWO(D_OUTPUT_TPS, D_OUTPUT_TPS_ARRIVED), NONE, 0},
    {"peak_throughput", DIM_TOKEN_RATE, SUBJECT_PEAK, false, true, ONE(D_PEAK_THROUGHPUT), NONE, 0},
    {"prompt_rate", DIM_TOKEN_RATE, SUBJECT_PROMPT_RATE, false, false,
     TWO(D_PROMPT_TPS, D_PROMPT_TPS_ALL), NONE, 0},
    {"ttft", DIM_TIME, SUBJECT_TTFT, false, false, THREE(D_TTFT, D_TTFT_STREAMS, D_EFFECTIVE_TTFT),
     NONE, 0},
    {"latency", DIM_TIME, SUBJECT_LATENCY, false, false,
     THREE(D_E2EL, D_STREAM_END, D_EFFECTIVE_LATENCY), NONE, 0},
    {"tpot", DIM_TIME, SUBJECT_PER_TOKEN, true, false, ONE(D_TPOT), D_NTPOT, 0},
    {"itl", DIM_TIME, SUBJECT_PER_TOKEN, true, false, TWO(D_TPOT, D_ICL), D_NTPOT, 0},
    {"input_tokens", DIM_TOKENS, SUBJECT_INPUT_TOKENS, false, false, ONE(D_INPUT_TOKENS), NONE, 0},
    {"output_tokens", DIM_TOKENS, SUBJECT_OUTPUT_TOKENS, false, false,
     TWO(D_OUTPUT_TOKENS, D_OUTPUT_TOKENS_ALL), NONE, 0},
    {"requests", DIM_COUNT, SUBJECT_REQUESTS, false, true,
     FOUR(D_REQUESTS, D_ATTEMPTS, D_SUCCESSES, D_REQUESTS_MEANT), NONE, 0},
    {"completed", DIM_COUNT, SUBJECT_COMPLETED, false, true,
     TWO(D_SUCCESSES, D_SUCCESSES_WITH_TEXT), NONE, 0},
    {"failed", DIM_COUNT, SUBJECT_FAILED, false, true,
     FOUR(D_FAILED, D_FAILED_ATTEMPTS, D_FAILED_MEANT, D_FAILED_OR_EMPTY), NONE, 0},
    {"concurrency", DIM_COUNT, SUBJECT_CONCURRENCY, false, true,
     TWO(D_CONCURRENCY_AVG, D_CONCURRENCY_PEAK), NONE, 0},
    {"speedup", DIM_RATIO, SUBJECT_SPEEDUP, false, true, ONE(D_SPEEDUP), NONE, 0},
    {"memory", DIM_BYTES, SUBJECT_OTHER, false, true, ONE(D_MEMORY), NONE, 0},
    /* Metrics. */
    {"output_tps_user", DIM_TOKEN_RATE, SUBJECT_DECODE, false, false, ONE(D_OUTPUT_TPS_USER),
     D_E2E_OUTPUT_TPS, 0},
    {"e2e_output_tps", DIM_TOKEN_RATE, SUBJECT_WHOLE, false, false, ONE(D_E2E_OUTPUT_TPS), NONE, 0},
    {"wall_tps", DIM_TOKEN_RATE, SUBJECT_WHOLE, false, false, ONE(D_E2E_OUTPUT_TPS), NONE, 0},
    {"output_tps", DIM_TOKEN_RATE, SUBJECT_THROUGHPUT, false, true,
     TWO(D_OUTPUT_TPS, D_OUTPUT_TPS_ARRIVED), NONE, 0},
    {"output_tps_steady", DIM_TOKEN_RATE, SUBJECT_OTHER, false, true, ONE(D_OUTPUT_TPS_STEADY),
     NONE, 0},
    {"input_tps", DIM_TOKEN_RATE, SUBJECT_OTHER, false, true, ONE(D_INPUT_TPS), NONE, 0},
    {"total_tps", DIM_TOKEN_RATE, SUBJECT_OTHER, false, true, ONE(D_TOTAL_TPS), NONE, 0},
    {"duration", DIM_TIME, SUBJECT_DURATION, false, true, ONE(D_DURATION), NONE, 0},
    {"request_tps", DIM_REQUEST_RATE, SUBJECT_REQUEST_RATE, false, true,
     TWO(D_REQUEST_TPS, D_REQUEST_TPS_WITH_TEXT), NONE, 0},
    {"goodput", DIM_REQUEST_RATE, SUBJECT_OTHER, false, true, ONE(D_GOODPUT), NONE, 0},
    {"good_fraction", DIM_SHARE, SUBJECT_OTHER, false, true, ONE(D_GOOD_FRACTION), NONE, 0},
    {"ttfb", DIM_TIME, SUBJECT_OTHER, false, false, ONE(D_TTFB), NONE, 0},
    {"ttfr", DIM_TIME, SUBJECT_OTHER, false, false, ONE(D_TTFR), NONE, 0},
    {"ttfo", DIM_TIME, SUBJECT_OTHER, false, false, ONE(D_TTFO), NONE, 0},
    {"ttst", DIM_TIME, SUBJECT_OTHER, false, false, ONE(D_TTST), NONE, 0},
    {"e2el", DIM_TIME, SUBJECT_LATENCY, false, false, ONE(D_E2EL), NONE, 0},
    {"effective_latency", DIM_TIME, SUBJECT_OTHER, false, false, ONE(D_EFFECTIVE_LATENCY), NONE, 0},
    {"stream_end", DIM_TIME, SUBJECT_OTHER, false, false, ONE(D_STREAM_END), NONE, 0},
    {"decode_window", DIM_TIME, SUBJECT_OTHER, false, false, ONE(D_DECODE_WINDOW), NONE, 0},
    {"ntpot", DIM_TIME, SUBJECT_WHOLE, true, false, ONE(D_NTPOT), NONE, 0},
    {"icl", DIM_TIME, SUBJECT_GAP, false, false, TWO(D_ICL, D_ICL_ALL), NONE, 0},
    {"concurrency_avg", DIM_COUNT, SUBJECT_CONCURRENCY, false, true, ONE(D_CONCURRENCY_AVG), NONE,
     0},
    {"concurrency_peak", DIM_COUNT, SUBJECT_CONCURRENCY, false, true, ONE(D_CONCURRENCY_PEAK), NONE,
     0},
    {"release_skew", DIM_TIME, SUBJECT_OTHER, false, true, ONE(D_RELEASE_SKEW), NONE, 0},
};

struct unit {
    const char *text;
    enum dimension dimension;
    double scale; /* to the base unit, which comes first */
};

static const struct unit units[] = {
    {"tok/s", DIM_TOKEN_RATE, 1},
    {"tokens/s", DIM_TOKEN_RATE, 1},
    {"t/s", DIM_TOKEN_RATE, 1},
    {"tps", DIM_TOKEN_RATE, 1},
    {"req/s", DIM_REQUEST_RATE, 1},
    {"s", DIM_TIME, 1},
    {"ms", DIM_TIME, 1e-3},
    {"us", DIM_TIME, 1e-6},
    {"\xc2\xb5s", DIM_TIME, 1e-6},
    {"ns", DIM_TIME, 1e-9},
    {"min", DIM_TIME, 60},
    {"tokens", DIM_TOKENS, 1},
    {"tok", DIM_TOKENS, 1},
    {"1", DIM_COUNT, 1},
    {"req", DIM_COUNT, 1},
    {"requests", DIM_COUNT, 1},
    {"1", DIM_RATIO, 1},
    {"x", DIM_RATIO, 1},
    {"%", DIM_RATIO, 0.01},
    {"1", DIM_SHARE, 1},
    {"%", DIM_SHARE, 0.01},
    {"bytes", DIM_BYTES, 1},
    {"B", DIM_BYTES, 1},
    {"kB", DIM_BYTES, 1e3},
    {"MB", DIM_BYTES, 1e6},
    {"GB", DIM_BYTES, 1e9},
    {"KiB", DIM_BYTES, 1024},
    {"MiB", DIM_BYTES, 1048576},
    {"GiB", DIM_BYTES, 1073741824},
};

static const struct {
    char letter;
    double scale;
} multipliers[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}};

static const char *const stat_aliases[][2] = {
    {"median", "p50"}, {"avg", "mean"}, {"average", "mean"}};

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))
#define SIGNIFICANT 6      /* digits of a claim; more are noise of its printing */
#define MOST_CLAIMED 1e100 /* far beyond any figure, and its square is still finite */

const struct claim_name *claim_name_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i].name, name) == 0)
            return &names[i];
    }
    return NULL;
}

const char *claim_unit(enum dimension dim)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].dimension == dim)
            return units[i].text;
    }
    return "1";
}

const char *claim_value_text(enum dimension dim, double v, char out[64])
{
    char number[32];
    const char *unit = dim == DIM_COUNT ? "" : dim == DIM_RATIO ? "x" : claim_unit(dim);
    if (isnan(v))
        snprintf(out, 64, "unknown");
    else if (isinf(v))
        snprintf(out, 64, "without limit");
    else if (dim == DIM_SHARE)
        snprintf(out, 64, "%.3g %%", 100 * v);
    else if (dim == DIM_TIME && fabs(v) < 9e9)
        snprintf(out, 64, "%s", units_duration(llround(v * 1e9), number));
    else if (dim == DIM_BYTES && v >= 0 && v < 1e18)
        snprintf(out, 64, "%s", units_bytes((uint64_t)llround(v), number));
    else if (v >= 1000 && v < 1e15)
        snprintf(out, 64, "%s%s%s", units_count((uint64_t)llround(v), number),
                 *unit != '\0' ? " " : "", unit);
    else
        snprintf(out, 64, "%.*g%s%s", dim == DIM_TOKENS || dim == DIM_COUNT ? 6 : 3, v,
                 *unit == '\0' || dim == DIM_RATIO ? "" : " ", unit);
    return out;
}

/* The parts of a claim's text, blanks trimmed. */
struct parts {
    struct slice name, stat, request, value; /* p NULL: absent */
};

static struct slice trim(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    return (struct slice){p, (size_t)(end - p)};
}

static int split(const char *text, struct parts *out, struct err *e)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        return err_set(
            e, TA_EUSAGE,
            "claim \"%.80s\": there is no \"=\"; a claim is NAME[.STAT][@REQUEST]=VALUE[UNIT], for "
            "example ttft.p50=90ms or rate@3=14000tok/s",
            text);
    size_t left = (size_t)(equals - text);
    const char *at = memchr(text, '@', left);
    const char *stop = at != NULL ? at : equals;
    const char *dot = memchr(text, '.', (size_t)(stop - text));
    *out = (struct parts){.name = trim(text, dot != NULL ? dot : stop),
                          .value = trim(equals + 1, equals + 1 + strlen(equals + 1))};
    if (dot != NULL)
        out->stat = trim(dot + 1, stop);
    if (at != NULL)
        out->request = trim(at + 1, equals);
    return TA_OK;
}

static const struct claim_name *name_of(struct slice s)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (slice_is(s, names[i].name))
            return &names[i];
    }
    return NULL;
}

static const char *stat_of(struct slice s)
{
    for (size_t i = 0; i < COUNT_OF(stat_aliases); i++) {
        if (slice_is(s, stat_aliases[i][0]))
            return stat_aliases[i][1];
    }
    for (size_t i = 0; i < STATS; i++) {
        if (slice_is(s, stat_names[i]))
            return stat_names[i];
    }
    return NULL;
}

/* Some publish "wall_tps_p50": a known name and a known statistic. */
static const struct claim_name *name_with_stat(struct slice s, const char **stat)
{
    for (size_t i = s.n; i-- > 1;) {
        if (s.p[i] != '_')
            continue;
        const struct claim_name *name = name_of((struct slice){s.p, i});
        *stat = stat_of((struct slice){s.p + i + 1, s.n - i - 1});
        return name != NULL && *stat != NULL ? name : NULL;
    }
    return NULL;
}

bool claim_key(struct slice *key, struct slice *unit)
{
    static const char *const suffixes[] = {"_ms", "_us", "_ns", "_s"};
    const char *stat;
    *unit = (struct slice){key->p + key->n, 0};
    for (size_t i = 0; i < COUNT_OF(suffixes) && unit->n == 0; i++) {
        size_t n = strlen(suffixes[i]);
        if (key->n > n && memcmp(key->p + key->n - n, suffixes[i], n) == 0) {
            *unit = (struct slice){key->p + key->n - n + 1, n - 1};
            key->n -= n;
        }
    }
    return name_with_stat(*key, &stat) != NULL;
}

static int parse_name(const char *text, struct parts p, const struct claim_name **name,
                      const char **stat, struct err *e)
{
    *stat = "value";
    *name = name_of(p.name);
    if (*name == NULL)
        *name = name_with_stat(p.name, stat);
    if (*name == NULL) {
        struct buf list;
        buf_init(&list, 2048);
        for (size_t i = 0; i < COUNT_OF(names); i++)
            buf_printf(&list, " %s", names[i].name);
        int rc = err_set(e, TA_EUSAGE, "claim \"%.40s\": no figure is called \"%.*s\"; known:%s",
                         text, (int)(p.name.n < 40 ? p.name.n : 40), p.name.p, buf_text(&list));
        buf_done(&list);
        return rc;
    }
    if (p.stat.p == NULL)
        return TA_OK;
    *stat = stat_of(p.stat);
    if (*stat == NULL)
        return err_set(e, TA_EUSAGE,
                       "claim \"%.80s\": \"%.*s\" is no statistic; known: value mean p50 p90 p95 "
                       "p99 min max sum",
                       text, (int)(p.stat.n < 40 ? p.stat.n : 40), p.stat.p);
    return TA_OK;
}

static int parse_request(const char *text, struct parts p, const struct claim_name *name,
                         const char *stat, size_t *request, struct err *e)
{
    *request = 0;
    if (p.request.p == NULL)
        return TA_OK;
    for (size_t i = 0; i < p.request.n && *request < 1000000000; i++) {
        if (!isdigit((unsigned char)p.request.p[i])) {
            *request = 0;
            break;
        }
        *request = *request * 10 + (size_t)(p.request.p[i] - '0');
    }
    if (*request == 0)
        return err_set(e, TA_EUSAGE,
                       "claim \"%.80s\": \"@%.*s\" names no request; expected its number in the "
                       "report, from 1 "
                       "in order of sending, as in %s@3",
                       text, (int)(p.request.n < 40 ? p.request.n : 40), p.request.p, name->name);
    if (name->of_run)
        return err_set(e, TA_EUSAGE,
                       "claim \"%.80s\": %s is a figure of a run, not of a request; leave out @%zu",
                       text, name->name, *request);
    if (strcmp(stat, "value") != 0 && name->definitions[0] != D_ICL &&
        name->definitions[1] != D_ICL)
        return err_set(e, TA_EUSAGE,
                       "claim \"%.80s\": one request has one %s; leave out .%s or @%zu", text,
                       name->name, stat, *request);
    return TA_OK;
}

/* A number as printed. */
struct number {
    double v;
    int last;    /* the power of ten of its last digit */
    size_t used; /* bytes of the text */
};

/* Digits from s.p[i] into clean, commas between groups of three left out; false for misplaced ones.
 */
static bool scan_digits(struct slice s, size_t *i, char clean[64], size_t *n, bool commas)
{
    size_t group = 0;
    bool grouped = false;
    for (; *i < s.n; (*i)++) {
        char c = s.p[*i];
        if (isdigit((unsigned char)c)) {
            if (*n >= 60)
                return false;
            clean[(*n)++] = c;
            group++;
        } else if (commas && c == ',') {
            if (group == 0 || group > 3 || (grouped && group != 3))
                return false;
            grouped = true;
            group = 0;
        } else {
            break;
        }
    }
    return !grouped || group == 3;
}

static int scan_exponent(struct slice s, size_t *i)
{
    size_t at = *i + 1;
    bool minus = at < s.n && s.p[at] == '-';
    if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
        at++;
    if (*i >= s.n || (s.p[*i] != 'e' && s.p[*i] != 'E') || at >= s.n ||
        !isdigit((unsigned char)s.p[at]))
        return 0;
    int power = 0;
    for (; at < s.n && isdigit((unsigned char)s.p[at]) && power < 1000; at++)
        power = power * 10 + (s.p[at] - '0');
    *i = at;
    return minus ? -power : power;
}

static bool scan_number(struct slice s, struct number *out)
{
    char clean[80];
    size_t i = 0, n = 0, digits;
    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+')) {
        if (s.p[i] == '-')
            clean[n++] = '-';
        i++;
    }
    digits = n;
    if (!scan_digits(s, &i, clean, &n, true))
        return false;
    out->last = 0;
    if (i < s.n && s.p[i] == '.') {
        clean[n++] = s.p[i++];
        size_t before = n;
        if (!scan_digits(s, &i, clean, &n, false))
            return false;
        out->last = -(int)(n - before);
        digits++;
    }
    if (n <= digits)
        return false;
    int power = scan_exponent(s, &i);
    out->last += power;
    snprintf(clean + n, sizeof clean - n, "e%d", power);
    out->v = strtod(clean, NULL);
    out->used = i;
    return isfinite(out->v);
}

/* Half a unit of the last printed digit, digits beyond the sixth ignored. */
static double half_unit(struct number n)
{
    int last = n.last;
    if (n.v != 0) {
        int sixth = (int)floor(log10(fabs(n.v))) - (SIGNIFICANT - 1);
        last = sixth > last ? sixth : last;
    }
    return 0.5 * pow(10, last);
}

bool claim_number(struct slice text, double *v, double *half)
{
    struct number n;
    if (!scan_number(text, &n) || n.used != text.n || !(fabs(n.v) <= MOST_CLAIMED))
        return false;
    *v = n.v;
    *half = half_unit(n);
    return true;
}

struct claim *claims_add_figure(struct audit *a, const struct claim_figure *f)
{
    const struct claim_name *name = claim_name_find(f->metric);
    struct claim c = {.text = f->text,
                      .tool = f->tool,
                      .file = f->file,
                      .basis = f->basis,
                      .metric = name->name,
                      .stat = f->stat,
                      .request = f->request,
                      .claimed = f->claimed,
                      .claimed_text = f->claimed_text,
                      .claimed_interval = f->interval,
                      .printed = fmax(f->claimed - f->interval.lo, 0),
                      .unit = claim_unit(name->dimension),
                      .recomputed = NAN,
                      .interval = {NAN, NAN},
                      .verdict = VERDICT_NOT_MEASURABLE};
    VEC_PUSH(&a->claims, c);
    return &a->claims.v[a->claims.n - 1];
}

static bool unit_scale(struct slice s, enum dimension dim, double *scale)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].dimension == dim && slice_is(s, units[i].text)) {
            *scale = units[i].scale;
            return true;
        }
    }
    /* A bare number has the base unit; of a time it would be a guess. */
    *scale = 1;
    return s.n == 0 && dim != DIM_TIME;
}

/* "ms", "tok/s", "k", "ktok/s": a unit, or one behind a multiplier. */
static bool parse_unit(struct slice s, enum dimension dim, double *scale)
{
    if (unit_scale(s, dim, scale))
        return true;
    for (size_t i = 0; i < COUNT_OF(multipliers) && s.n > 0; i++) {
        if (s.p[0] == multipliers[i].letter && unit_scale(trim(s.p + 1, s.p + s.n), dim, scale)) {
            *scale *= multipliers[i].scale;
            return true;
        }
    }
    return false;
}

static int bad_unit(const char *text, struct slice unit, const struct claim_name *name,
                    struct err *e)
{
    struct buf list;
    buf_init(&list, 512);
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].dimension == name->dimension)
            buf_printf(&list, " %s", units[i].text);
    }
    int rc;
    if (unit.n == 0)
        rc = err_set(e, TA_EUSAGE, "claim \"%.80s\": a time needs its unit, one of:%s", text,
                     buf_text(&list));
    else
        rc = err_set(e, TA_EUSAGE, "claim \"%.80s\": \"%.*s\" is no unit of %s; known:%s", text,
                     (int)(unit.n < 40 ? unit.n : 40), unit.p, name->name, buf_text(&list));
    buf_done(&list);
    return rc;
}

int claims_add(struct audit *a, const char *text, struct err *e)
{
    struct parts p;
    struct claim c = {.recomputed = NAN, .interval = {NAN, NAN}, .verdict = VERDICT_NOT_MEASURABLE};
    const struct claim_name *name;
    struct number number;
    double scale;
    int rc = split(text, &p, e);
    if (rc == TA_OK)
        rc = parse_name(text, p, &name, &c.stat, e);
    if (rc == TA_OK)
        rc = parse_request(text, p, name, c.stat, &c.request, e);
    if (rc != TA_OK)
        return rc;
    if (!scan_number(p.value, &number))
        return err_set(e, TA_EUSAGE,
                       "claim \"%.80s\": no number after the \"=\"; expected one as in 90, 1.5, "
                       "14,000, 14k or 1e4 "
                       "(a comma only before groups of three digits)",
                       text);
    struct slice unit = trim(p.value.p + number.used, p.value.p + p.value.n);
    if (!parse_unit(unit, name->dimension, &scale))
        return bad_unit(text, unit, name, e);
    c.metric = name->name;
    c.unit = claim_unit(name->dimension);
    c.claimed = number.v * scale;
    if (!(fabs(c.claimed) <= MOST_CLAIMED))
        return err_set(e, TA_EUSAGE,
                       "claim \"%.80s\": no figure is that large; expected at most %g %s", text,
                       MOST_CLAIMED, claim_unit(name->dimension));
    c.printed = half_unit(number) * scale;
    c.claimed_interval = interval_around(c.claimed, c.printed);
    c.text = arena_text(&a->texts, slice_of(text));
    c.claimed_text = arena_text(&a->texts, p.value);
    VEC_PUSH(&a->claims, c);
    return TA_OK;
}
