/* Bodies (JSON: RFC 8259; event streams: WHATWG HTML, 9.2; JSON lines), without their text. */
#include "traces/redact_body.h"

#include <string.h>

/* Where in a line of an event stream. */
enum line {
    FIELD,  /* its name */
    BLANK,  /* the blank that may follow the colon */
    DATA,   /* JSON */
    NAME,   /* of an event, an id: stays as far as it is one */
    DIGITS, /* of retry */
    REST    /* overwritten */
};

static const struct {
    const char *name;
    uint8_t line;
} fields[] = {{"data", DATA}, {"event", NAME}, {"id", NAME}, {"retry", DIGITS}};

enum { FIELDS = sizeof fields / sizeof fields[0] };

void redact_body_init(struct redact_body *b, enum redact_body_kind kind)
{
    b->kind = (uint8_t)kind;
    b->line = FIELD;
    b->n = b->bom = 0;
    b->after_cr = b->counted = false;
    b->strings = b->characters = 0;
    redact_json_init(&b->json);
}

static void count_whole(struct redact_body *b, const struct redact_filler *f)
{
    if (!b->counted)
        f->totals->whole_bodies++;
    b->counted = true;
}

static void feed_json(struct redact_body *b, const uint8_t *p, size_t from, size_t to,
                      const struct redact_filler *f)
{
    redact_json_feed(&b->json, p, from, to, f);
    if (redact_json_bad(&b->json))
        count_whole(b, f);
}

/* --- event streams -------------------------------------------------------------------------- */

/* An event that ended: the next one's data is another document. */
static void end_event(struct redact_body *b)
{
    b->strings += b->json.strings;
    b->characters += b->json.characters;
    redact_json_init(&b->json);
}

static bool field_fits(const struct redact_body *b, uint8_t c)
{
    if (b->n == sizeof b->field)
        return false;
    for (size_t i = 0; i < FIELDS; i++)
        if (strlen(fields[i].name) > b->n && memcmp(fields[i].name, b->field, b->n) == 0 &&
            (uint8_t)fields[i].name[b->n] == c)
            return true;
    return false;
}

/* The colon behind a name; a name of nothing is a comment. */
static void end_field(struct redact_body *b)
{
    b->line = REST;
    for (size_t i = 0; i < FIELDS; i++)
        if (strlen(fields[i].name) == b->n && memcmp(fields[i].name, b->field, b->n) == 0)
            b->line = fields[i].line;
    b->n = b->line;
    b->line = BLANK;
}

static size_t field(struct redact_body *b, uint8_t c, size_t i)
{
    if (c == ':') {
        end_field(b);
    } else if (field_fits(b, c)) {
        b->field[b->n++] = (char)c;
    } else {
        b->line = REST;
        return i;
    }
    return i + 1;
}

/* To the end of the line, or of what is there of it. */
static size_t line_end(const uint8_t *p, size_t i, size_t to)
{
    const uint8_t *lf = memchr(p + i, '\n', to - i);
    size_t end = lf != NULL ? (size_t)(lf - p) : to;
    const uint8_t *cr = memchr(p + i, '\r', end - i);
    return cr != NULL ? (size_t)(cr - p) : end;
}

static size_t value(struct redact_body *b, const uint8_t *p, size_t i, size_t to,
                    const struct redact_filler *f)
{
    size_t end = line_end(p, i, to), at = i;
    if (b->line == DATA) {
        feed_json(b, p, i, end, f);
        return end;
    }
    if (b->line == NAME)
        while (at < end && redact_name_byte(p[at]))
            at++;
    if (b->line == DIGITS)
        while (at < end && p[at] >= '0' && p[at] <= '9')
            at++;
    if (at < end) {
        b->line = REST;
        f->fill(f->ctx, at, end, FILL_BODY);
    }
    return end;
}

/* An empty line ends the event. */
static void end_line(struct redact_body *b, uint8_t c)
{
    bool second_half = c == '\n' && b->after_cr; /* of "\r\n" */
    b->after_cr = c == '\r';
    if (second_half)
        return;
    if (b->line == FIELD && b->n == 0)
        end_event(b);
    b->line = FIELD;
    b->n = 0;
}

static void feed_events(struct redact_body *b, const uint8_t *p, size_t i, size_t to,
                        const struct redact_filler *f)
{
    while (i < to) {
        if (p[i] == '\n' || p[i] == '\r') {
            end_line(b, p[i++]);
            continue;
        }
        b->after_cr = false;
        if (b->line == FIELD) {
            i = field(b, p[i], i);
        } else if (b->line == BLANK) {
            b->line = b->n;
            i += p[i] == ' ';
        } else {
            i = value(b, p, i, to, f);
        }
    }
}

/* --- what it is ------------------------------------------------------------------------------- */

/* Passes over a byte order mark and blanks; the first other byte decides. */
static size_t sniff(struct redact_body *b, uint8_t c, size_t i)
{
    static const uint8_t bom[] = {0xef, 0xbb, 0xbf};
    if (b->bom < sizeof bom && c == bom[b->bom]) {
        b->bom++;
        return i + 1;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
        return i + 1;
    if (c == '{' || c == '[' || c == '"')
        b->kind = REDACT_BODY_JSON;
    else if (b->kind == REDACT_BODY_STREAM || (strchr("deir:", c) != NULL && c != '\0'))
        b->kind = REDACT_BODY_EVENTS;
    else
        b->kind = REDACT_BODY_WHOLE;
    return i;
}

void redact_body_feed(struct redact_body *b, const uint8_t *p, size_t from, size_t to,
                      const struct redact_filler *f)
{
    size_t i = from;
    while ((b->kind == REDACT_BODY_SNIFF || b->kind == REDACT_BODY_STREAM) && i < to)
        i = sniff(b, p[i], i);
    if (i == to)
        return;
    switch ((enum redact_body_kind)b->kind) {
    case REDACT_BODY_JSON:
        feed_json(b, p, i, to, f);
        b->strings = b->json.strings;
        b->characters = b->json.characters;
        break;
    case REDACT_BODY_EVENTS:
        feed_events(b, p, i, to, f);
        break;
    default:
        count_whole(b, f);
        f->fill(f->ctx, i, to, FILL_BODY);
    }
}

/* Behind it an event stream is read again from the next line on. */
void redact_body_gap(struct redact_body *b)
{
    if (b->kind == REDACT_BODY_STREAM)
        b->kind = REDACT_BODY_EVENTS;
    if (b->kind != REDACT_BODY_EVENTS) {
        b->kind = REDACT_BODY_WHOLE;
        return;
    }
    end_event(b);
    b->line = REST;
    b->after_cr = false;
}
