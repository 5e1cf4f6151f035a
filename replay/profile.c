/* Profiles of simulated servers: JSON to struct by tables. Format: replay/PROFILES.md. */
#include "replay/profile.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/clock.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/limits.h"

enum field_kind {
    FIELD_TEXT,     /* const char * */
    FIELD_NUMBER,   /* double */
    FIELD_WHOLE,    /* int64_t */
    FIELD_TIME,     /* int64_t ns, in the file as number of unit_ns */
    FIELD_CHOICE,   /* int, the index in choices */
    FIELD_BOOL,     /* bool */
    FIELD_DIALECTS, /* names; const struct dialect *[PROFILE_DIALECTS] */
    FIELD_HEADER,   /* lines of a response head; const char *, each with CRLF */
    FIELD_OBJECT    /* fields of its own */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset; /* in struct profile */
    bool required;
    double min, max; /* of numbers and times, in the file's unit */
    double unit_ns;
    const char *choices[8];
    const struct field *fields;
};

#define AT(member) offsetof(struct profile, member)
#define BIGGEST 1e9
#define LONGEST_S 86400
enum { FIELD_LINE_MAX = 1024 };

/* clang-format off */
static const struct field batching_fields[] = {
    {.name = "kind", .kind = FIELD_CHOICE, .offset = AT(batching), .required = true,
     .choices = {[BATCHING_CONTINUOUS] = "continuous", [BATCHING_SERIAL] = "serial"}},
    {.name = "max", .kind = FIELD_WHOLE, .offset = AT(max_batch), .min = 1, .max = 4096},
    {.name = "slowdown", .kind = FIELD_NUMBER, .offset = AT(slowdown), .min = -0.9, .max = 10},
    {.name = "workers", .kind = FIELD_WHOLE, .offset = AT(workers), .min = 1, .max = PROFILE_WORKERS},
    {.name = NULL},
};

static const struct field stalls_fields[] = {
    {.name = "every_s", .kind = FIELD_TIME, .offset = AT(stall_every_ns), .required = true,
     .min = 0.001, .max = LONGEST_S, .unit_ns = NS_PER_S},
    {.name = "for_s", .kind = FIELD_TIME, .offset = AT(stall_for_ns), .required = true,
     .min = 0.001, .max = LONGEST_S, .unit_ns = NS_PER_S},
    {.name = "tps", .kind = FIELD_NUMBER, .offset = AT(stall_tps), .required = true,
     .min = 0.1, .max = BIGGEST},
    {.name = NULL},
};

static const struct field delivery_fields[] = {
    {.name = "kind", .kind = FIELD_CHOICE, .offset = AT(delivery), .required = true,
     .choices = {[DELIVERY_STREAM] = "stream", [DELIVERY_COLLECT] = "collect-then-replay",
                 [DELIVERY_ONE_WRITE] = "one-write", [DELIVERY_PAIRS] = "pairs",
                 [DELIVERY_ONE_PIECE] = "one-piece", [DELIVERY_DOCUMENT] = "document"}},
    {.name = "event_cost_us", .kind = FIELD_TIME, .offset = AT(event_cost_ns), .min = 0, .max = 1e6,
     .unit_ns = NS_PER_US},
    {.name = "tokens_per_event", .kind = FIELD_WHOLE, .offset = AT(tokens_per_event), .min = 1,
     .max = 1e6},
    {.name = "blocks", .kind = FIELD_BOOL, .offset = AT(blocks)},
    {.name = NULL},
};

static const struct field thinking_fields[] = {
    {.name = "tokens", .kind = FIELD_WHOLE, .offset = AT(thinking_tokens), .required = true,
     .min = 1, .max = 1e6},
    {.name = "member", .kind = FIELD_TEXT, .offset = AT(thinking)},
    {.name = NULL},
};

