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
    FIELD_TEXT,   /* const char * */
    FIELD_NUMBER, /* double */
    FIELD_WHOLE,  /* int64_t */
    FIELD_TIME,   /* int64_t ns, in the file as number of unit_ns */
    FIELD_CHOICE, /* int, the index in choices */
    FIELD_OBJECT  /* fields of its own */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset; /* in struct profile */
    bool required;
    double min, max; /* of numbers and times, in the file's unit */
    double unit_ns;
    const char *choices[3];
    const struct field *fields;
};

#define AT(member) offsetof(struct profile, member)
#define BIGGEST 1e9

/* clang-format off */
static const struct field batching_fields[] = {
    {.name = "kind", .kind = FIELD_CHOICE, .offset = AT(batching), .required = true,
     .choices = {[BATCHING_CONTINUOUS] = "continuous", [BATCHING_SERIAL] = "serial"}},
    {.name = "max", .kind = FIELD_WHOLE, .offset = AT(max_batch), .min = 1, .max = 4096},
    {.name = "slowdown", .kind = FIELD_NUMBER, .offset = AT(slowdown), .min = 0, .max = 10},
    {.name = NULL},
};

static const struct field delivery_fields[] = {
    {.name = "kind", .kind = FIELD_CHOICE, .offset = AT(delivery), .required = true,
     .choices = {[DELIVERY_STREAM] = "stream", [DELIVERY_COLLECT] = "collect-then-replay"}},
    {.name = "event_cost_us", .kind = FIELD_TIME, .offset = AT(event_cost_ns), .min = 0, .max = 1e6,
     .unit_ns = NS_PER_US},
    {.name = NULL},
};

static const struct field root_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true},
    {.name = "about", .kind = FIELD_TEXT, .offset = AT(about), .required = true},
    {.name = "model", .kind = FIELD_TEXT, .offset = AT(model), .required = true},
    {.name = "dialect", .kind = FIELD_CHOICE, .offset = AT(dialect_at), .required = true,
     .choices = {"openai-chat"}},
    {.name = "prefill_tps", .kind = FIELD_NUMBER, .offset = AT(prefill_tps), .required = true,
     .min = 0.1, .max = BIGGEST},
    {.name = "decode_tps", .kind = FIELD_NUMBER, .offset = AT(decode_tps), .required = true,
     .min = 0.1, .max = BIGGEST},
    {.name = "batching", .kind = FIELD_OBJECT, .required = true, .fields = batching_fields},
    {.name = "delivery", .kind = FIELD_OBJECT, .required = true, .fields = delivery_fields},
    {.name = "role_event", .kind = FIELD_CHOICE, .offset = AT(role_event), .required = true,
     .choices = {[ROLE_AT_ONCE] = "at-once", [ROLE_WITH_FIRST] = "with-first"}},
    {.name = "usage", .kind = FIELD_CHOICE, .offset = AT(usage), .required = true,
     .choices = {[USAGE_ASKED] = "asked", [USAGE_ALWAYS] = "always"}},
    {.name = "heartbeat_s", .kind = FIELD_TIME, .offset = AT(heartbeat_ns), .min = 0, .max = 3600,
     .unit_ns = NS_PER_S},
    {.name = "context_limit", .kind = FIELD_WHOLE, .offset = AT(context_limit), .min = 1,
     .max = BIGGEST},
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
    for (int i = 0; text != NULL && f->choices[i] != NULL; i++) {
        if (strcmp(text, f->choices[i]) == 0) {
            *to = i;
            return TA_OK;
        }
    }
    const char *second = f->choices[1];
    return err_set(in->e, TA_EFORMAT, "profile %s: %s: expected \"%s\"%s%s%s", in->path, f->name,
                   f->choices[0], second ? " or \"" : "", second ? second : "", second ? "\"" : "");
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

/* What the tables can't say. */
static int check(struct source *in)
{
    struct profile *p = in->p;
    static const struct dialect *const dialects[] = {&dialect_openai_chat};
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    p->dialect = dialects[p->dialect_at];
    if (strspn(p->name, allowed) != strlen(p->name) || strlen(p->name) > 64)
        return err_set(
            in->e, TA_EFORMAT,
            "profile %s: name: expected at most 64 letters, digits, dots, dashes and underscores",
            in->path);
    if (strlen(p->model) > 256)
        return err_set(in->e, TA_EFORMAT, "profile %s: model: expected at most 256 bytes",
                       in->path);
    if (p->batching == BATCHING_SERIAL) {
        if (p->max_batch > 1)
            return err_set(in->e, TA_EFORMAT,
                           "profile %s: batching: \"serial\" runs one at a time, not max %lld",
                           in->path, (long long)p->max_batch);
        p->max_batch = 1;
    } else if (p->max_batch == 0) {
        p->max_batch = 256;
    }
    if (p->delivery == DELIVERY_STREAM && p->event_cost_ns > 0)
        return err_set(in->e, TA_EFORMAT,
                       "profile %s: delivery: event_cost_us belongs to \"collect-then-replay\"",
                       in->path);
    return TA_OK;
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
