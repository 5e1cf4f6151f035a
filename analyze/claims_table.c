/* A tool's table applied to its file as it streams by: figures, units, rows. */
#include "analyze/claims_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "traces/base/buf.h"
#include "traces/base/jscan.h"
#include "traces/limits.h"
#include "traces/sha256.h"

static const struct file_row no_row = {
    .start = NAN, .ttft = NAN, .latency = NAN, .tpot = NAN, .output = -1, .input = -1};

/* --- statistics and patterns ------------------------------------------------------------------ */

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

static bool read_stat(struct slice s, struct file_figure *f)
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

/* --- figures ---------------------------------------------------------------------------------- */

static bool is_count(enum figure_id id)
{
    return id == F_COMPLETED || id == F_FAILED || id == F_REQUESTED || id == F_INPUT_SUM ||
           id == F_OUTPUT_SUM || id == F_CAP || id == F_GOOD;
}

static void add_figure(struct file_loader *l, const struct claims_json_value *v, struct slice path,
                       size_t row, struct file_figure f)
{
    double half;
    const struct tool_path *t = &l->tool->paths[row];
    if (l->now.figures.n >= LIMIT_CLAIM_FIGURES || !claim_number(v->text, &f.v, &half))
        return; /* NaN and the infinities say nothing */
    f.id = t->figure;
    f.row = row;
    f.i = is_count(f.id) && f.v == floor(f.v) ? interval_exact(f.v) : interval_around(f.v, half);
    f.path = arena_text(&l->a->texts, path);
    f.text = arena_text(&l->a->texts, v->text);
    VEC_PUSH(&l->now.figures, f);
}

/* "TAG.count", and the lists of which llama-benchy's figures are. */
static bool take_number_of_values(struct file_loader *l, const struct claims_json_value *v,
                                  enum figure_id id, struct slice star)
{
    double n, half;
    if (v->kind == CLAIMS_JSON_NUMBER && slice_is(star, "values[]"))
        l->now.values[id] = v->inner + 1;
    if (v->kind != CLAIMS_JSON_NUMBER || !slice_is(star, "count") ||
        !claim_number(v->text, &n, &half) || !(n >= 1 && n < 9e15))
        return false;
    l->now.values[id] = (uint64_t)n;
    return true;
}

static bool take_figure(struct file_loader *l, const struct claims_json_value *v, struct slice path)
{
    for (size_t i = 0; l->tool->paths[i].path != NULL; i++) {
        const struct tool_path *t = &l->tool->paths[i];
        struct file_figure f = {.q = NAN};
        struct slice star;
        if (!claims_table_matches(t->path, path, &star))
            continue;
        if (t->stat == NULL && take_number_of_values(l, v, t->figure, star))
            return true;
        if (!read_stat(t->stat != NULL ? slice_of(t->stat) : star, &f))
            continue;
        if (v->kind == CLAIMS_JSON_NUMBER)
            add_figure(l, v, path, i, f);
        return true;
    }
    return false;
}

/* "TAG.unit": for all of the table's paths "TAG.…". */
static bool take_unit(struct file_loader *l, const struct claims_json_value *v, struct slice path)
{
    static const struct {
        const char *name;
        double scale;
    } units[] = {{"ms", 1e-3}, {"us", 1e-6},         {"ns", 1e-9}, {"s", 1},
                 {"sec", 1},   {"seconds", 1},       {"min", 60},  {"milliseconds", 1e-3},
                 {"μs", 1e-6}, {"nanoseconds", 1e-9}};
    if (v->kind != CLAIMS_JSON_STRING || path.n < 6 || memcmp(path.p + path.n - 5, ".unit", 5) != 0)
        return false;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        if (!slice_is(v->text, units[u].name))
            continue;
        for (size_t i = 0; l->tool->paths[i].path != NULL && i < ROWS_OF_TABLE; i++) {
            if (strncmp(l->tool->paths[i].path, path.p, path.n - 4) == 0)
                l->scale[i] = units[u].scale;
        }
    }
    return true;
}

