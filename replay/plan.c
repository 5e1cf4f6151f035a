/* The plan as JSON lines, written and read (replay/WORKLOAD.md). */
#include "replay/plan.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "traces/base/jscan.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"
#include "traces/base/text.h"
#include "traces/limits.h"

enum { NAME_BYTES = 256, FIELD_BYTES = 16384, PATH_BYTES = 16384 };

static void sha256_hex(struct slice s, char out[65])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    EVP_Digest(s.p, s.n, digest, &n, EVP_sha256(), NULL);
    for (unsigned i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void plan_add(struct plan *p, const struct plan_request *r)
{
    VEC_PUSH(&p->requests, *r);
    sha256_hex(r->body, p->requests.v[p->requests.n - 1].body_sha256);
}

void plan_free(struct plan *p)
{
    VEC_FREE(&p->requests);
    arena_free(&p->texts);
}

static int check_request(const struct plan *p, size_t i, size_t first, const char *place,
                         struct err *e)
{
    const struct plan_request *r = &p->requests.v[i], *head = &p->requests.v[first];
    if (r->after >= (int64_t)first)
        return err_set(e, TA_EFORMAT,
                       "%s: request %zu comes after request %" PRId64
                       "; expected one before %zu, where it or its group starts",
                       place, i, r->after, first);
    if (r->t_ns != head->t_ns || r->after != head->after || r->pause_ns != head->pause_ns)
        return err_set(e, TA_EFORMAT,
                       "%s: request %zu is in group %" PRId64
                       " with request %zu, but not with the same t_ns, after and pause_ns",
                       place, i, r->group, first);
    return TA_OK;
}

int plan_check(const struct plan *p, const char *place, struct err *e)
{
    size_t first = 0;
    int64_t last_group = -1;
    for (size_t i = 0; i < p->requests.n; i++) {
        int64_t group = p->requests.v[i].group;
        if (group < 0 || i == 0 || group != p->requests.v[i - 1].group) {
            first = i;
            if (group >= 0 && group <= last_group)
                return err_set(e, TA_EFORMAT,
                               "%s: request %zu is in group %" PRId64 " behind group %" PRId64
                               "; expected the members of a group side by side, and rising numbers",
                               place, i, group, last_group);
        }
        if (group >= 0)
            last_group = group;
        int r = check_request(p, i, first, place, e);
        if (r != TA_OK)
            return r;
    }
    return TA_OK;
}

bool plan_claims(struct slice text)
{
    struct jscan s = jscan_over(text);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "path") || slice_is(key, "method"))
            return true;
        jscan_skip(&s);
    }
    return false;
}

/* May it stand in a JSON string and come back the same? A NUL would end it early in many readers.
 */
static bool is_plain_text(struct slice s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        size_t used = utf8_next((const uint8_t *)s.p + i, s.n - i, &cp);
        if (cp == 0 || (cp == 0xFFFD && used == 1))
            return false;
        i += used;
    }
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct line {
    struct plan *plan;
    const struct json *v;
    const char *path;
    size_t n; /* from 1 */
};

static int bad_line(const struct line *l, struct err *e, const char *what)
{
    return err_set(e, TA_EFORMAT, "%s, line %zu: %s", l->path, l->n, what);
}

static int read_int(const struct line *l, const char *name, int64_t least, int64_t *out,
                    struct err *e)
{
    const struct json *v = json_get(l->v, name);
    if (v == NULL || (json_kind(v) == JSON_NULL && least < 0))
        return TA_OK;
    if (!json_value_int(v, out) || *out < least)
        return err_set(e, TA_EFORMAT,
                       "%s, line %zu: '%s' is not a whole number from %" PRId64 " on", l->path,
                       l->n, name, least);
    return TA_OK;
}

/* Visible ASCII without blanks: what may stand in a request line. */
static bool is_word(const char *s, size_t most)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] >= 0x7F)
            return false;
    }
    return n > 0 && n <= most;
}

/* RFC 9110, 5.6.2. */
static bool is_http_token(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n <= NAME_BYTES &&
           strspn(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == n;
}

static bool is_field_value(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if ((c < ' ' && c != '\t') || c == 0x7F)
            return false;
    }
    return n <= FIELD_BYTES;
}

bool plan_field_allowed(const char *name, const char *value)
{
    return is_http_token(name) && is_field_value(value);
}

static const char *keep_text(const struct line *l, const char *s)
{
    return arena_text(&l->plan->texts, slice_of(s));
}

