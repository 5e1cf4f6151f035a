/* Result files: which tool wrote it, and the way through it. */
#include "analyze/claims_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/claims_csv.h"
#include "analyze/claims_source.h"
#include "analyze/claims_table.h"
#include "analyze/finding_kinds.h"
#include "traces/base/buf.h"
#include "traces/base/log.h"
#include "traces/limits.h"

enum { CHUNK_BYTES = 64 << 10, HEAD_BYTES = 4 << 20 };

/* --- which tool ------------------------------------------------------------------------------- */

struct detection {
    const struct tool *tool;
    size_t best;     /* place in tools */
    bool own, named; /* by members that are claims by their names */
};

static int on_detect(void *ctx, const struct claims_json_value *v, struct err *e)
{
    struct detection *d = ctx;
    struct slice star, path = slice_of(v->path);
    (void)e;
    if (v->kind == CLAIMS_JSON_BEGIN || v->kind == CLAIMS_JSON_END)
        return TA_OK; /* vLLM's "total_token_throughput" is a number, AIPerf's an object */
    d->own |= slice_is(path, "metric") || slice_is(path, "[].metric");
    struct slice key = path, unit;
    d->named |= v->kind == CLAIMS_JSON_NUMBER && claim_key(&key, &unit);
    for (size_t i = 0; i < tools_n && i < d->best; i++) {
        for (const char *const *sign = tools[i]->signs; *sign != NULL; sign++) {
            if (claims_table_matches(*sign, path, &star)) {
                d->best = i;
                d->tool = tools[i];
            }
        }
    }
    return TA_OK;
}

static struct detection detect(struct slice head)
{
    struct detection d = {.best = tools_n};
    struct err ignored;
    struct claims_json *j = claims_json_new("", on_detect, &d);
    int rc = claims_json_feed(j, head.p, head.n, &ignored);
    (void)rc; /* what is wrong with it, its reader says */
    claims_json_free(j);
    return d;
}

/* --- files ------------------------------------------------------------------------------------ */

static int on_value(void *ctx, const struct claims_json_value *v, struct err *e)
{
    struct file_loader *l = ctx;
    return l->own != NULL ? claims_own_value(l->own, v, claims_json_line(l->json), e)
                          : claims_table_value(l, v, e);
}

static void drop_open(struct file_loader *l)
{
    if (l->open) {
        VEC_FREE(&l->now.figures);
        VEC_FREE(&l->now.unread);
        VEC_FREE(&l->now.rows);
    }
    l->open = false;
}

/* The file ends inside a value, as e says: what was whole before it is used, and that is said,
 * since claims that are silently left out would pass. False where nothing was. */
static bool use_whole(struct file_loader *l, size_t results, size_t claims, const struct err *e)
{
    bool rows = l->open && claims_table_rows_only(l->tool) && l->now.rows_seen > 0;
    size_t whole = l->own != NULL ? l->a->claims.n - claims
                   : rows         ? (size_t)l->now.rows_seen
                                  : l->fs->summaries.n - results;
    if (whole == 0)
        return false;
    if (!rows)
        drop_open(l);
    const struct finding_kind *kind = &finding_kinds[FINDING_CLAIMS_CUT];
    struct finding x = {.id = kind->id, .title = kind->title, .severity = kind->severity};
    x.detail = audit_printf(l->a, "%s; %zu whole %s%s before it %s used", e->msg, whole,
                            l->own != NULL ? "claim"
                            : rows         ? "row"
                                           : "result",
                            whole > 1 ? "s" : "", whole > 1 ? "were" : "was");
    log_warn("%s", x.detail);
    VEC_PUSH(&l->a->findings, x);
    return true;
}

