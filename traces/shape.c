/* What a body is, by what it begins with. Nothing here depends on how it was split. */
#include "traces/shape.h"

#include <string.h>

#include "traces/base/err.h"
#include "traces/base/jscan.h"
#include "traces/limits.h"
#include "traces/sniff.h"

enum state {
    START,  /* blanks, and a byte order mark */
    PREFIX, /* in what may be a field's name */
    VALUE,  /* in the first JSON value */
    BEHIND, /* behind it: blanks */
    TOLD
};

static const uint8_t bom[] = {0xef, 0xbb, 0xbf};

/* What an event stream begins with. */
static const struct slice fields[] = {{"data:", 5}, {"event:", 6}, {":", 1},
                                      {"id:", 3},   {"retry:", 6}, {NULL, 0}};

void shape_init(struct shape *s, enum shape_kind said)
{
    *s = (struct shape){.said = said, .line_start = true};
    buf_init(&s->held, LIMIT_SHAPE_BYTES);
}

void shape_done(struct shape *s)
{
    buf_done(&s->held);
    VEC_FREE(&s->pieces);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static enum shape_kind told(struct shape *s, enum shape_kind kind)
{
    s->state = TOLD;
    return kind;
}

/* Is what was held of the first value JSON? */
static bool first_is_json(const struct shape *s)
{
    struct jscan j = jscan_over(
        (struct slice){(const char *)s->held.p + s->value_from, s->value_to - s->value_from});
    jscan_skip(&j);
    return jscan_next(&j) == JT_END;
}

static enum shape_kind prefix(struct shape *s, uint8_t c)
{
    s->prefix[s->prefix_n++] = (char)c;
    int which = sniff_match(s->prefix, s->prefix_n, fields);
    if (which < 0)
        return SHAPE_UNTOLD;
    return told(s, which > 0 ? SHAPE_EVENTS : s->said);
}

/* at: of c in all that has come. */
static enum shape_kind start(struct shape *s, uint8_t c, size_t at)
{
    if (at == s->bom && at < sizeof bom && c == bom[at]) {
        s->bom++;
        return SHAPE_UNTOLD;
    }
    if (s->bom > 0 && s->bom < sizeof bom)
        return told(s, s->said);
    if (is_blank(c)) {
        s->line_start = c == '\n' || c == '\r';
        return SHAPE_UNTOLD;
    }
    if (c == '{' || c == '[') {
        s->state = VALUE;
        s->depth = 1;
        s->value_from = at;
        return SHAPE_UNTOLD;
    }
    if (s->said == SHAPE_EVENTS || !s->line_start)
        return told(s, s->said);
    s->state = PREFIX;
    return prefix(s, c);
}

static enum shape_kind value(struct shape *s, uint8_t c, size_t at)
{
    if (s->string) {
        if (c < ' ')
            return told(s, s->said);
        s->string = s->escaped || c != '"';
        s->escaped = !s->escaped && c == '\\';
    } else if (c == '"') {
        s->string = true;
    } else if (c == '\n') {
        s->many_lines = true;
        if (s->said == SHAPE_DOCUMENT)
            return told(s, SHAPE_DOCUMENT);
    } else if (c == '{' || c == '[') {
        s->depth++;
    } else if ((c == '}' || c == ']') && --s->depth == 0) {
        s->state = BEHIND;
        s->value_to = at + 1;
    }
    return SHAPE_UNTOLD;
}

static enum shape_kind behind(struct shape *s, uint8_t c)
{
    s->line_over |= c == '\n';
    if (s->said == SHAPE_LINES && s->line_over && !s->many_lines)
        return told(s, SHAPE_LINES);
    if (is_blank(c))
        return SHAPE_UNTOLD;
    bool another = (c == '{' || c == '[') && s->line_over && !s->many_lines;
    return told(s, another && first_is_json(s) ? SHAPE_LINES : s->said);
}

static enum shape_kind take_byte(struct shape *s, uint8_t c, size_t at)
{
    switch ((enum state)s->state) {
    case START:
        return start(s, c, at);
    case PREFIX:
        return prefix(s, c);
    case VALUE:
        return value(s, c, at);
    case BEHIND:
        return behind(s, c);
    case TOLD:
        break;
    }
    return s->said;
}

/* What has begun as JSON and did not end where it could be held. */
static enum shape_kind unfinished(struct shape *s)
{
    bool json = s->state == VALUE || s->state == BEHIND;
    return told(s, json && s->said == SHAPE_EVENTS ? SHAPE_DOCUMENT : s->said);
}

enum shape_kind shape_take(struct shape *s, struct span *in)
{
    enum shape_kind kind = SHAPE_UNTOLD;
    size_t had = s->held.n;
    if (in->n == 0)
        return SHAPE_UNTOLD;
    if (buf_add(&s->held, in->p, in->n) != TA_OK)
        return unfinished(s);
    VEC_PUSH(&s->pieces, ((struct shape_piece){in->n, in->at}));
    for (size_t i = 0; i < in->n && kind == SHAPE_UNTOLD; i++)
        kind = take_byte(s, in->p[i], had + i);
    *in = (struct span){in->p + in->n, 0, in->at};
    return kind;
}

enum shape_kind shape_gap(struct shape *s)
{
    bool more = s->state == BEHIND && s->line_over && !s->many_lines;
    if (more && first_is_json(s))
        return told(s, SHAPE_LINES);
    return unfinished(s);
}

enum shape_kind shape_end(struct shape *s)
{
    bool whole = s->state == BEHIND && first_is_json(s);
    if (whole && (s->said == SHAPE_EVENTS || s->many_lines))
        return told(s, SHAPE_DOCUMENT);
    return told(s, s->said);
}

int shape_release(struct shape *s, struct byte_sink to)
{
    size_t at = 0, skip = s->value_from > 0 ? s->bom : 0;
    int rc = TA_OK;
    for (size_t i = 0; i < s->pieces.n && rc == TA_OK; i++) {
        struct shape_piece piece = s->pieces.v[i];
        struct span in = {s->held.p + at, piece.n, piece.at};
        size_t cut = skip < in.n ? skip : in.n;
        at += piece.n;
        skip -= cut;
        in = (struct span){in.p + cut, in.n - cut, span_mark(in, cut)};
        if (in.n > 0 && to.data != NULL)
            rc = to.data(to.ctx, in);
    }
    shape_done(s);
    return rc;
}
