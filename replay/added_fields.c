/* Fields of the command line and of the environment. */
#include "replay/added_fields.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/redact_lines.h"

enum { SHOWN = 60 };

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && !text_same(slice_of(name), *names))
        names++;
    return *names != NULL;
}

/* Fields that say how the rest of the connection is to be read (RFC 9110, 7.6.1 and 7.8; RFC 9112,
 * 6): with another value than the one that is sent here, the server would wait for bytes that never
 * come, or take the end of a body for the next request. */
static int check_framing(const struct message_field *f, const char *origin, struct err *e)
{
    static const char *const framing[] = {"Content-Length", "Transfer-Encoding", NULL};
    static const char *const protocol[] = {"Upgrade", "HTTP2-Settings", NULL};
    if (is_one_of(f->name, framing))
        return err_set(
            e, TA_EUSAGE,
            "%s: where a body ends follows from the body; leave it out, it is sent as it "
            "has to be",
            origin);
    if (is_one_of(f->name, protocol))
        return err_set(e, TA_EUSAGE, "%s: only HTTP/1.1 is spoken here; leave it out", origin);
    if (text_same(slice_of(f->name), "Connection") && !text_same(slice_of(f->value), "close") &&
        !text_same(slice_of(f->value), "keep-alive"))
        return err_set(e, TA_EUSAGE, "%s: expected close or keep-alive, found '%.*s'", origin,
                       SHOWN, f->value);
    return TA_OK;
}

static bool has(const struct added_fields *a, const char *name)
{
    for (size_t i = 0; i < a->fields.n; i++) {
        if (text_same(slice_of(name), a->fields.v[i].name))
            return true;
    }
    return false;
}

static int add(struct added_fields *a, struct message_field f, const char *origin, struct err *e)
{
    if (!plan_field_allowed(f.name, f.value))
        return err_set(e, TA_EUSAGE, "%s: HTTP does not allow this name or value", origin);
    int rc = check_framing(&f, origin, e);
    if (rc == TA_OK && text_same(slice_of(f.name), "Host") && has(a, f.name))
        rc = err_set(e, TA_EUSAGE, "%s: HTTP allows one Host; give it once", origin);
    if (rc == TA_OK)
        VEC_PUSH(&a->fields, f);
    return rc;
}

int added_fields_headers(struct added_fields *a, const struct cli_strings *texts, struct err *e)
{
    for (size_t i = 0; i < texts->n; i++) {
        char origin[SHOWN + 16];
        const char *text = texts->v[i], *colon = strchr(text, ':');
        if (colon == NULL)
            return err_set(e, TA_EUSAGE, "--header '%.60s': expected 'NAME: VALUE'", text);
        struct slice name = {text, (size_t)(colon - text)};
        snprintf(origin, sizeof origin, "--header '%.*s'", name.n < 60 ? (int)name.n : 60, text);
        if (redact_secret_field(name))
            return err_set(
                e, TA_EUSAGE,
                "%s: a credential on the command line can be read by everyone on this "
                "machine. Put it into the environment and give --key-env '%.*s=VARIABLE'",
                origin, name.n < 60 ? (int)name.n : 60, text);
        const char *value = colon + 1 + strspn(colon + 1, " \t");
        struct message_field f = {arena_text(&a->texts, name),
                                  arena_text(&a->texts, slice_of(value)), false};
        int rc = add(a, f, origin, e);
        if (rc != TA_OK)
            return rc;
    }
    return TA_OK;
}

/* The value of the environment as the field name. The place where a credential is looked for by no
 * server, and which every log shows, is no place for one. */
static int add_key(struct added_fields *a, struct slice name, struct slice value, struct err *e)
{
    static const char *const none[] = {"Host", "Connection", "Expect", "TE", "Trailer", NULL};
    char origin[SHOWN + 16];
    struct message_field f = {arena_text(&a->texts, name), arena_text(&a->texts, value), true};
    snprintf(origin, sizeof origin, "--key-env '%.*s='", SHOWN, f.name);
    if (is_one_of(f.name, none))
        return err_set(e, TA_EUSAGE,
                       "%s: this field says how the request is read, and holds no credential",
                       origin);
    return add(a, f, origin, e);
}

/* Where the recording had it. */
static bool had_api_key(const struct replaced *replaced)
{
    for (size_t i = 0; i < replaced->names.n; i++) {
        if (text_same(slice_of(replaced->names.v[i]), "x-api-key"))
            return true;
    }
    return false;
}

int added_fields_key(struct added_fields *a, const char *key_env, const struct replaced *replaced,
                     struct err *e)
{
    const char *equals = strchr(key_env, '='), *variable = equals ? equals + 1 : key_env;
    /* The key itself, given by mistake, is not told again. */
    if (strspn(variable, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
        strlen(variable))
        return err_set(e, TA_EUSAGE,
                       "--key-env: expected the name of an environment variable, as in "
                       "--key-env OPENAI_API_KEY; what was given is no such name");
    const char *value = getenv(variable);
    if (value == NULL || value[0] == '\0')
        return err_set(
            e, TA_EUSAGE,
            "--key-env: the environment has no %.60s; export it, or name another variable",
            variable);
    if (equals != NULL)
        return add_key(a, (struct slice){key_env, (size_t)(equals - key_env)}, slice_of(value), e);
    if (had_api_key(replaced))
        return add_key(a, slice_of("x-api-key"), slice_of(value), e);
    struct buf bearer;
    buf_init(&bearer, 1u << 20);
    buf_printf(&bearer, "Bearer %s", value);
    int rc =
        add_key(a, slice_of("Authorization"), (struct slice){(const char *)bearer.p, bearer.n}, e);
    buf_done(&bearer);
    return rc;
}

void added_fields_done(struct added_fields *a)
{
    VEC_FREE(&a->fields);
    arena_free(&a->texts);
}
