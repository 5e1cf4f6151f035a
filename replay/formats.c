/* Which format a workload file has, told by what is in it, and the way through it
 * (peers-and-formats 4.3). */
#include "replay/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/formats_row.h"
#include "traces/limits.h"

enum { LOOK_BYTES = 1 << 20 };

struct formats {
    struct formats_input in;
    enum formats_kind kind;
    enum formats_format format;
    enum formats_container container;
    char why[160]; /* it was taken for this format */
};

static const struct {
    const char *name;
    bool csv, lines; /* how it comes */
} formats_table[FORMAT_NONE] = {
    [FORMAT_MOONCAKE] = {"mooncake", false, true},
    [FORMAT_TIMED_TRACE] = {"timed_trace", false, true},
    [FORMAT_TRACE_SYNTHETIC] = {"trace_synthetic", true, true},
    [FORMAT_WEKA] = {"weka", false, true},
    [FORMAT_BAILIAN] = {"bailian", false, true},
    [FORMAT_BURSTGPT] = {"burstgpt", true, false},
    [FORMAT_AZURE] = {"azure", true, false},
    [FORMAT_SHAREGPT] = {"sharegpt", false, true},
    [FORMAT_SINGLE_TURN] = {"single_turn", false, true},
    [FORMAT_MULTI_TURN] = {"multi_turn", false, true},
    [FORMAT_RAW_PAYLOAD] = {"raw_payload", false, true},
    [FORMAT_INPUTS_JSON] = {"inputs_json", false, false},
    [FORMAT_CUSTOM] = {"custom", false, true},
};

const char *formats_format_name(enum formats_format f)
{
    return f < FORMAT_NONE ? formats_table[f].name : "unknown";
}

/* "mooncake, bailian, …" for messages. */
static const char *all_names(char out[256])
{
    size_t n = 0;
    for (size_t i = 0; i < FORMAT_NONE; i++)
        n += (size_t)snprintf(out + n, 256 - n, "%s%s", i ? ", " : "", formats_table[i].name);
    return out;
}

/* --- detection -------------------------------------------------------------------------------- */

/* What the names of an object's members say. Which member decided goes to *by. In this order: a
 * plan of ours may hold any of the others' names in its bodies, but not as its own members. */
static const struct {
    const char *member, *with; /* and this one, unless NULL */
    enum formats_format format;
} signs[] = {
    {"conversations", NULL, FORMAT_SHAREGPT},    {"chat_id", NULL, FORMAT_BAILIAN},
    {"turns", NULL, FORMAT_MULTI_TURN},          {"payload", NULL, FORMAT_MOONCAKE},
    {"text_input", NULL, FORMAT_MOONCAKE},       {"t", "in", FORMAT_WEKA},
    {"hash_ids", NULL, FORMAT_MOONCAKE},         {"input_length", NULL, FORMAT_MOONCAKE},
    {"messages", "timestamp", FORMAT_MOONCAKE},  {"messages", "delay", FORMAT_MOONCAKE},
    {"messages", "session_id", FORMAT_MOONCAKE}, {"messages", NULL, FORMAT_RAW_PAYLOAD},
    {"texts", NULL, FORMAT_SINGLE_TURN},         {"text", NULL, FORMAT_SINGLE_TURN},
    {"prompt", "model", FORMAT_RAW_PAYLOAD},     {"prompt", NULL, FORMAT_CUSTOM},
};
enum { SIGNS = sizeof signs / sizeof *signs };

/* Is it a member of the object at the start of text? The text may be cut. */
static bool has_member(struct slice text, const char *name)
{
    struct jscan s = jscan_over(text);
    struct slice key;
    if (name == NULL)
        return true;
    if (jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, name))
            return true;
        jscan_skip(&s);
    }
    return false;
}

/* data[] of objects that may say payloads first or last: it is enough that it is an array. */
static bool is_inputs_json(struct slice text)
{
    struct jscan s = jscan_over(text);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "data"))
            return jscan_next(&s) == JT_ARRAY;
        jscan_skip(&s);
    }
    return false;
}

static enum formats_format format_of(struct formats *s, struct slice object)
{
    for (size_t i = 0; i < SIGNS; i++) {
        if (!has_member(object, signs[i].member) || !has_member(object, signs[i].with))
            continue;
        snprintf(s->why, sizeof s->why, "the first row has '%s'%s%s%s", signs[i].member,
                 signs[i].with ? " and '" : "", signs[i].with ? signs[i].with : "",
                 signs[i].with ? "'" : "");
        return signs[i].format;
    }
    return FORMAT_NONE;
}