static const struct field http_fields[] = {
    {.name = "framing", .kind = FIELD_CHOICE, .offset = AT(framing),
     .choices = {[FRAMING_CHUNKED] = "chunked", [FRAMING_CLOSE] = "close",
                 [FRAMING_HTTP_1_0] = "http-1.0"}},
    {.name = "event_stream", .kind = FIELD_TEXT, .offset = AT(event_stream)},
    {.name = "fields", .kind = FIELD_HEADER, .offset = AT(fields)},
    {.name = "blank_document", .kind = FIELD_BOOL, .offset = AT(blank_document)},
    {.name = NULL},
};

static const struct field keepalive_fields[] = {
    {.name = "line", .kind = FIELD_TEXT, .offset = AT(keepalive), .required = true},
    {.name = "every_s", .kind = FIELD_TIME, .offset = AT(keepalive_ns), .min = 0, .max = 3600,
     .unit_ns = NS_PER_S},
    {.name = "start", .kind = FIELD_CHOICE, .offset = AT(keepalive_start),
     .choices = {[KEEPALIVE_NO_START] = "no", [KEEPALIVE_FIRST] = "first",
                 [KEEPALIVE_SECOND] = "second"}},
    {.name = NULL},
};

static const struct field context_fields[] = {
    {.name = "limit", .kind = FIELD_WHOLE, .offset = AT(context_limit), .required = true, .min = 1,
     .max = BIGGEST},
    {.name = "error", .kind = FIELD_TEXT, .offset = AT(context_error)},
    {.name = "error_type", .kind = FIELD_TEXT, .offset = AT(context_error_type)},
    {.name = NULL},
};

static const struct field completions_fields[] = {
    {.name = "object", .kind = FIELD_TEXT, .offset = AT(completions_object)},
    {.name = "new_ids", .kind = FIELD_BOOL, .offset = AT(completions_new_ids)},
    {.name = "one_usage", .kind = FIELD_BOOL, .offset = AT(completions_one_usage)},
    {.name = NULL},
};

static const struct field anthropic_fields[] = {
    {.name = "output_only", .kind = FIELD_BOOL, .offset = AT(anthropic_output_only)},
    {.name = "says_stop", .kind = FIELD_BOOL, .offset = AT(anthropic_says_stop)},
    {.name = NULL},
};

static const struct field responses_fields[] = {
    {.name = "done", .kind = FIELD_BOOL, .offset = AT(responses_done)},
    {.name = "heartbeat", .kind = FIELD_BOOL, .offset = AT(responses_heartbeat)},
    {.name = NULL},
};

static const struct field leftover_fields[] = {
    {.name = "mb", .kind = FIELD_WHOLE, .offset = AT(leftover_mb), .required = true, .min = 1,
     .max = 1 << 20},
    {.name = "for_s", .kind = FIELD_TIME, .offset = AT(leftover_for_ns), .min = 0, .max = 3600,
     .unit_ns = NS_PER_S},
    {.name = NULL},
};