static int read_json(struct file_loader *l, struct slice head, struct claims_source *s,
                     struct err *e)
{
    char *chunk = mem_alloc(CHUNK_BYTES);
    size_t results = l->fs->summaries.n, claims = l->a->claims.n;
    l->json = claims_json_new(l->path, on_value, l);
    if (l->own == NULL && claims_table_rows_only(l->tool))
        claims_table_begin(l);
    int rc = claims_json_feed(l->json, head.p, head.n, e);
    for (size_t n; rc == TA_OK && (n = claims_source_take(s, chunk, CHUNK_BYTES)) > 0;)
        rc = claims_json_feed(l->json, chunk, n, e);
    if (rc == TA_OK) {
        rc = claims_json_finish(l->json, e);
        if (rc != TA_OK && use_whole(l, results, claims, e))
            rc = TA_OK;
    }
    if (rc == TA_OK && l->open)
        rc = claims_table_end(l, e);
    drop_open(l);
    claims_json_free(l->json);
    free(chunk);
    return rc;
}

/* Lines of CSV, one at a time; the text before the first line end of what was read is kept. What
 * has been read of it is dropped with the next chunk: not line by line, which would move all of it.
 */
static int read_csv(struct file_loader *l, struct slice head, struct claims_source *s,
                    struct err *e)
{
    struct buf ahead;
    char *chunk = mem_alloc(CHUNK_BYTES);
    size_t number = 0, n = 1, at = 0;
    int rc = TA_OK;
    struct claims_csv *csv = l->own == NULL ? claims_csv_new(l) : NULL;
    buf_init(&ahead, (size_t)HEAD_BYTES + CHUNK_BYTES);
    buf_put(&ahead, head.p, head.n);
    while (rc == TA_OK && (n > 0 || at < ahead.n)) {
        size_t left = ahead.n - at;
        const char *p = left > 0 ? (const char *)ahead.p + at : "";
        const char *end = memchr(p, '\n', left);
        if (end == NULL && n > 0) {
            buf_drop(&ahead, at);
            at = 0;
            n = claims_source_take(s, chunk, CHUNK_BYTES);
            if (buf_add(&ahead, chunk, n) != TA_OK)
                rc = err_set(e, TA_EFORMAT, "%s, line %zu: longer than 4 MiB", l->path, number + 1);
            continue;
        }
        size_t line = end != NULL ? (size_t)(end - p) : left;
        size_t text = line > 0 && p[line - 1] == '\r' ? line - 1 : line;
        rc = csv != NULL ? claims_csv_line(csv, (struct slice){p, text}, e)
                         : claims_own_csv(l->own, (struct slice){p, text}, ++number, e);
        at += line + (end != NULL);
    }
    if (csv != NULL && rc == TA_OK)
        rc = claims_csv_finish(csv, e);
    if (csv != NULL)
        drop_open(l);
    claims_csv_free(csv);
    buf_done(&ahead);
    free(chunk);
    return rc;
}

static struct slice without_mark(struct slice s)
{
    return s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0 ? (struct slice){s.p + 3, s.n - 3} : s;
}

/* GuideLLM's YAML. */
static bool starts_as_yaml(struct slice head)
{
    static const char first[] = "benchmarks:";
    return head.n >= sizeof first && memcmp(head.p, first, sizeof first - 1) == 0;
}

