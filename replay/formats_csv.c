/* Rows of CSV (RFC 4180, but that a field ends on its line): BurstGPT, Azure's LLM traces, and
 * GuideLLM's lengths. Columns are found by their names (peers-and-formats 4.1). */
#include "replay/formats_row.h"

#include <stdio.h>

enum { MOST_TOKENS = 10000000, MOST_FIELDS = 64 };
enum column { C_TIME, C_INPUT, C_OUTPUT, C_SESSION, C_IMAGES, COLUMNS };

static const struct {
    enum formats_format format;
    const char *names[COLUMNS]; /* the first three must be there */
} headers[] = {
    {FORMAT_BURSTGPT, {"Timestamp", "Request tokens", "Response tokens", "Session ID", NULL}},
    {FORMAT_AZURE, {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL, "NumImages"}},
    {FORMAT_TRACE_SYNTHETIC, {"timestamp", "input_length", "output_length", NULL, NULL}},
};

struct fields {
    struct slice v[MOST_FIELDS];
    size_t n;
};

static struct slice trimmed(struct slice s)
{
    while (s.n > 0 && (*s.p == ' ' || *s.p == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* What is between the quotes of a quoted field; a doubled quote in it stays doubled. False: it does
 * not end on this line. */
static bool take_quoted(struct slice *rest, struct slice *out)
{
    const char *p = rest->p + 1, *end = rest->p + rest->n;
    while (p < end && (*p != '"' || (p + 1 < end && p[1] == '"')))
        p += *p == '"' ? 2 : 1;
    if (p >= end)
        return false;
    *out = (struct slice){rest->p + 1, (size_t)(p - rest->p) - 1};
    p++;
    *rest = (struct slice){p, (size_t)(end - p)};
    return true;
}

static bool split(struct slice line, struct fields *out)
{
    out->n = 0;
    for (;;) {
        struct slice field;
        line = trimmed(line);
        if (out->n == MOST_FIELDS)
            return false;
        if (line.n > 0 && *line.p == '"') {
            if (!take_quoted(&line, &field))
                return false;
            line = trimmed(line);
            if (line.n > 0 && *line.p != ',')
                return false;
        } else {
            const char *comma = line.n > 0 ? memchr(line.p, ',', line.n) : NULL;
            size_t n = comma != NULL ? (size_t)(comma - line.p) : line.n;
            field = trimmed((struct slice){line.p, n});
            line = (struct slice){line.p + n, line.n - n};
        }
        out->v[out->n++] = field;
        if (line.n == 0)
            return true;
        line = (struct slice){line.p + 1, line.n - 1}; /* the comma */
    }
}

static int column_of(const struct fields *f, const char *name)
{
    for (size_t i = 0; name != NULL && i < f->n; i++) {
        if (slice_is(f->v[i], name))
            return (int)i;
    }
    return -1;
}

/* Places of the columns of headers[h]; false if one that must be there is not. */
static bool find_columns(const struct fields *f, size_t h, int columns[COLUMNS])
{
    for (size_t c = 0; c < COLUMNS; c++)
        columns[c] = column_of(f, headers[h].names[c]);
    return columns[C_TIME] >= 0 && columns[C_INPUT] >= 0 && columns[C_OUTPUT] >= 0;
}

enum formats_format formats_csv_detect(struct slice header)
{
    struct fields f;
    int columns[COLUMNS];
    for (size_t h = 0; split(header, &f) && h < sizeof headers / sizeof *headers; h++) {
        if (find_columns(&f, h, columns))
            return headers[h].format;
    }
    return FORMAT_NONE;
}

int formats_csv_header(struct formats_rows *r, struct slice line, struct err *e)
{
    struct fields f;
    size_t h = 0;
    while (h < sizeof headers / sizeof *headers && headers[h].format != r->format)
        h++;
    if (h == sizeof headers / sizeof *headers)
        return formats_input_bad(r->in, e, "%s is not a format of CSV files",
                                 formats_format_name(r->format));
    if (!split(line, &f) || !find_columns(&f, h, r->columns))
        return formats_input_bad(r->in, e, "the header of a %s file has columns %s, %s and %s",
                                 formats_format_name(r->format), headers[h].names[C_TIME],
                                 headers[h].names[C_INPUT], headers[h].names[C_OUTPUT]);
    return TA_OK;
}

static struct slice field(const struct formats_rows *r, const struct fields *f, enum column c)
{
    int i = r->columns[c];
    return i >= 0 && (size_t)i < f->n ? f->v[i] : (struct slice){"", 0};
}

static int take_count(const struct formats_rows *r, const struct fields *f, enum column c,
                      const char *what, int64_t *out, struct err *e)
{
    char found[FORMATS_SHOWN];
    if (!formats_tokens(field(r, f, c), out) || *out > MOST_TOKENS)
        return formats_input_bad(r->in, e, "its %s is not a whole number from 0 to %d: found '%s'",
                                 what, MOST_TOKENS, formats_input_shown(field(r, f, c), found));
    return TA_OK;
}

int formats_csv_record(struct formats_rows *r, struct slice line, struct err *e)
{
    struct fields f;
    struct formats_row row = {
        .place = r->in->line, .has_time = true, .previous = -1, .kind = CONTENT_WORDS};
    if (!split(line, &f))
        return formats_input_bad(
            r->in, e, "not CSV: a quoted field does not end, or over %d fields", MOST_FIELDS);
    struct slice time = field(r, &f, C_TIME), session = field(r, &f, C_SESSION);
    bool good = r->format == FORMAT_AZURE ? formats_stamp(time, &row.time)
                                          : formats_number(time, &row.time);
    char found[FORMATS_SHOWN];
    if (!good)
        return formats_input_bad(r->in, e, "its time is no %s: found '%s'",
                                 r->format == FORMAT_AZURE
                                     ? "stamp such as 2023-11-16 18:17:03.9799600"
                                     : "number from 0 on",
                                 formats_input_shown(time, found));
    int rc = take_count(r, &f, C_INPUT, "number of input tokens", &row.in, e);
    if (rc == TA_OK)
        rc = take_count(r, &f, C_OUTPUT, "number of output tokens", &row.out, e);
    if (rc != TA_OK)
        return rc;
    if (row.in == 0 || row.out == 0) {
        formats_skip_row(r, row.in == 0 ? SKIP_NO_INPUT : SKIP_NO_OUTPUT);
        return TA_OK;
    }
    int64_t images = 0;
    if (formats_tokens(field(r, &f, C_IMAGES), &images) && images > 0)
        r->with_images++;
    if (session.n > 0)
        row.previous = formats_session_find(r, session);
    rc = formats_add_row(r, &row, e);
    if (rc == TA_OK && session.n > 0)
        formats_session_set(r, session);
    return rc;
}