static const struct field root_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true},
    {.name = "about", .kind = FIELD_TEXT, .offset = AT(about), .required = true},
    {.name = "model", .kind = FIELD_TEXT, .offset = AT(model), .required = true},
    {.name = "dialects", .kind = FIELD_DIALECTS, .offset = AT(dialects), .required = true},
    {.name = "prefill_tps", .kind = FIELD_NUMBER, .offset = AT(prefill_tps), .required = true,
     .min = 0.1, .max = BIGGEST},
    {.name = "prefill_quadratic_ns", .kind = FIELD_NUMBER, .offset = AT(prefill_quadratic_ns),
     .min = 0, .max = 1e6},
    {.name = "decode_tps", .kind = FIELD_NUMBER, .offset = AT(decode_tps), .required = true,
     .min = 0.1, .max = BIGGEST},
    {.name = "batching", .kind = FIELD_OBJECT, .required = true, .fields = batching_fields},
    {.name = "stalls", .kind = FIELD_OBJECT, .fields = stalls_fields},
    {.name = "delivery", .kind = FIELD_OBJECT, .required = true, .fields = delivery_fields},
    {.name = "head", .kind = FIELD_CHOICE, .offset = AT(head),
     .choices = {[HEAD_WITH_ROLE] = "with-role", [HEAD_AT_ONCE] = "at-once",
                 [HEAD_ADMITTED] = "admitted"}},
    {.name = "role_event", .kind = FIELD_CHOICE, .offset = AT(role_event), .required = true,
     .choices = {[ROLE_AT_ONCE] = "at-once", [ROLE_WITH_FIRST] = "with-first",
                 [ROLE_IN_EVERY] = "none"}},
    {.name = "role_in_every", .kind = FIELD_BOOL, .offset = AT(role_in_every)},
    {.name = "usage", .kind = FIELD_CHOICE, .offset = AT(usage), .required = true,
     .choices = {[USAGE_ASKED] = "asked", [USAGE_ALWAYS] = "always",
                 [USAGE_WITH_FINISH] = "with-finish",
                 [USAGE_WITH_FINISH_AND_ASKED] = "with-finish-and-asked",
                 [USAGE_IN_EVERY] = "in-every", [USAGE_NEVER] = "never"}},
    {.name = "role_alone", .kind = FIELD_BOOL, .offset = AT(role_alone)},
    {.name = "finish_absent", .kind = FIELD_BOOL, .offset = AT(finish_absent)},
    {.name = "delta_nulls", .kind = FIELD_BOOL, .offset = AT(delta_nulls)},
    {.name = "usage_details", .kind = FIELD_CHOICE, .offset = AT(usage_details),
     .choices = {[DETAILS_REASONING] = "reasoning", [DETAILS_CACHED] = "cached",
                 [DETAILS_BOTH] = "both", [DETAILS_NONE] = "none"}},
    {.name = "usage_seconds", .kind = FIELD_BOOL, .offset = AT(usage_seconds)},
    {.name = "usage_object", .kind = FIELD_TEXT, .offset = AT(usage_object)},
    {.name = "created_per_event", .kind = FIELD_BOOL, .offset = AT(created_per_event)},
    {.name = "usage_null", .kind = FIELD_BOOL, .offset = AT(usage_null)},
    {.name = "usage_repeats_finish", .kind = FIELD_BOOL, .offset = AT(usage_repeats)},
    {.name = "says_stop", .kind = FIELD_BOOL, .offset = AT(says_stop)},
    {.name = "timings", .kind = FIELD_BOOL, .offset = AT(timings)},
    {.name = "timings_names", .kind = FIELD_CHOICE, .offset = AT(timings_names),
     .choices = {[TIMINGS_LLAMA] = "llama.cpp", [TIMINGS_MLX_SERVE] = "mlx-serve"}},
    {.name = "timings_in_every", .kind = FIELD_BOOL, .offset = AT(timings_in_every)},
    {.name = "thinking", .kind = FIELD_OBJECT, .fields = thinking_fields},
    {.name = "completions", .kind = FIELD_OBJECT, .fields = completions_fields},
    {.name = "anthropic", .kind = FIELD_OBJECT, .fields = anthropic_fields},
    {.name = "responses", .kind = FIELD_OBJECT, .fields = responses_fields},
    {.name = "http", .kind = FIELD_OBJECT, .fields = http_fields},
    {.name = "keepalive", .kind = FIELD_OBJECT, .fields = keepalive_fields},
    {.name = "context", .kind = FIELD_OBJECT, .fields = context_fields},
    {.name = "errors", .kind = FIELD_CHOICE, .offset = AT(error_shape),
     .choices = {[ERROR_DIALECT] = "dialect", [ERROR_NO_CODE] = "no-code",
                 [ERROR_STRING] = "string", [ERROR_DETAIL] = "detail"}},
    {.name = "leftover", .kind = FIELD_OBJECT, .fields = leftover_fields},
    {.name = "jitter", .kind = FIELD_NUMBER, .offset = AT(jitter), .min = 0, .max = 0.4},
    {.name = NULL},
};
/* clang-format on */

struct source {
    const char *path;
    struct profile *p;
    struct err *e;
};