static bool is_capture(struct slice s)
{
    static const uint8_t magics[][4] = {{0x0A, 0x0D, 0x0D, 0x0A},
                                        {0xD4, 0xC3, 0xB2, 0xA1},
                                        {0x4D, 0x3C, 0xB2, 0xA1},
                                        {0xA1, 0xB2, 0xC3, 0xD4},
                                        {0xA1, 0xB2, 0x3C, 0x4D}};
    for (size_t i = 0; s.n >= 4 && i < sizeof magics / sizeof *magics; i++) {
        if (memcmp(s.p, magics[i], 4) == 0)
            return true;
    }
    return false;
}

static struct slice without_blanks(struct slice s)
{
    if (s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0)
        s = (struct slice){s.p + 3, s.n - 3};
    while (s.n > 0 && strchr(" \t\r\n", *s.p) != NULL && *s.p != '\0')
        s = (struct slice){s.p + 1, s.n - 1};
    return s;
}

static void detect_object(struct formats *s, struct slice text)
{
    if (plan_claims(text)) {
        s->kind = FORMATS_PLAN;
        return;
    }
    s->container = IN_LINES;
    s->format = format_of(s, text);
    if (s->format == FORMAT_NONE && is_inputs_json(text)) {
        s->format = FORMAT_INPUTS_JSON;
        s->container = IN_DATA;
        snprintf(s->why, sizeof s->why, "it is an object with an array 'data'");
    }
    s->kind = s->format == FORMAT_NONE ? FORMATS_SPEC : FORMATS_FOREIGN;
}

static void detect_csv(struct formats *s, struct slice text)
{
    const char *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    struct slice header = {text.p, end != NULL ? (size_t)(end - text.p) : text.n};
    s->format = formats_csv_detect(header);
    s->container = IN_CSV;
    s->kind = FORMATS_FOREIGN;
    snprintf(s->why, sizeof s->why, "its columns have the names");
}

/* A format by name leaves open how the file is cut. */
static int take_named(struct formats *s, struct slice text, const char *name, struct err *e)
{
    char all[256];
    size_t i = 0;
    while (i < FORMAT_NONE && strcmp(formats_table[i].name, name) != 0)
        i++;
    if (i == FORMAT_NONE)
        return err_set(e, TA_EUSAGE, "--format: expected one of %s; found '%.40s'", all_names(all),
                       name);
    char first = text.n > 0 ? *text.p : '\0';
    s->kind = FORMATS_FOREIGN;
    s->format = (enum formats_format)i;
    s->container = s->format == FORMAT_INPUTS_JSON ? IN_DATA
                   : first == '['                  ? IN_ARRAY
                   : first == '{'                  ? IN_LINES
                                                   : IN_CSV;
    snprintf(s->why, sizeof s->why, "--format says so");
    if ((s->container == IN_CSV) > formats_table[i].csv ||
        (s->container == IN_LINES) > formats_table[i].lines)
        return err_set(e, TA_EFORMAT, "%s: no %s file, as --format says: it starts with '%c'",
                       s->in.path, name, first >= ' ' && first < 0x7F ? first : '?');
    return TA_OK;
}

static int detect(struct formats *s, const char *format, struct err *e)
{
    struct slice text;
    int rc = formats_input_peek(&s->in, LOOK_BYTES, &text, e);
    if (rc != TA_OK)
        return rc;
    if (is_capture(text)) {
        s->kind = FORMATS_CAPTURE;
        return TA_OK;
    }
    text = without_blanks(text);
    if (text.n == 0)
        return err_set(e, TA_EFORMAT, "%s is empty; expected a workload (see WORKLOAD.md)",
                       s->in.path);
    if (format != NULL)
        return take_named(s, text, format, e);
    if (text.n > 0 && *text.p == '{') {
        detect_object(s, text);
    } else if (text.n > 0 && *text.p == '[') {
        s->kind = FORMATS_FOREIGN;
        s->container = IN_ARRAY;
        s->format = format_of(s, without_blanks((struct slice){text.p + 1, text.n - 1}));
    } else {
        detect_csv(s, text);
    }
    if (s->kind == FORMATS_FOREIGN && s->format == FORMAT_NONE)
        return err_set(e, TA_EFORMAT,
                       "%s is neither a workload (spec, plan, or a file of another tool, see "
                       "WORKLOAD.md) nor a capture; its format can be named with --format",
                       s->in.path);
    return TA_OK;
}

int formats_open(struct formats **out, FILE *f, struct slice head, const char *path,
                 const char *format, struct err *e)
{
    struct formats *s = mem_zalloc(sizeof *s);
    formats_input_init(&s->in, f, head, path);
    s->format = FORMAT_NONE;
    *out = s;
    return detect(s, format, e);
}

enum formats_kind formats_kind(const struct formats *s)
{
    return s->kind;
}

const char *formats_name(const struct formats *s)
{
    return s->kind == FORMATS_FOREIGN ? formats_format_name(s->format) : NULL;
}