static int read_fields(const struct line *l, struct plan_request *r, struct err *e)
{
    const struct json *list = json_get(l->v, "headers");
    if (list == NULL)
        return TA_OK;
    size_t n = json_count(list);
    if (json_kind(list) != JSON_ARRAY || n > LIMIT_HTTP_FIELDS)
        return bad_line(l, e,
                        "'headers' is not an array of at most 256 pairs [\"Name\", \"value\"]");
    struct plan_field *fields = arena_alloc(&l->plan->texts, (n + 1) * sizeof *fields);
    size_t i = 0;
    for (const struct json *pair = json_first(list); pair != NULL; pair = json_next(pair), i++) {
        const struct json *first = json_first(pair);
        const char *name = first ? json_value_string(first) : NULL;
        const char *value = json_count(pair) == 2 ? json_value_string(json_next(first)) : NULL;
        if (name == NULL || value == NULL || !plan_field_allowed(name, value))
            return bad_line(l, e, "a header is not a pair [\"Name\", \"value\"] that HTTP allows");
        fields[i] = (struct plan_field){keep_text(l, name), keep_text(l, value)};
    }
    r->fields = fields;
    r->n_fields = n;
    return TA_OK;
}

/* EVP_DecodeBlock counts padding as bytes. */
static int decode_b64(const struct line *l, const char *text, struct slice *out, struct err *e)
{
    size_t n = strlen(text);
    if (n % 4 != 0 || n / 4 * 3 > LIMIT_REQUEST_BODY_BYTES)
        return bad_line(l, e, "'body_b64' is not base64 of at most 64 MiB");
    char *p = arena_alloc(&l->plan->texts, n / 4 * 3 + 1);
    int got = EVP_DecodeBlock((unsigned char *)p, (const unsigned char *)text, (int)n);
    if (got < 0)
        return bad_line(l, e, "'body_b64' is not base64");
    size_t padding = n > 0 && text[n - 1] == '=' ? (text[n - 2] == '=' ? 2 : 1) : 0;
    *out = (struct slice){p, (size_t)got - padding};
    return TA_OK;
}

static int read_body(const struct line *l, struct plan_request *r, struct err *e)
{
    const char *text = json_string(l->v, "body"), *b64 = json_string(l->v, "body_b64");
    const char *hash = json_string(l->v, "body_sha256");
    r->body = slice_of("");
    if (text != NULL && b64 != NULL)
        return bad_line(l, e, "has 'body' and 'body_b64'; expected one of them");
    if (text == NULL && json_get(l->v, "body") != NULL)
        return bad_line(l, e, "'body' is not a string: it holds the exact bytes that are sent");
    if (text != NULL && strlen(text) > LIMIT_REQUEST_BODY_BYTES)
        return bad_line(l, e, "'body' is over 64 MiB");
    if (text != NULL)
        r->body = slice_of(keep_text(l, text));
    if (b64 != NULL) {
        int rc = decode_b64(l, b64, &r->body, e);
        if (rc != TA_OK)
            return rc;
    }
    char found[65];
    sha256_hex(r->body, found);
    if (hash != NULL && !text_same(slice_of(hash), found))
        return err_set(e, TA_EFORMAT,
                       "%s, line %zu: the body's SHA-256 is %.12s…, 'body_sha256' says %.12s…; "
                       "remove it if the body was "
                       "changed on purpose",
                       l->path, l->n, found, hash);
    return TA_OK;
}

static int read_texts(const struct line *l, struct plan_request *r, struct err *e)
{
    const struct {
        const char *key, *missing;
        const char **to;
    } texts[] = {{"workload", "plan", &r->workload},
                 {"name", "request", &r->name},
                 {"method", "POST", &r->method},
                 {"path", NULL, &r->path}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *s = json_string(l->v, texts[i].key);
        *texts[i].to = s ? keep_text(l, s) : texts[i].missing;
        if (*texts[i].to == NULL || (s == NULL && json_get(l->v, texts[i].key) != NULL))
            return err_set(e, TA_EFORMAT, "%s, line %zu: '%s' is missing or no string", l->path,
                           l->n, texts[i].key);
    }
    if (strlen(r->workload) > NAME_BYTES || strlen(r->name) > NAME_BYTES)
        return bad_line(l, e, "'workload' or 'name' is over 256 bytes");
    if (!is_http_token(r->method))
        return bad_line(l, e, "'method' is not one that HTTP allows");
    if (!is_word(r->path, PATH_BYTES) || r->path[0] != '/')
        return bad_line(
            l, e,
            "'path' does not start with / or holds blanks or characters that HTTP does not allow");
    return TA_OK;
}

