/* JSON texts, one a line, to events (github.com/ndjson/ndjson-spec, jsonlines.org), pushed in any
 * split. A line that lies in one span is handed on as a pointer into it. */
#include "traces/ndjson.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/buf.h"
#include "traces/base/jscan.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

struct ndjson {
    struct event_sink out;
    struct anomaly_sink bad;
    int rc;
    uint32_t index;
    bool skipping;           /* up to the next LF: bytes are missing or too many */
    struct buf line;         /* the unfinished one */
    struct mark first, last; /* its first byte; the latest of the stream */
};

struct ndjson *ndjson_new(struct event_sink out, struct anomaly_sink bad)
{
    struct ndjson *j = mem_zalloc(sizeof *j);
    j->out = out;
    j->bad = bad;
    buf_init(&j->line, LIMIT_SSE_LINE_BYTES);
    return j;
}

void ndjson_free(struct ndjson *j)
{
    if (j == NULL)
        return;
    buf_done(&j->line);
    free(j);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim_end(struct slice line)
{
    while (line.n > 0 && is_space(line.p[line.n - 1]))
        line.n--;
    return line;
}

static void emit(struct ndjson *j, enum event_kind kind, struct slice line, struct mark first,
                 struct mark last)
{
    struct event ev = {kind, slice_of("message"), line, j->index++, first, last};
    if (j->out.event != NULL)
        j->rc = j->out.event(j->out.ctx, &ev);
}

static void take_line(struct ndjson *j, struct slice line, struct mark first, struct mark last)
{
    line = trim_end(line);
    if (line.n > 0 && !j->skipping)
        emit(j, EVENT_DATA, line, first, last);
    j->skipping = false;
}

static void damage(struct ndjson *j, const char *id, struct mark at, uint64_t n)
{
    anomaly_note(j->bad, id, at, n);
    buf_clear(&j->line);
    j->skipping = true;
}

/* Keeps the beginning of a line that goes on in the next span. */
static void keep(struct ndjson *j, struct span in)
{
    if (j->skipping || in.n == 0)
        return;
    if (j->line.n == 0)
        j->first = in.at;
    if (buf_add(&j->line, in.p, in.n) != TA_OK)
        damage(j, "ndjson.line-too-big", in.at, 0);
}

static int on_data(void *ctx, struct span in)
{
    struct ndjson *j = ctx;
    size_t i = 0;
    if (in.n > 0)
        j->last = span_mark(in, in.n - 1);
    while (i < in.n && j->rc == TA_OK) {
        struct span rest = {in.p + i, in.n - i, span_mark(in, i)};
        const uint8_t *lf = memchr(rest.p, '\n', rest.n);
        if (lf == NULL) {
            keep(j, rest);
            break;
        }
        size_t n = (size_t)(lf - rest.p);
        if (j->line.n > 0) {
            keep(j, (struct span){rest.p, n, rest.at});
            take_line(j, (struct slice){(const char *)j->line.p, j->line.n}, j->first,
                      span_mark(rest, n));
            buf_clear(&j->line);
        } else {
            take_line(j, (struct slice){(const char *)rest.p, n}, rest.at, span_mark(rest, n));
        }
        i += n + 1;
    }
    return j->rc;
}

static int on_gap(void *ctx, uint64_t n, struct mark at)
{
    struct ndjson *j = ctx;
    if (j->rc == TA_OK)
        damage(j, "ndjson.gap", at, n);
    return j->rc;
}

/* Whether it is one whole JSON text. A number may have gone on where the end was not seen. */
static bool is_json(struct slice line, enum end_kind why)
{
    struct jscan s = jscan_over(line);
    jscan_next(&s);
    if (s.last == JT_NUMBER && why != END_FIN)
        return false;
    jscan_finish(&s);
    return jscan_next(&s) == JT_END;
}

static int on_end(void *ctx, enum end_kind why, struct mark at)
{
    struct ndjson *j = ctx;
    struct slice line = trim_end((struct slice){(const char *)j->line.p, j->line.n});
    if (j->rc == TA_OK && line.n > 0 && is_json(line, why)) {
        emit(j, EVENT_DATA, line, j->first, j->last);
    } else if (j->rc == TA_OK && line.n > 0) {
        anomaly_note(j->bad, "ndjson.truncated-line", j->first, line.n);
        emit(j, EVENT_TRUNCATED, line, j->first, j->last);
    }
    if (j->rc == TA_OK && j->out.end != NULL)
        j->rc = j->out.end(j->out.ctx, why, at);
    return j->rc;
}

struct byte_sink ndjson_input(struct ndjson *j)
{
    return (struct byte_sink){j, on_data, on_gap, on_end};
}
