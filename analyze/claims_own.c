/* Our own form: entries of {metric, value, unit, stat, scope, request, tool}, as a JSON array, JSON
 * lines or CSV. An entry is the text of a --claim in pieces, and is read as one. An object whose
 * members are claims by their names, as small harnesses print it ({"gen_tps_p50": 14647}), is taken
 * too. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/claims_file.h"
#include "analyze/claims_json.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

enum field { METRIC, VALUE, UNIT, STAT, SCOPE, REQUEST, TOOL, FIELDS };
enum { FIELD_BYTES = 64, COLUMNS_MOST = 64 };

static const char *const names[FIELDS] = {"metric", "value",   "unit", "stat",
                                          "scope",  "request", "tool"};

struct claims_own {
    struct audit *a;
    const char *path;
    char fields[FIELDS][FIELD_BYTES]; /* "": not there */
    bool has_header;
    int columns[COLUMNS_MOST]; /* which field; -1: none */
    size_t columns_n;
    size_t before; /* claims before this object */
};

struct claims_own *claims_own_new(struct audit *a, const char *path)
{
    struct claims_own *o = mem_zalloc(sizeof *o);
    o->a = a;
    o->path = path;
    return o;
}

void claims_own_free(struct claims_own *o)
{
    free(o);
}

static int bad(const struct claims_own *o, size_t line, struct err *e, const char *what)
{
    return err_set(e, TA_EFORMAT, "%s, line %zu: %s", o->path, line, what);
}

/* An entry is whole. */
static int add(struct claims_own *o, size_t line, struct err *e)
{
    char text[FIELDS * FIELD_BYTES];
    char(*f)[FIELD_BYTES] = o->fields;
    struct err why;
    if (f[METRIC][0] == '\0' || f[VALUE][0] == '\0')
        return bad(o, line, e, "an entry needs 'metric' and 'value'");
    if (o->a->claims.n >= LIMIT_CLAIMS)
        return err_set(e, TA_ELIMIT, "%s, line %zu: more than %u claims in all; split them",
                       o->path, line, LIMIT_CLAIMS);
    bool of_request = f[REQUEST][0] != '\0' && strcmp(f[REQUEST], "0") != 0;
    if (of_request && strcmp(f[SCOPE], "run") == 0)
        return bad(o, line, e, "the scope is 'run', and a request is named");
    if (!of_request && strcmp(f[SCOPE], "request") == 0)
        return bad(o, line, e, "the scope is 'request', and none is named");
    bool stated = f[STAT][0] != '\0' && strcmp(f[STAT], "value") != 0;
    snprintf(text, sizeof text, "%s%s%s%s%s=%s%s", f[METRIC], stated ? "." : "",
             stated ? f[STAT] : "", of_request ? "@" : "", of_request ? f[REQUEST] : "", f[VALUE],
             f[UNIT]);
    if (claims_add(o->a, text, &why) != TA_OK)
        return bad(o, line, e, why.msg);
    struct claim *c = &o->a->claims.v[o->a->claims.n - 1];
    bool named = f[SCOPE][0] != '\0' && strcmp(f[SCOPE], "run") != 0 && !of_request;
    c->file = o->path;
    if (named) /* figures of one scope only are held against each other */
        c->file = audit_printf(o->a, "%s (%s)", o->path, f[SCOPE]);
    if (f[TOOL][0] == '\0')
        return TA_OK;
    c->tool = arena_text(&o->a->texts, slice_of(f[TOOL]));
    c->basis = claim_basis_of(o->a, tool_named(slice_of(f[TOOL])), c->metric);
    return TA_OK;
}

static int set(struct claims_own *o, enum field i, struct slice text, size_t line, struct err *e)
{
    char what[96];
    if (text.n >= FIELD_BYTES) {
        snprintf(what, sizeof what, "'%s' is longer than %d bytes", names[i], FIELD_BYTES - 1);
        return bad(o, line, e, what);
    }
    memcpy(o->fields[i], text.p, text.n);
    o->fields[i][text.n] = '\0';
    return TA_OK;
}

