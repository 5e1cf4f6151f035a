/* A tool's table applied to its file as it streams by: figures, units, rows. */
#include "analyze/claims_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/claims_units.h"
#include "traces/limits.h"
#include "traces/sha256.h"

enum { ODD_TEXT_MOST = 40 };

static const struct file_row no_row = {
    .start = NAN, .ttft = NAN, .latency = NAN, .tpot = NAN, .output = -1, .input = -1};

/* --- figures ---------------------------------------------------------------------------------- */

static bool is_count(enum figure_id id)
{
    return id == F_COMPLETED || id == F_FAILED || id == F_CANCELLED || id == F_REQUESTED ||
           id == F_INPUT_SUM || id == F_OUTPUT_SUM || id == F_CAP || id == F_GOOD;
}

static void note_odd(struct file_loader *l, const char *path, const char *text, uint64_t row)
{
    if (l->now.odd.n++ == 0)
        l->now.odd = (struct file_odd){1, row, path, text};
}

static void note_odd_value(struct file_loader *l, struct slice path,
                           const struct claims_json_value *v, uint64_t row)
{
    struct slice text = {v->text.p, v->text.n < ODD_TEXT_MOST ? v->text.n : ODD_TEXT_MOST};
    note_odd(l, arena_text(&l->a->texts, path), arena_text(&l->a->texts, text), row);
}

static void add_figure(struct file_loader *l, const struct claims_json_value *v, struct slice path,
                       size_t row, struct file_figure f)
{
    double half;
    const struct tool_path *t = &l->tool->paths[row];
    if (l->now.figures.n >= LIMIT_CLAIM_FIGURES)
        return;
    if (!claim_number(v->text, &f.v, &half)) { /* NaN says nothing */
        if (claims_number_beyond(v->text))
            note_odd_value(l, path, v, 0);
        return;
    }
    f.id = t->figure;
    f.row = row;
    f.i = is_count(f.id) && f.v == floor(f.v) ? interval_exact(f.v) : interval_around(f.v, half);
    f.path = arena_text(&l->a->texts, path);
    f.text = arena_text(&l->a->texts, v->text);
    VEC_PUSH(&l->now.figures, f);
}

/* One more of the values that a figure is the mean of. */
static void take_listed(struct file_loader *l, const struct claims_json_value *v,
                        const struct tool_path *t)
{
    struct file_list *list = &l->now.lists[t->figure];
    double x, half;
    if (v->kind != CLAIMS_JSON_NUMBER || !claim_number(v->text, &x, &half))
        return;
    list->sum += x * t->scale;
    list->half += half * t->scale;
    list->n++;
}

/* "TAG.count", and the lists of which llama-benchy's figures are. */
static bool take_number_of_values(struct file_loader *l, const struct claims_json_value *v,
                                  const struct tool_path *t, struct slice star)
{
    enum figure_id id = t->figure;
    double n, half;
    if (v->kind == CLAIMS_JSON_NUMBER && slice_is(star, "values[]")) {
        l->now.values[id] = v->inner + 1;
        take_listed(l, v, t);
    }
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
        if (t->stat == NULL && take_number_of_values(l, v, t, star))
            return true;
        if (t->stat != NULL && strcmp(t->stat, "values") == 0) {
            take_listed(l, v, t);
            return true;
        }
        if (!claims_table_stat(t->stat != NULL ? slice_of(t->stat) : star, &f))
            continue;
        if (v->kind == CLAIMS_JSON_NUMBER)
            add_figure(l, v, path, i, f);
        return true;
    }
    return false;
}

/* Is path the unit of the figure whose place the pattern is: "TAG.…", or "TAG_*.…"? */
static bool is_unit_of(const char *pattern, struct slice path)
{
    char unit[CLAIMS_JSON_PATH_BYTES];
    struct slice star;
    const char *dot = strrchr(pattern, '.');
    if (dot == NULL)
        return false;
    snprintf(unit, sizeof unit, "%.*s.unit", (int)(dot - pattern), pattern);
    return claims_table_matches(unit, path, &star);
}