void claims_table_begin(struct file_loader *l)
{
    l->now = (struct file_summary){
        .tool = l->tool, .file = arena_text(&l->a->texts, slice_of(l->path)), .nth = ++l->objects};
    l->open = true;
    for (size_t i = 0; i < ROWS_OF_TABLE; i++)
        l->scale[i] = NAN;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void fault(struct row_fault *f, uint64_t row, double a, double b)
{
    if (f->n++ == 0)
        *f = (struct row_fault){1, row, a, b};
}

/* What a row says against itself. Some tools' rows leave out what they cannot tell as 0. */
static void check_row(struct file_summary *s, const struct file_row *r, double total)
{
    if (r->failed)
        return;
    double printed = (double)r->ttft_half + (double)r->latency_half;
    if (r->ttft > r->latency * (1 + 1e-6) + 1e-6 + printed)
        fault(&s->ttft_above, s->rows_seen, r->ttft, r->latency);
    if (total > 0 && r->input >= 0 && r->output >= 0 &&
        fabs(total - (double)(r->input + r->output)) >= 1)
        fault(&s->total_off, s->rows_seen, total, (double)(r->input + r->output));
    double implied = (r->latency - r->ttft) / (double)(r->output - 1);
    /* A file may hold three decimals of a millisecond; the first event may hold several tokens. */
    printed = printed / (double)(r->output - 1) + (double)r->tpot_half;
    if (r->output > 1 && r->tpot > 0 && r->tpot < implied * 0.99 - 1e-5 - printed)
        fault(&s->tpot_off, s->rows_seen, r->tpot, implied);
}

static void keep_row(struct file_loader *l, struct file_row r, double total)
{
    l->now.rows_seen++;
    l->now.rows_failed += r.failed;
    check_row(&l->now, &r, total);
    if (l->fs->rows >= LIMIT_CLAIM_ROWS) {
        l->now.rows_left++;
        return;
    }
    l->fs->rows++;
    VEC_PUSH(&l->now.rows, r);
}

static void start_row(struct file_loader *l)
{
    l->row = no_row;
    l->row_times[0] = l->row_times[1] = l->row_end = l->row_total = NAN;
    l->row_warmup = false;
    l->in_row = true;
}

static void end_row(struct file_loader *l)
{
    struct file_row *r = &l->row;
    l->in_row = false;
    if (isnan(r->ttft))
        r->ttft = l->row_times[0] - r->start;
    if (isnan(r->latency) && !isnan(l->row_end))
        r->latency = l->row_end - r->start;
    if (isnan(r->latency))
        r->latency = l->row_times[1] - r->start;
    if (!l->row_warmup)
        keep_row(l, *r, l->row_total);
}

static bool says_error(const struct claims_json_value *v)
{
    switch (v->kind) {
    case CLAIMS_JSON_STRING:
        return v->text.n > 0;
    case CLAIMS_JSON_NUMBER:
        return v->text.p[0] != '0' && v->text.p[0] != 'N';
    case CLAIMS_JSON_BEGIN:
        return v->object;
    default:
        return false;
    }
}

static int64_t as_count(double x)
{
    return x >= 0 && x < 9e15 ? (int64_t)llround(x) : -1;
}

/* As the loader of traces has it: of a body that is not too long to have been kept. */
static uint64_t hash_of_body(const struct claims_json_value *v)
{
    struct buf quoted, body;
    char hex[SHA256_TEXT];
    if (v->cut || v->text.n == 0)
        return 0;
    buf_init(&quoted, CLAIMS_JSON_TEXT_BYTES + 2);
    buf_init(&body, CLAIMS_JSON_TEXT_BYTES);
    buf_printf(&quoted, "\"%s\"", v->text.p);
    struct jscan s = jscan_over((struct slice){(const char *)quoted.p, quoted.n});
    bool whole = jscan_next(&s) == JT_STRING && jscan_unescape(&s, &body) == TA_OK && body.n > 0;
    if (whole) {
        struct sha256 *sha = sha256_new();
        sha256_add(sha, body.p, body.n);
        sha256_text(sha, hex);
        sha256_free(sha);
    }
    buf_done(&quoted);
    buf_done(&body);
    return whole ? model_hash(slice_of(hex)) : 0;
}

static void set_field(struct file_loader *l, struct file_row *r, const struct tool_row *t,
                      const struct claims_json_value *v)
{
    double x, half;
    if (t->field == ROW_ERROR) {
        r->failed |= says_error(v);
        return;
    }
    if (v->kind == CLAIMS_JSON_STRING) {
        if (t->field == ROW_BODY)
            r->id = hash_of_body(v);
        if (t->field == ROW_ID && v->text.n > 0)
            r->id = model_hash(v->text);
        l->row_warmup |= t->field == ROW_PHASE && slice_is(v->text, "warmup");
        return;
    }
    if (v->kind != CLAIMS_JSON_NUMBER || !claim_number(v->text, &x, &half))
        return;
    x *= t->scale;
    half *= t->scale;
    switch (t->field) {
    case ROW_START:
        r->start = x;
        break;
    case ROW_END:
        l->row_end = x;
        break;
    case ROW_TTFT:
        r->ttft = x;
        r->ttft_half = (float)half;
        break;
    case ROW_LATENCY:
        r->latency = x;
        r->latency_half = (float)half;
        break;
    case ROW_TPOT:
        r->tpot = x;
        r->tpot_half = (float)half;
        break;
    case ROW_OUTPUT:
        r->output = as_count(x);
        break;
    case ROW_INPUT:
        r->input = as_count(x);
        break;
    case ROW_TOTAL:
        l->row_total = x;
        break;
    case ROW_GAP: /* latency holds their sum until all arrays are there */
        r->latency = isnan(r->latency) ? x : r->latency + x;
        r->latency_half += (float)half;
        break;
    case ROW_TIMES:
        if (isnan(l->row_times[0]))
            l->row_times[0] = x;
        l->row_times[1] = x;
        break;
    default:
        break;
    }
}

static const struct tool_row *row_named(const struct tool *tool, struct slice path)
{
    for (const struct tool_row *t = tool->rows; t != NULL && t->path != NULL; t++) {
        if (slice_is(path, t->path))
            return t;
    }
    return NULL;
}

/* Of parallel arrays: the row's number is the place in the outer one. */
static bool take_parallel(struct file_loader *l, const struct claims_json_value *v,
                          struct slice path)
{
    const struct tool_row *t = l->tool->row_object == NULL ? row_named(l->tool, path) : NULL;
    if (t == NULL)
        return false;
    uint64_t i = t->field == ROW_GAP ? v->outer : v->inner;
    while (l->now.rows.n <= i && l->fs->rows < LIMIT_CLAIM_ROWS) {
        VEC_PUSH(&l->now.rows, no_row);
        l->fs->rows++;
    }
    if (i < l->now.rows.n)
        set_field(l, &l->now.rows.v[i], t, v);
    else if (i >= l->now.rows.n + l->now.rows_left)
        l->now.rows_left = i + 1 - l->now.rows.n;
    return true;
}

/* Arrays are done: the sum of the gaps becomes the latency; of one event there are none. */
static void end_parallel(struct file_loader *l)
{
    bool gaps = false;
    for (size_t i = 0; i < l->now.rows.n; i++)
        gaps |= !isnan(l->now.rows.v[i].latency);
    for (size_t i = 0; i < l->now.rows.n && gaps; i++) {
        struct file_row *r = &l->now.rows.v[i];
        r->latency = isnan(r->latency) ? r->ttft : r->latency + r->ttft;
        r->latency_half += r->ttft_half;
    }
    for (size_t i = 0; i < l->now.rows.n; i++) {
        const struct file_row *r = &l->now.rows.v[i];
        l->now.rows_seen++;
        l->now.rows_failed += r->failed;
    }
}

int claims_table_end(struct file_loader *l, struct err *e)
{
    struct file_summary *s = &l->now;
    l->open = false;
    if (l->tool->row_object == NULL)
        end_parallel(l);
    for (size_t i = 0; i < s->figures.n; i++) {
        struct file_figure *f = &s->figures.v[i];
        double scale = f->row < ROWS_OF_TABLE && !isnan(l->scale[f->row])
                           ? l->scale[f->row]
                           : l->tool->paths[f->row].scale;
        f->v *= scale;
        f->i = interval_scale(f->i, scale);
    }
    if (s->figures.n == 0 && s->rows_seen == 0) {
        VEC_FREE(&s->figures);
        VEC_FREE(&s->rows);
        return TA_OK;
    }
    if (l->fs->summaries.n >= LIMIT_CLAIM_OBJECTS) {
        VEC_FREE(&s->figures);
        VEC_FREE(&s->rows);
        return err_set(e, TA_ELIMIT, "%s: more than %u result objects in all files; split them",
                       l->path, LIMIT_CLAIM_OBJECTS);
    }
    VEC_PUSH(&l->fs->summaries, *s);
    return TA_OK;
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool is_object(const struct claims_json_value *v, const char *path)
{
    return v->object &&
           (strcmp(v->path, path) == 0 || (*path == '\0' && strcmp(v->path, "[]") == 0));
}

/* The path from a container, or false if it is not in there. */
static bool relative(const char *path, const char *base, struct slice *out)
{
    size_t n = strlen(base);
    if (strncmp(path, base, n) != 0 || path[n] == '\0' || (n > 0 && path[n] != '.'))
        return false;
    *out = slice_of(path + n + (n > 0));
    return true;
}

bool claims_table_rows_only(const struct tool *t)
{
    return t->paths[0].path == NULL;
}

static bool is_row(const struct file_loader *l, const struct claims_json_value *v)
{
    struct slice path;
    const char *want = l->tool->row_object;
    if (want == NULL || !v->object)
        return false;
    if (claims_table_rows_only(l->tool))
        return is_object(v, want);
    return relative(v->path, l->object, &path) && slice_is(path, want);
}

static int take_value(struct file_loader *l, const struct claims_json_value *v, struct err *e)
{
    struct slice path;
    if (l->tool == &tool_guidellm && strcmp(v->path, "metadata.version") == 0 &&
        v->kind == CLAIMS_JSON_NUMBER && !slice_is(v->text, "2"))
        return err_set(e, TA_EFORMAT,
                       "%s: a GuideLLM report of version %.*s; version 2 is read, which GuideLLM "
                       "0.4 and later write",
                       l->path, (int)v->text.n, v->text.p);
    bool known = false;
    if (l->in_row && relative(v->path, l->row_object, &path)) {
        const struct tool_row *t = row_named(l->tool, path);
        known = t != NULL;
        if (known)
            set_field(l, &l->row, t, v);
    } else if (l->open && relative(v->path, l->object, &path)) {
        known = take_figure(l, v, path) || take_unit(l, v, path) || take_parallel(l, v, path);
    }
    l->now.unknown += !known && v->kind != CLAIMS_JSON_BEGIN;
    return TA_OK;
}

int claims_table_value(struct file_loader *l, const struct claims_json_value *v, struct err *e)
{
    if (v->kind == CLAIMS_JSON_BEGIN && !claims_table_rows_only(l->tool) &&
        is_object(v, l->tool->object)) {
        snprintf(l->object, sizeof l->object, "%s", v->path);
        claims_table_begin(l);
        return TA_OK;
    }
    if (v->kind == CLAIMS_JSON_BEGIN && l->open && is_row(l, v)) {
        snprintf(l->row_object, sizeof l->row_object, "%s", v->path);
        start_row(l);
        return TA_OK;
    }
    if (v->kind != CLAIMS_JSON_END)
        return take_value(l, v, e);
    if (l->in_row && v->object && strcmp(v->path, l->row_object) == 0)
        end_row(l);
    else if (l->open && !claims_table_rows_only(l->tool) && v->object &&
             strcmp(v->path, l->object) == 0)
        return claims_table_end(l, e);
    return TA_OK;
}