/* A member that is a claim by its name: of an object that is one entry it is none. */
static int add_member(struct claims_own *o, const char *name, struct slice value, size_t line,
                      struct err *e)
{
    char text[FIELDS * FIELD_BYTES];
    struct slice key = slice_of(name), unit;
    if (!claim_key(&key, &unit) && claim_name_find(name) == NULL)
        return TA_OK;
    if (o->a->claims.n >= LIMIT_CLAIMS)
        return err_set(e, TA_ELIMIT, "%s, line %zu: more than %u claims in all; split them",
                       o->path, line, LIMIT_CLAIMS);
    snprintf(text, sizeof text, "%.*s=%.*s%.*s", (int)key.n, key.p, (int)value.n, value.p,
             (int)unit.n, unit.p);
    if (claims_add(o->a, text, NULL) == TA_OK) /* a time without its unit says nothing */
        o->a->claims.v[o->a->claims.n - 1].file = o->path;
    return TA_OK;
}

/* The object has ended. */
static int finish(struct claims_own *o, size_t line, struct err *e)
{
    if (o->fields[METRIC][0] == '\0' && o->a->claims.n > o->before)
        return TA_OK;
    o->a->claims.n = o->before;
    return add(o, line, e);
}

int claims_own_value(struct claims_own *o, const struct claims_json_value *v, size_t line,
                     struct err *e)
{
    bool in_array = strncmp(v->path, "[]", 2) == 0;
    if (v->object && v->depth == (in_array ? 1u : 0u)) {
        if (v->kind == CLAIMS_JSON_BEGIN) {
            memset(o->fields, 0, sizeof o->fields);
            o->before = o->a->claims.n;
            return TA_OK;
        }
        if (v->kind == CLAIMS_JSON_END)
            return finish(o, line, e);
    }
    const char *name = in_array ? v->path + (v->path[2] == '.' ? 3 : 2) : v->path;
    if (v->kind != CLAIMS_JSON_STRING && v->kind != CLAIMS_JSON_NUMBER)
        return TA_OK; /* null: not there */
    if (v->depth != (in_array ? 2u : 1u))
        return v->depth == 0 || *name == '\0' ? bad(o, line, e, "expected an object") : TA_OK;
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(name, names[i]) == 0)
            return set(o, (enum field)i, v->text, line, e);
    }
    return v->kind == CLAIMS_JSON_NUMBER && v->text.n < FIELD_BYTES && strlen(name) < FIELD_BYTES
               ? add_member(o, name, v->text, line, e)
               : TA_OK;
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* The next cell, blanks around it and quotes left out; *rest goes on behind its comma. False at the
 * end. */
static bool next_cell(struct slice *rest, struct slice *cell, bool *more)
{
    if (!*more)
        return false;
    const char *p = rest->p, *end = rest->p + rest->n;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < end && *p == '"') {
        const char *close = memchr(p + 1, '"', (size_t)(end - p - 1));
        const char *stop = close != NULL ? close : end;
        *cell = (struct slice){p + 1, (size_t)(stop - p - 1)};
        p = stop;
    } else {
        *cell = (struct slice){p, 0};
    }
    const char *comma = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
    const char *stop = comma != NULL ? comma : end;
    if (cell->p == p)
        cell->n = (size_t)(stop - p);
    while (cell->n > 0 && (cell->p[cell->n - 1] == ' ' || cell->p[cell->n - 1] == '\t'))
        cell->n--;
    *more = comma != NULL;
    *rest = comma != NULL ? (struct slice){comma + 1, (size_t)(end - comma - 1)}
                          : (struct slice){end, 0};
    return true;
}

static int field_named(struct slice name)
{
    for (int i = 0; i < FIELDS; i++) {
        if (slice_is(name, names[i]))
            return i;
    }
    return -1;
}

bool claims_own_header(struct slice text)
{
    struct slice cell;
    bool more = true, metric = false, value = false;
    const char *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    struct slice line = {text.p, end != NULL ? (size_t)(end - text.p) : text.n};
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    while (next_cell(&line, &cell, &more)) {
        metric |= slice_is(cell, "metric");
        value |= slice_is(cell, "value");
    }
    return metric && value;
}

int claims_own_csv(struct claims_own *o, struct slice line, size_t number, struct err *e)
{
    struct slice cell;
    bool more = true;
    int rc = TA_OK;
    size_t i = 0;
    if (line.n == 0)
        return TA_OK;
    if (!o->has_header) {
        o->has_header = true;
        while (next_cell(&line, &cell, &more) && o->columns_n < COLUMNS_MOST)
            o->columns[o->columns_n++] = field_named(cell);
        return TA_OK;
    }
    memset(o->fields, 0, sizeof o->fields);
    while (rc == TA_OK && next_cell(&line, &cell, &more)) {
        if (i < o->columns_n && o->columns[i] >= 0)
            rc = set(o, (enum field)o->columns[i], cell, number, e);
        i++;
    }
    return rc == TA_OK ? add(o, number, e) : rc;
}