static bool is_unit(const struct claims_json_value *v, struct slice path)
{
    return v->kind == CLAIMS_JSON_STRING && path.n >= 6 &&
           memcmp(path.p + path.n - 5, ".unit", 5) == 0;
}

static bool take_unit(struct file_loader *l, const struct claims_json_value *v, struct slice path)
{
    double scale;
    if (!is_unit(v, path))
        return false;
    for (size_t i = 0; l->tool->paths[i].path != NULL && i < ROWS_OF_TABLE; i++) {
        const char *pattern = l->tool->paths[i].path;
        if (strncmp(pattern, path.p, path.n - 4) != 0 && !is_unit_of(pattern, path))
            continue;
        if (claims_unit_seconds(v->text, &scale))
            l->scale[i] = scale;
        if (!claims_unit_known(l->tool->paths[i].figure, v->text))
            l->unit[i] = arena_text(&l->a->texts, v->text);
    }
    return true;
}

static bool take_model(struct file_loader *l, const struct claims_json_value *v, struct slice path)
{
    struct file_summary *s = &l->now;
    for (const char *const *p = l->tool->models; p != NULL && *p != NULL; p++) {
        if (v->kind != CLAIMS_JSON_STRING || !slice_is(path, *p))
            continue;
        s->models |= s->model != NULL && !slice_is(v->text, s->model);
        s->model = s->models ? NULL : arena_text(&l->a->texts, v->text);
        return true;
    }
    return false;
}

void claims_table_begin(struct file_loader *l)
{
    l->now = (struct file_summary){.tool = l->tool,
                                   .file = arena_text(&l->a->texts, slice_of(l->path)),
                                   .nth = ++l->objects,
                                   .version = l->version};
    l->open = true;
    for (size_t i = 0; i < ROWS_OF_TABLE; i++) {
        l->scale[i] = NAN;
        l->unit[i] = NULL;
    }
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
    for (size_t i = 0; i < ROW_FIELDS; i++)
        l->row_scale[i] = 1;
}

/* Of a unit that is not the table's; of one that is not known the scale is NaN. */
static void rescale_row(struct file_loader *l)
{
    struct file_row *r = &l->row;
    r->ttft *= l->row_scale[ROW_TTFT];
    r->latency *= l->row_scale[ROW_LATENCY];
    r->tpot *= l->row_scale[ROW_TPOT];
    r->ttft_half *= (float)l->row_scale[ROW_TTFT];
    r->latency_half *= (float)l->row_scale[ROW_LATENCY];
    r->tpot_half *= (float)l->row_scale[ROW_TPOT];
}

/* A figure of a row that its times give. */
static void check_span(struct file_loader *l, double *v, const char *what)
{
    if (*v < 0) {
        note_odd(l, what, audit_printf(l->a, "%g s", *v), l->now.rows_seen + 1);
        *v = NAN;
    }
}

static void end_row(struct file_loader *l)
{
    struct file_row *r = &l->row;
    l->in_row = false;
    rescale_row(l);
    if (isnan(r->ttft))
        r->ttft = l->row_times[0] - r->start;
    if (isnan(r->latency) && !isnan(l->row_end))
        r->latency = l->row_end - r->start;
    if (isnan(r->latency))
        r->latency = l->row_times[1] - r->start;
    check_span(l, &r->ttft, "the first time less the start");
    check_span(l, &r->latency, "the last time less the start");
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
    char hex[SHA256_TEXT];
    if (v->cut || v->text.n == 0)
        return 0;
    struct sha256 *sha = sha256_new();
    sha256_add(sha, v->text.p, v->text.n);
    sha256_text(sha, hex);
    sha256_free(sha);
    return model_hash(slice_of(hex));
}

/* Numbers of which a row has none below 0. */
static bool is_length(enum row_field f)
{
    return f == ROW_TTFT || f == ROW_LATENCY || f == ROW_TPOT || f == ROW_OUTPUT ||
           f == ROW_INPUT || f == ROW_TOTAL || f == ROW_GAP;
}