static int choose(struct file_loader *l, struct slice head, const char *format, bool *csv,
                  struct err *e)
{
    char names[256];
    size_t i = 0;
    while (i < head.n && strchr(" \t\r\n", head.p[i]) != NULL && head.p[i] != '\0')
        i++;
    bool json = i < head.n && (head.p[i] == '{' || head.p[i] == '[');
    *csv = !json;
    if (i == head.n)
        return err_set(e, TA_EFORMAT, "%s is empty; expected a result file or claims", l->path);
    struct detection d = {.own = claims_own_header(head)};
    if (json)
        d = detect(head);
    else if (!d.own)
        d.tool = claims_csv_tool(head);
    d.own |= d.tool == NULL && d.named;
    if (format != NULL) {
        d.tool = tool_named(slice_of(format));
        d.own = strcmp(format, "own") == 0;
    }
    if (!json && !d.own && d.tool == NULL && format == NULL && starts_as_yaml(head))
        return err_set(e, TA_EFORMAT,
                       "%s: YAML is not read; GuideLLM writes the same as JSON or CSV (--output "
                       "kind=json)",
                       l->path);
    if (d.own || d.tool == NULL) {
        if (!d.own)
            return err_set(
                e, TA_EFORMAT,
                "%s: no result file that is known (%s, or our own form, with 'metric' and "
                "'value'); --claims-format names one",
                l->path, tool_names(names));
        l->own = claims_own_new(l->a, l->path);
        return TA_OK;
    }
    l->tool = d.tool;
    if (json || claims_csv_tool(head) == d.tool)
        return TA_OK;
    bool yaml = d.tool == &tool_guidellm;
    return err_set(e, TA_EFORMAT, "%s: no JSON, which %s writes%s", l->path, d.tool->title,
                   yaml ? " beside YAML (--output kind=json)" : "");
}

static int read_source(struct claim_files *fs, struct audit *a, const char *path,
                       struct claims_source *s, const char *format, struct err *e)
{
    struct file_loader l = {.fs = fs, .a = a, .path = arena_text(&a->texts, slice_of(path))};
    char *head = mem_alloc(HEAD_BYTES);
    size_t n = 0, got;
    while (n < HEAD_BYTES && (got = claims_source_take(s, head + n, HEAD_BYTES - n)) > 0)
        n += got;
    struct slice text = without_mark((struct slice){head, n});
    size_t before = fs->summaries.n;
    bool csv;
    int rc = choose(&l, text, format, &csv, e);
    if (rc == TA_OK)
        rc = csv ? read_csv(&l, text, s, e) : read_json(&l, text, s, e);
    if (claims_source_fault(s) != NULL) /* what was missing there is no fault of its reader's */
        rc = err_set(e, TA_EFORMAT, "reading %s: %s%s", path, claims_source_fault(s),
                     s->damage != NULL ? " (of its gzip stream)" : "");
    if (rc == TA_OK && l.own == NULL && fs->summaries.n == before)
        rc = err_set(e, TA_EFORMAT, "%s: read as a file of %s, and no figure was found in it", path,
                     l.tool->title);
    for (size_t i = before; i < fs->summaries.n; i++) {
        const struct file_summary *x = &fs->summaries.v[i];
        log_info("%s: read as %s; %zu figures, %" PRIu64 " rows, %" PRIu64 " members not used%s",
                 path, x->tool->title, x->figures.n, x->rows_seen, x->unknown,
                 x->rows_left > 0 ? ", rows beyond the first million counted only" : "");
    }
    claims_own_free(l.own);
    free(head);
    return rc;
}

int claims_file_take(struct claim_files *fs, struct audit *a, const char *name, struct slice text,
                     const char *format, struct err *e)
{
    struct claims_source s;
    claims_source_text(&s, text);
    int rc = read_source(fs, a, name, &s, format, e);
    claims_source_close(&s);
    return rc;
}

int claims_file_read(struct claim_files *fs, struct audit *a, const char *path, const char *format,
                     struct err *e)
{
    struct claims_source s;
    int rc = claims_source_open(&s, path, e);
    if (rc != TA_OK)
        return rc;
    rc = read_source(fs, a, strcmp(path, "-") == 0 ? "standard input" : path, &s, format, e);
    claims_source_close(&s);
    return rc;
}

void claim_files_free(struct claim_files *fs)
{
    for (size_t i = 0; i < fs->summaries.n; i++) {
        VEC_FREE(&fs->summaries.v[i].figures);
        VEC_FREE(&fs->summaries.v[i].unread);
        VEC_FREE(&fs->summaries.v[i].rows);
    }
    VEC_FREE(&fs->summaries);
}