static int wrong(struct source *in, const struct field *f, const char *expected)
{
    return err_set(in->e, TA_EFORMAT, "profile %s: %s: expected %s", in->path, f->name, expected);
}

static int unknown(struct source *in, const char *name, const char *what)
{
    struct buf shown;
    buf_init(&shown, LIMIT_SPEC_BYTES);
    text_terminal(&shown, slice_of(name));
    err_set(in->e, TA_EFORMAT, "profile %s: unknown field \"%.60s\" in %s; see PROFILES.md",
            in->path, buf_text(&shown), what);
    buf_done(&shown);
    return TA_EFORMAT;
}

/* A text is shown on terminals and stands in replies. */
static bool is_plain(const char *text)
{
    if (text == NULL || *text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            return false;
    }
    return true;
}

static int read_number(struct source *in, const struct field *f, const struct json *v, void *to)
{
    double x = 0;
    int64_t whole = 0;
    bool is_whole = json_value_int(v, &whole);
    if (!json_value_number(v, &x) || !(x >= f->min && x <= f->max) ||
        (f->kind == FIELD_WHOLE && !is_whole))
        return err_set(in->e, TA_EFORMAT, "profile %s: %s: expected a %snumber from %g to %g",
                       in->path, f->name, f->kind == FIELD_WHOLE ? "whole " : "", f->min, f->max);
    if (f->kind == FIELD_NUMBER)
        *(double *)to = x;
    else
        *(int64_t *)to = f->kind == FIELD_WHOLE ? whole : (int64_t)(x * f->unit_ns + 0.5);
    return TA_OK;
}

static int read_choice(struct source *in, const struct field *f, const struct json *v, int *to)
{
    const char *text = json_value_string(v);
    struct buf known;
    buf_init(&known, FIELD_LINE_MAX);
    for (int i = 0; f->choices[i] != NULL; i++) {
        if (text != NULL && strcmp(text, f->choices[i]) == 0) {
            *to = i;
            buf_done(&known);
            return TA_OK;
        }
        const char *comma = i == 0 ? "" : f->choices[i + 1] == NULL ? " or " : ", ";
        buf_printf(&known, "%s\"%s\"", comma, f->choices[i]);
    }
    err_set(in->e, TA_EFORMAT, "profile %s: %s: expected %s", in->path, f->name, buf_text(&known));
    buf_done(&known);
    return TA_EFORMAT;
}

static int unknown_dialect(struct source *in, const struct field *f)
{
    struct buf known;
    buf_init(&known, FIELD_LINE_MAX);
    for (size_t i = 0; dialect_all[i] != NULL; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", dialect_all[i]->name);
    err_set(in->e, TA_EFORMAT, "profile %s: %s: expected a list of 1 to %d of %s", in->path,
            f->name, PROFILE_DIALECTS - 1, buf_text(&known));
    buf_done(&known);
    return TA_EFORMAT;
}

static int read_dialects(struct source *in, const struct field *f, const struct json *v,
                         const struct dialect **to)
{
    size_t n = 0;
    if (json_kind(v) != JSON_ARRAY || json_count(v) == 0)
        return unknown_dialect(in, f);
    for (const struct json *at = json_first(v); at != NULL; at = json_next(at)) {
        const char *text = json_value_string(at);
        const struct dialect *d = text == NULL ? NULL : dialect_named(text);
        if (d == NULL || n + 1 == PROFILE_DIALECTS)
            return unknown_dialect(in, f);
        to[n++] = d;
    }
    return TA_OK;
}

/* "Name: value", and not one that the server's own framing says. */
static bool is_header_line(const char *text)
{
    static const char *const ours[] = {"content-type:", "content-length:", "transfer-encoding:",
                                       "connection:",   "server:",         "date:"};
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    if (!is_plain(text) || strlen(text) > FIELD_LINE_MAX)
        return false;
    size_t name = strspn(text, token);
    if (name == 0 || text[name] != ':')
        return false;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (text_same((struct slice){text, name + 1}, ours[i]))
            return false;
    }
    return true;
}