static void put_number(struct file_loader *l, struct file_row *r, enum row_field field, double x,
                       double half)
{
    switch (field) {
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

static void set_field(struct file_loader *l, struct file_row *r, const struct tool_row *t,
                      const struct claims_json_value *v, uint64_t row)
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
    if (v->kind != CLAIMS_JSON_NUMBER)
        return;
    bool read = claim_number(v->text, &x, &half);
    if (is_length(t->field) && (read ? x < 0 : claims_number_beyond(v->text))) {
        note_odd_value(l, slice_of(t->path), v, row);
        return;
    }
    if (!read)
        return;
    put_number(l, r, t->field, x * t->scale, half * t->scale);
}

static const struct tool_row *row_named(const struct tool *tool, struct slice path)
{
    for (const struct tool_row *t = tool->rows; t != NULL && t->path != NULL; t++) {
        if (slice_is(path, t->path))
            return t;
    }
    return NULL;
}

/* "metrics.request_latency.unit", beside its "….value". */
static bool take_row_unit(struct file_loader *l, const struct claims_json_value *v,
                          struct slice path)
{
    double scale;
    if (!is_unit(v, path))
        return false;
    for (const struct tool_row *t = l->tool->rows; t->path != NULL; t++) {
        bool time = t->field == ROW_TTFT || t->field == ROW_LATENCY || t->field == ROW_TPOT;
        if (!time || strncmp(t->path, path.p, path.n - 4) != 0)
            continue;
        bool is_known = claims_unit_seconds(v->text, &scale);
        if (!is_known && l->now.row_unit == NULL)
            l->now.row_unit = arena_text(&l->a->texts, v->text);
        l->row_scale[t->field] = is_known ? scale / t->scale : NAN;
    }
    return true;
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
        set_field(l, &l->now.rows.v[i], t, v, i + 1);
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
    size_t kept = 0;
    for (size_t i = 0; i < s->figures.n; i++) {
        struct file_figure *f = &s->figures.v[i];
        f->unit = f->row < ROWS_OF_TABLE ? l->unit[f->row] : NULL;
        double scale = f->row < ROWS_OF_TABLE && !isnan(l->scale[f->row])
                           ? l->scale[f->row]
                           : l->tool->paths[f->row].scale;
        f->v *= scale;
        f->i = interval_scale(f->i, scale);
        if (f->unit != NULL)
            VEC_PUSH(&s->unread, *f);
        else
            s->figures.v[kept++] = *f;
    }
    s->figures.n = kept;
    const struct file_figure *runs = file_find(s, F_RUNS, FILE_VALUE);
    if (s->tool->one_run != NULL && runs != NULL && runs->v == 1)
        s->tool = s->tool->one_run;
    if (s->figures.n + s->unread.n + s->odd.n == 0 && s->rows_seen == 0) {
        VEC_FREE(&s->figures);
        VEC_FREE(&s->unread);
        VEC_FREE(&s->rows);
        return TA_OK;
    }
    if (l->fs->summaries.n >= LIMIT_CLAIM_OBJECTS) {
        VEC_FREE(&s->figures);
        VEC_FREE(&s->unread);
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

/* 0.8 of "0.8.1". */
static double version_of(struct slice s)
{
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)(s.n < sizeof text ? s.n : sizeof text - 1), s.p);
    return strtod(text, NULL);
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
    if (l->tool == &tool_guidellm && strcmp(v->path, "metadata.guidellm_version") == 0)
        l->version = version_of(v->text);
    bool known = false;
    if (l->in_row && relative(v->path, l->row_object, &path)) {
        const struct tool_row *t = row_named(l->tool, path);
        known = t != NULL;
        if (known)
            set_field(l, &l->row, t, v, l->now.rows_seen + 1);
        else
            known = take_row_unit(l, v, path);
    } else if (l->open && relative(v->path, l->object, &path)) {
        known = take_figure(l, v, path) || take_unit(l, v, path) || take_parallel(l, v, path) ||
                take_model(l, v, path);
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