bool formats_is_text(const struct formats *s)
{
    struct slice held = {(const char *)s->in.ahead.p + s->in.at, s->in.ahead.n - s->in.at};
    return held.n >= 4 && !is_capture(held);
}

bool formats_makes_bodies(const struct formats *s)
{
    return s->kind == FORMATS_FOREIGN && s->format != FORMAT_RAW_PAYLOAD &&
           s->format != FORMAT_INPUTS_JSON;
}

void formats_close(struct formats *s)
{
    if (s == NULL)
        return;
    formats_input_done(&s->in);
    free(s);
}

/* --- reading ---------------------------------------------------------------------------------- */

int formats_text(struct formats *s, size_t most, struct buf *out, struct err *e)
{
    struct slice piece;
    int rc;
    while ((rc = formats_input_peek(&s->in, 1, &piece, e)) == TA_OK && piece.n > 0) {
        struct buf *ahead = &s->in.ahead;
        size_t n = ahead->n - s->in.at;
        if (out->n + n > most || buf_add(out, ahead->p + s->in.at, n) != TA_OK)
            return err_set(e, TA_EFORMAT, "%s: larger than %zu bytes, the most that it may have",
                           s->in.path, most);
        s->in.at = ahead->n;
    }
    return rc;
}

static int read_rows(struct formats *s, struct formats_rows *r, struct err *e)
{
    struct slice text;
    int rc = TA_OK, got = 0;
    if (s->container == IN_CSV) {
        got = formats_input_line(&s->in, &text, e);
        rc = got == 1 ? formats_csv_header(r, text, e) : got;
    } else if (s->container != IN_LINES) {
        rc = formats_input_array(&s->in, s->container == IN_DATA ? "data" : NULL, e);
    }
    bool by_line = s->container == IN_CSV || s->container == IN_LINES;
    while (rc == TA_OK && (got = by_line ? formats_input_line(&s->in, &text, e)
                                         : formats_input_element(&s->in, &text, e)) == 1)
        rc = s->container == IN_CSV ? formats_csv_record(r, text, e)
                                    : formats_json_record(r, text, e);
    return rc != TA_OK ? rc : got;
}

static void say_skipped(const struct formats_rows *r, struct buf *says)
{
    static const char *const why[SKIP_KINDS] = {
        [SKIP_NO_INPUT] = "have 0 input tokens",
        [SKIP_NO_OUTPUT] = "have 0 output tokens (failed calls)",
        [SKIP_NO_TEXT] = "have no text",
        [SKIP_MEDIA] = "need images, audio or video, which are not sent",
        [SKIP_NO_HUMAN] = "have no turn of a person",
    };
    char place[48];
    for (size_t i = 0; i < SKIP_KINDS; i++) {
        if (r->skipped[i] > 0)
            formats_say(r, says, "left out: %zu rows that %s, the first in %s", r->skipped[i],
                        why[i], formats_row_place(r, r->first_skipped[i], place));
    }
    if (r->with_images > 0)
        formats_say(r, says, "%zu rows had images: they are sent as text of their length",
                    r->with_images);
    if (r->more_turns > 0)
        formats_say(r, says, "of %zu conversations the first turn is sent, not the later ones",
                    r->more_turns);
    if (r->delta_turns > 0)
        formats_say(r, says,
                    "%zu later turns are sent without the replies to the earlier ones, "
                    "which the file does not hold",
                    r->delta_turns);
    if (r->orphans > 0)
        formats_say(r, says,
                    "%zu rows name a turn before them that is not in the file: they are "
                    "sent at their time alone",
                    r->orphans);
}

static int finish(struct formats_rows *r, struct plan *out, struct buf *says, struct err *e)
{
    say_skipped(r, says);
    if (r->v.n == 0)
        return err_set(e, TA_EFORMAT, "%s: no row in it can be sent", r->in->path);
    int rc = formats_set_times(r, says, e);
    if (rc == TA_OK)
        rc = formats_make_plan(r, out, says, e);
    return rc == TA_OK ? plan_check(out, r->in->path, e) : rc;
}

int formats_read(struct formats *s, struct plan *out, const struct formats_options *o,
                 struct buf *says, struct err *e)
{
    struct formats_options options = *o;
    struct formats_rows r = {.in = &s->in,
                             .format = s->format,
                             .container = s->container,
                             .o = &options,
                             .spool = spool_new()};
    options.path = arena_text(&out->texts, slice_of(o->path));
    buf_init(&r.scratch, (size_t)LIMIT_WORKLOAD_ROW_BYTES * 2);
    formats_say(&r, says, "read as %s: %s", formats_format_name(s->format), s->why);
    int rc = read_rows(s, &r, e);
    if (rc == TA_OK)
        rc = finish(&r, out, says, e);
    VEC_FREE(&r.v);
    free(r.keys);
    buf_done(&r.scratch);
    spool_free(r.spool);
    return rc;
}