static int read_header(struct source *in, const struct field *f, const struct json *v,
                       const char **to)
{
    struct buf lines;
    bool good = json_kind(v) == JSON_ARRAY;
    buf_init(&lines, 64 << 10);
    for (const struct json *at = json_first(v); good && at != NULL; at = json_next(at)) {
        const char *text = json_value_string(at);
        good = text != NULL && is_header_line(text) &&
               buf_add(&lines, text, strlen(text)) == TA_OK && buf_add(&lines, "\r\n", 2) == TA_OK;
    }
    if (good)
        *to = arena_text(&in->p->arena, (struct slice){(const char *)lines.p, lines.n});
    buf_done(&lines);
    return good ? TA_OK
                : wrong(in, f,
                        "a list of header lines \"Name: value\", none of Content-Type, "
                        "Content-Length, Transfer-Encoding, Connection, Server, Date");
}

static int read_object(struct source *in, const struct field *fields, const char *what,
                       const struct json *object);

static int read_field(struct source *in, const struct field *f, const struct json *v)
{
    void *to = (char *)in->p + f->offset;
    switch (f->kind) {
    case FIELD_TEXT:
        if (!is_plain(json_value_string(v)))
            return wrong(in, f, "a text of one line");
        *(const char **)to = arena_text(&in->p->arena, slice_of(json_value_string(v)));
        return TA_OK;
    case FIELD_NUMBER:
    case FIELD_WHOLE:
    case FIELD_TIME:
        return read_number(in, f, v, to);
    case FIELD_CHOICE:
        return read_choice(in, f, v, to);
    case FIELD_BOOL:
        if (json_kind(v) != JSON_BOOL)
            return wrong(in, f, "true or false");
        *(bool *)to = json_value_bool(v);
        return TA_OK;
    case FIELD_DIALECTS:
        return read_dialects(in, f, v, to);
    case FIELD_HEADER:
        return read_header(in, f, v, to);
    case FIELD_OBJECT:
        return read_object(in, f->fields, f->name, v);
    }
    return TA_OK;
}

static int read_object(struct source *in, const struct field *fields, const char *what,
                       const struct json *object)
{
    if (json_kind(object) != JSON_OBJECT)
        return err_set(in->e, TA_EFORMAT, "profile %s: %s: expected an object", in->path, what);
    for (const struct json *v = json_first(object); v != NULL; v = json_next(v)) {
        const struct field *f = fields;
        while (f->name != NULL && strcmp(f->name, json_name(v)) != 0)
            f++;
        if (f->name == NULL)
            return unknown(in, json_name(v), what);
        int rc = read_field(in, f, v);
        if (rc != TA_OK)
            return rc;
    }
    for (const struct field *f = fields; f->name != NULL; f++) {
        if (f->required && json_get(object, f->name) == NULL)
            return err_set(in->e, TA_EFORMAT, "profile %s: no field \"%s\" in %s", in->path,
                           f->name, what);
    }
    return TA_OK;
}

static int contradiction(struct source *in, const char *what)
{
    return err_set(in->e, TA_EFORMAT, "profile %s: %s", in->path, what);
}

static int check_texts(struct source *in)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const struct profile *p = in->p;
    if (strspn(p->name, allowed) != strlen(p->name) || strlen(p->name) > 64)
        return contradiction(
            in, "name: expected at most 64 letters, digits, dots, dashes and underscores");
    if (strlen(p->model) > 256)
        return contradiction(in, "model: expected at most 256 bytes");
    if (p->thinking != NULL && strlen(p->thinking) > 64)
        return contradiction(in, "thinking: member: expected at most 64 bytes");
    if (p->event_stream != NULL && (strncmp(p->event_stream, "text/event-stream", 17) != 0 ||
                                    strlen(p->event_stream) > 64))
        return contradiction(in, "http: event_stream: expected \"text/event-stream\", and what may "
                                 "follow, at most 64 bytes");
    if ((p->usage_object != NULL && strlen(p->usage_object) > 64) ||
        (p->completions_object != NULL && strlen(p->completions_object) > 64))
        return contradiction(in, "usage_object, completions: object: expected at most 64 bytes");
    if ((p->context_error != NULL && strlen(p->context_error) > FIELD_LINE_MAX) ||
        (p->context_error_type != NULL && strlen(p->context_error_type) > 64))
        return contradiction(in, "context: expected a shorter error");
    if (p->keepalive != NULL &&
        (strlen(p->keepalive) > FIELD_LINE_MAX ||
         (p->keepalive[0] != ':' && strncmp(p->keepalive, "data:", 5) != 0)))
        return contradiction(in, "keepalive: line: expected a comment (\":…\") or \"data:…\", at "
                                 "most 1024 bytes");
    return TA_OK;
}