static int read_numbers(const struct line *l, struct plan_request *r, struct err *e)
{
    int64_t id = (int64_t)l->plan->requests.n, here = id;
    const struct {
        const char *key;
        int64_t least;
        int64_t *to;
    } numbers[] = {{"id", 0, &id},
                   {"t_ns", -1, &r->t_ns},
                   {"group", -1, &r->group},
                   {"after", -1, &r->after},
                   {"pause_ns", 0, &r->pause_ns},
                   {"repeat", 0, &r->repeat},
                   {"member", 0, &r->member},
                   {"warmup", 0, &r->warmup}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int rc = read_int(l, numbers[i].key, numbers[i].least, numbers[i].to, e);
        if (rc != TA_OK)
            return rc;
    }
    if (id != here)
        return err_set(e, TA_EFORMAT,
                       "%s, line %zu: 'id' is %" PRId64 "; expected the request's place, %" PRId64,
                       l->path, l->n, id, here);
    if (r->t_ns < 0 && r->after < 0)
        r->t_ns = 0;
    return TA_OK;
}

static int read_line(struct plan *p, struct slice text, const char *path, size_t n, struct err *e)
{
    struct err why;
    if (!is_plain_text(text)) /* written again, its names would be others */
        return err_set(e, TA_EFORMAT,
                       "%s, line %zu: is not UTF-8; a body of other bytes is 'body_b64'", path, n);
    struct json *v = json_parse(text.p, text.n, &why);
    if (v == NULL)
        return err_set(e, TA_EFORMAT, "%s, line %zu: %s", path, n, why.msg);
    struct line l = {p, v, path, n};
    struct plan_request r = {.group = -1, .t_ns = -1, .after = -1};
    int rc = json_kind(v) == JSON_OBJECT ? TA_OK : bad_line(&l, e, "is not a JSON object");
    if (rc == TA_OK)
        rc = read_numbers(&l, &r, e);
    if (rc == TA_OK)
        rc = read_texts(&l, &r, e);
    if (rc == TA_OK)
        rc = read_fields(&l, &r, e);
    if (rc == TA_OK)
        rc = read_body(&l, &r, e);
    if (rc == TA_OK)
        plan_add(p, &r);
    json_free(v);
    return rc;
}

static bool is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!isspace((unsigned char)s.p[i]))
            return false;
    }
    return true;
}

int plan_read(struct plan *out, struct slice text, const char *path, struct err *e)
{
    const char *p = text.p, *end = text.p + text.n;
    for (size_t n = 1; p < end; n++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        struct slice line = {p, (size_t)((nl ? nl : end) - p)};
        p = nl ? nl + 1 : end;
        if (is_blank(line))
            continue;
        if (out->requests.n == LIMIT_REQUESTS)
            return err_set(e, TA_ELIMIT, "%s: more than %u requests", path, LIMIT_REQUESTS);
        int rc = read_line(out, line, path, n, e);
        if (rc != TA_OK)
            return rc;
    }
    if (out->requests.n == 0)
        return err_set(e, TA_EFORMAT, "%s: a plan without a request", path);
    return plan_check(out, path, e);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_body(struct jsonw *w, const struct plan_request *r)
{
    if (is_plain_text(r->body)) {
        jsonw_slice(w, "body", r->body);
    } else {
        char *text = mem_alloc((r->body.n + 2) / 3 * 4 + 1);
        EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)r->body.p, (int)r->body.n);
        jsonw_text(w, "body_b64", text);
        free(text);
    }
    jsonw_text(w, "body_sha256", r->body_sha256);
}

void plan_write_line(const struct plan *p, size_t i, struct buf *out)
{
    const struct plan_request *r = &p->requests.v[i];
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "id", (int64_t)i);
    const struct {
        const char *key;
        int64_t v, none;
    } numbers[] = {{"t_ns", r->t_ns, -1},
                   {"group", r->group, -1},
                   {"after", r->after, -1},
                   {"pause_ns", r->pause_ns, 0}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (numbers[k].v != numbers[k].none)
            jsonw_int(&w, numbers[k].key, numbers[k].v);
    }
    jsonw_text(&w, "workload", r->workload);
    jsonw_text(&w, "name", r->name);
    jsonw_int(&w, "repeat", r->repeat);
    jsonw_int(&w, "member", r->member);
    jsonw_int(&w, "warmup", r->warmup);
    jsonw_text(&w, "method", r->method);
    jsonw_text(&w, "path", r->path);
    jsonw_array(&w, "headers");
    for (size_t k = 0; k < r->n_fields; k++) {
        jsonw_array(&w, NULL);
        jsonw_text(&w, NULL, r->fields[k].name);
        jsonw_text(&w, NULL, r->fields[k].value);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    write_body(&w, r);
    jsonw_end(&w);
    buf_puts(out, "\n");
}
