/* Fields of the command line and of the environment. */
#include "replay/added_fields.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/redact_lines.h"

static int add(struct added_fields *a, struct slice name, struct slice value, const char *origin,
               struct err *e)
{
    struct plan_field f = {arena_text(&a->texts, name), arena_text(&a->texts, value)};
    if (!plan_field_allowed(f.name, f.value))
        return err_set(e, TA_EUSAGE, "%s: HTTP does not allow this name or value", origin);
    VEC_PUSH(&a->fields, f);
    return TA_OK;
}

int added_fields_headers(struct added_fields *a, const struct cli_strings *texts, struct err *e)
{
    for (size_t i = 0; i < texts->n; i++) {
        char origin[96];
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
        int rc = add(a, name, slice_of(colon + 1 + strspn(colon + 1, " \t")), origin, e);
        if (rc != TA_OK)
            return rc;
    }
    return TA_OK;
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
    const char *value = getenv(variable);
    if (value == NULL || value[0] == '\0')
        return err_set(
            e, TA_EUSAGE,
            "--key-env: the environment has no %.60s; export it, or name another variable",
            variable);
    if (equals != NULL)
        return add(a, (struct slice){key_env, (size_t)(equals - key_env)}, slice_of(value),
                   "--key-env", e);
    if (had_api_key(replaced))
        return add(a, slice_of("x-api-key"), slice_of(value), "--key-env", e);
    struct buf bearer;
    buf_init(&bearer, 1u << 20);
    buf_printf(&bearer, "Bearer %s", value);
    int rc = add(a, slice_of("Authorization"), (struct slice){(const char *)bearer.p, bearer.n},
                 "--key-env", e);
    buf_done(&bearer);
    return rc;
}

void added_fields_done(struct added_fields *a)
{
    VEC_FREE(&a->fields);
    arena_free(&a->texts);
}