/* What the tables can't say. */
static int check(struct source *in)
{
    struct profile *p = in->p;
    if (p->batching == BATCHING_SERIAL) {
        if (p->max_batch > 1)
            return contradiction(in, "batching: \"serial\" runs one at a time: no max above 1");
        p->max_batch = 1;
    } else if (p->max_batch == 0) {
        p->max_batch = 256;
    }
    if (p->delivery != DELIVERY_COLLECT && p->event_cost_ns > 0)
        return contradiction(in, "delivery: event_cost_us belongs to \"collect-then-replay\"");
    if (p->tokens_per_event > 1 && p->delivery != DELIVERY_STREAM &&
        p->delivery != DELIVERY_COLLECT && p->delivery != DELIVERY_ONE_WRITE)
        return contradiction(in, "delivery: tokens_per_event does not go with this kind");
    if (p->blocks && p->workers > 1)
        return contradiction(in, "delivery: blocks: one process that looks at nothing else has no "
                                 "workers beside it");
    if (p->stall_for_ns > 0 && p->stall_tps > p->decode_tps)
        return contradiction(in, "stalls: tps: expected at most decode_tps");
    if (p->role_event == ROLE_AT_ONCE && p->head == HEAD_ADMITTED)
        return contradiction(in, "head: \"admitted\" comes after a role_event \"at-once\"");
    if (p->timings && p->usage_seconds)
        return contradiction(in, "usage_seconds: its clock is in the usage: no timings besides");
    if (p->leftover_mb > 0 && p->leftover_for_ns == 0)
        p->leftover_for_ns = (int64_t)60 * NS_PER_S;
    return check_texts(in);
}

bool profile_is_openai(const struct dialect *d)
{
    return d == &dialect_openai_chat || d == &dialect_openai_completions ||
           d == &dialect_openai_responses;
}

static bool is_file_name(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') != NULL || (n > 5 && strcmp(name + n - 5, ".json") == 0);
}

/* The path of a profile that tokaudit brings along: installed, or in the source tree. The caller's;
 * NULL if none. */
static char *shipped_path(const char *name, struct err *e)
{
    static const char *const folders[] = {TOKAUDIT_DATADIR "/profiles",
                                          TOKAUDIT_SOURCEDIR "/replay/profiles"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = mem_printf("%s/%s.json", folders[i], name);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    err_set(e, TA_EFORMAT,
            "no profile '%.60s': neither %s/ nor %s/ has one of that name. A file of your own is "
            "named with "
            "its path or .json",
            name, folders[0], folders[1]);
    return NULL;
}

int profile_read(const char *name, struct profile *out, struct err *e)
{
    *out = (struct profile){.name = NULL};
    char *path = is_file_name(name) ? mem_strdup(name) : shipped_path(name, e);
    if (path == NULL)
        return TA_EFORMAT;
    struct source in = {path, out, e};
    struct json *root = json_read_file(path, LIMIT_SPEC_BYTES, e);
    int rc = root == NULL ? e->code : read_object(&in, root_fields, "the profile", root);
    if (rc == TA_OK)
        rc = check(&in);
    json_free(root);
    free(path);
    return rc;
}

void profile_done(struct profile *p)
{
    arena_free(&p->arena);
}
