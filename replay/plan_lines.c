/* The plan as JSON lines, written and read (replay/WORKLOAD.md). */
#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "replay/plan.h"
#include "traces/base/jscan.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"
#include "traces/base/text.h"
#include "traces/limits.h"

enum { PLAN_VERSION = 1, NAME_BYTES = 256, FIELD_BYTES = 16384, PATH_BYTES = 16384 };

bool plan_claims(struct slice text)
{
    struct jscan s = jscan_over(text);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "path") || slice_is(key, "method") || slice_is(key, "plan"))
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
    size_t n_lines;
};

static int bad_line(const struct line *l, struct err *e, const char *what)
{
    return err_set(e, TA_EFORMAT, "%s, line %zu: %s", l->path, l->n, what);
}

static int read_int(const struct line *l, const struct json *obj, const char *name, int64_t least,
                    int64_t *out, struct err *e)
{
    const struct json *v = json_get(obj, name);
    if (v == NULL || (json_kind(v) == JSON_NULL && least < 0))
        return TA_OK;
    if (!json_value_int(v, out) || *out < least)
        return err_set(e, TA_EFORMAT, "%s, line %zu: '%s' is not a whole number from 0 on%s",
                       l->path, l->n, name, least < 0 ? ", or left out" : "");
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

bool plan_method_allowed(const char *method)
{
    return is_http_token(method);
}

bool plan_path_allowed(const char *path)
{
    return is_word(path, PATH_BYTES) && path[0] == '/';
}

/* EVP_DecodeBlock counts padding as bytes. False: no base64. *out is the caller's. */
static bool decode_b64(const char *text, size_t most, char **out, size_t *n)
{
    size_t coded = strlen(text);
    if (coded % 4 != 0 || coded / 4 * 3 > most + 2)
        return false;
    char *p = mem_alloc(coded / 4 * 3 + 1);
    int got = EVP_DecodeBlock((unsigned char *)p, (const unsigned char *)text, (int)coded);
    if (got < 0) {
        free(p);
        return false;
    }
    size_t padding = coded > 0 && text[coded - 1] == '=' ? (text[coded - 2] == '=' ? 2 : 1) : 0;
    *n = (size_t)got - padding;
    p[*n] = '\0';
    *out = p;
    return true;
}

/* ["Name", "value"], or ["Name", null, "base64"] of a value that is no UTF-8. *kept: what was
 * decoded, the caller's, NULL for none. */
static bool read_field(const struct json *pair, struct plan_field *out, char **kept)
{
    const struct json *first = json_first(pair), *second = first ? json_next(first) : NULL;
    size_t n;
    *kept = NULL;
    if (second == NULL || json_kind(pair) != JSON_ARRAY)
        return false;
    out->name = json_value_string(first);
    out->value = json_value_string(second);
    if (json_count(pair) == 3 && json_kind(second) == JSON_NULL) {
        const char *coded = json_value_string(json_next(second));
        if (coded == NULL || !decode_b64(coded, FIELD_BYTES, kept, &n) || strlen(*kept) != n)
            return false;
        out->value = *kept;
    } else if (json_count(pair) != 2) {
        return false;
    }
    return out->name != NULL && out->value != NULL && plan_field_allowed(out->name, out->value);
}

static int read_fields(const struct line *l, struct plan_request *r, struct err *e)
{
    const struct json *list = json_get(l->v, "headers");
    if (list == NULL)
        return TA_OK;
    size_t n = json_count(list), i = 0;
    if (json_kind(list) != JSON_ARRAY || n > LIMIT_HTTP_FIELDS)
        return bad_line(l, e,
                        "'headers' is not an array of at most 256 pairs [\"Name\", \"value\"]");
    struct plan_field fields[LIMIT_HTTP_FIELDS];
    char *kept[LIMIT_HTTP_FIELDS];
    bool good = true;
    for (const struct json *pair = json_first(list); good && pair != NULL; pair = json_next(pair))
        good = read_field(pair, &fields[i], &kept[i]), i++;
    if (good)
        r->fields = plan_keep_fields(l->plan, fields, n);
    r->n_fields = n;
    while (i > 0)
        free(kept[--i]);
    return good ? TA_OK
                : bad_line(l, e, "a header is not a pair [\"Name\", \"value\"] that HTTP allows");
}

static int read_body(const struct line *l, struct plan_request *r, struct err *e)
{
    const char *text = json_string(l->v, "body"), *b64 = json_string(l->v, "body_b64");
    r->body = slice_of("");
    if (text != NULL && b64 != NULL)
        return bad_line(l, e, "has 'body' and 'body_b64'; expected one of them");
    if (text == NULL && json_get(l->v, "body") != NULL)
        return bad_line(l, e, "'body' is not a string: it holds the exact bytes that are sent");
    if (text != NULL && strlen(text) > LIMIT_REQUEST_BODY_BYTES)
        return bad_line(l, e, "'body' is over 64 MiB");
    char *decoded = NULL;
    struct slice body = slice_of(text != NULL ? text : "");
    if (b64 != NULL) {
        if (!decode_b64(b64, LIMIT_REQUEST_BODY_BYTES, &decoded, &body.n))
            return bad_line(l, e, "'body_b64' is not base64 of at most 64 MiB");
        body.p = decoded;
    }
    int rc = plan_keep_body(l->plan, body, &r->body, e);
    free(decoded);
    return rc;
}

/* Who writes a hash wants the body to be that one. r is in the plan by now. */
static int check_hash(const struct line *l, struct err *e)
{
    const char *hash = json_string(l->v, "body_sha256"), *found = plan_last(l->plan)->body_sha256;
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
    static const struct plan_request none;
    const struct plan_request *last = plan_last(l->plan) ? plan_last(l->plan) : &none;
    const struct {
        const char *key, *missing;
        const char **to;
        const char *like;
    } texts[] = {{"workload", "plan", &r->workload, last->workload},
                 {"name", "request", &r->name, last->name},
                 {"method", "POST", &r->method, last->method},
                 {"path", NULL, &r->path, last->path}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *s = json_string(l->v, texts[i].key);
        *texts[i].to = s ? plan_keep_text(l->plan, slice_of(s), texts[i].like) : texts[i].missing;
        if (*texts[i].to == NULL || (s == NULL && json_get(l->v, texts[i].key) != NULL))
            return err_set(e, TA_EFORMAT, "%s, line %zu: '%s' is missing or no string", l->path,
                           l->n, texts[i].key);
    }
    if (strlen(r->workload) > NAME_BYTES || strlen(r->name) > NAME_BYTES)
        return bad_line(l, e, "'workload' or 'name' is over 256 bytes");
    if (!plan_method_allowed(r->method))
        return bad_line(l, e, "'method' is not one that HTTP allows");
    if (!plan_path_allowed(r->path))
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
    } numbers[] = {
        {"id", 0, &id},           {"t_ns", -1, &r->t_ns},        {"group", -1, &r->group},
        {"after", -1, &r->after}, {"pause_ns", 0, &r->pause_ns}, {"round", 0, &r->round},
        {"conn", -1, &r->conn},   {"repeat", 0, &r->repeat},     {"member", 0, &r->member},
        {"warmup", 0, &r->warmup}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int rc = read_int(l, l->v, numbers[i].key, numbers[i].least, numbers[i].to, e);
        if (rc != TA_OK)
            return rc;
    }
    if (r->conn >= (int64_t)LIMIT_REQUESTS)
        return bad_line(l, e, "'conn' is not below 10000000");
    if (id != here)
        return err_set(e, TA_EFORMAT,
                       "%s, line %zu: 'id' is %" PRId64 "; expected the request's place, %" PRId64,
                       l->path, l->n, id, here);
    if (r->t_ns < 0 && r->after < 0 && l->plan->concurrency == 0)
        r->t_ns = 0;
    return TA_OK;
}

static int read_expect(const struct line *l, struct plan_request *r, struct err *e)
{
    const struct json *v = json_get(l->v, "expect");
    if (v != NULL && json_kind(v) != JSON_OBJECT)
        return bad_line(l, e, "'expect' is not an object");
    int rc = read_int(l, v, "prompt_tokens", 0, &r->expect_prompt_tokens, e);
    return rc != TA_OK ? rc
                       : read_int(l, v, "completion_tokens", 0, &r->expect_completion_tokens, e);
}

static int read_recorded(const struct line *l, struct plan_request *r, struct err *e)
{
    const struct json *v = json_get(l->v, "recorded");
    if (v == NULL || json_kind(v) == JSON_NULL)
        return TA_OK;
    if (json_kind(v) != JSON_OBJECT)
        return bad_line(l, e, "'recorded' is not an object");
    struct plan_recorded *out = arena_alloc(&l->plan->texts, sizeof *out);
    *out = (struct plan_recorded){
        .conn = -1, .t_ns = -1, .end_ns = -1, .prompt_tokens = -1, .completion_tokens = -1};
    const struct {
        const char *key;
        int64_t least, *to;
    } numbers[] = {{"conn", 0, &out->conn},
                   {"t_ns", 0, &out->t_ns},
                   {"end_ns", -1, &out->end_ns},
                   {"status", 0, &out->status},
                   {"prompt_tokens", -1, &out->prompt_tokens},
                   {"completion_tokens", -1, &out->completion_tokens}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int rc = read_int(l, v, numbers[i].key, numbers[i].least, numbers[i].to, e);
        if (rc != TA_OK)
            return rc;
    }
    if (out->conn < 0 || out->t_ns < 0)
        return bad_line(l, e, "'recorded' lacks 'conn' or 't_ns'");
    if (out->conn >= (int64_t)LIMIT_REQUESTS)
        return bad_line(l, e, "'conn' of 'recorded' is not below 10000000");
    r->recorded = out;
    return TA_OK;
}

static int read_request(const struct line *l, struct err *e)
{
    struct plan_request r = PLAN_REQUEST_NONE;
    int rc = read_numbers(l, &r, e);
    if (rc == TA_OK)
        rc = read_texts(l, &r, e);
    if (rc == TA_OK)
        rc = read_fields(l, &r, e);
    if (rc == TA_OK)
        rc = read_expect(l, &r, e);
    if (rc == TA_OK)
        rc = read_recorded(l, &r, e);
    if (rc == TA_OK)
        rc = read_body(l, &r, e);
    const char *fault = rc == TA_OK ? plan_framing_fault(&r) : NULL;
    if (fault != NULL)
        rc = bad_line(l, e, fault);
    if (rc != TA_OK)
        return rc;
    if (l->plan->requests.n == LIMIT_REQUESTS)
        return err_set(e, TA_ELIMIT, "%s: more than %u requests", l->path, LIMIT_REQUESTS);
    plan_add(l->plan, &r);
    return check_hash(l, e);
}

/* Of what was made by chance when the plan was. */
static int read_seed(const struct line *l, const char *name, bool *made, int64_t *seed,
                     struct err *e)
{
    *made = json_get(l->v, name) != NULL;
    return read_int(l, l->v, name, 0, seed, e);
}

static int read_head(const struct line *l, struct err *e)
{
    int64_t version = 0;
    int rc = l->n_lines > 0 ? bad_line(l, e, "'plan' stands in the first line only") : TA_OK;
    if (rc == TA_OK)
        rc = read_int(l, l->v, "plan", 1, &version, e);
    if (rc == TA_OK && version != PLAN_VERSION)
        rc = err_set(e, TA_EFORMAT, "%s, line %zu: 'plan' is %" PRId64 "; expected version %d",
                     l->path, l->n, version, PLAN_VERSION);
    if (rc == TA_OK)
        rc = read_int(l, l->v, "concurrency", 0, &l->plan->concurrency, e);
    if (rc == TA_OK)
        rc = read_int(l, l->v, "duration_ns", 0, &l->plan->duration_ns, e);
    if (rc == TA_OK)
        rc = read_seed(l, "text_seed", &l->plan->text_is_made, &l->plan->text_seed, e);
    if (rc == TA_OK)
        rc = read_seed(l, "arrivals_seed", &l->plan->arrivals_are_made, &l->plan->arrivals_seed, e);
    return rc;
}

/* One line without its end. n_lines: of those before it, how many were not blank. */
static int read_line(struct plan *p, struct slice text, const char *path, size_t n, size_t n_lines,
                     struct err *e)
{
    struct err why;
    if (!is_plain_text(text)) /* written again, its names would be others */
        return err_set(e, TA_EFORMAT,
                       "%s, line %zu: is not UTF-8; a body of other bytes is 'body_b64'", path, n);
    struct json *v = json_parse(text.p, text.n, &why);
    if (v == NULL)
        return err_set(e, TA_EFORMAT, "%s, line %zu: %.400s", path, n, why.msg);
    struct line l = {p, v, path, n, n_lines};
    int rc = json_kind(v) != JSON_OBJECT   ? bad_line(&l, e, "is not a JSON object")
             : json_get(v, "plan") != NULL ? read_head(&l, e)
                                           : read_request(&l, e);
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

/* Lines as they come. */
struct lines {
    struct plan *plan;
    const char *path;
    size_t n, n_lines;
    struct buf held; /* the start of a line whose end has not come yet */
};

static int take_line(struct lines *l, struct slice text, struct err *e)
{
    l->n++;
    if (is_blank(text))
        return TA_OK;
    return read_line(l->plan, text, l->path, l->n, l->n_lines++, e);
}

static int take_text(struct lines *l, struct slice text, struct err *e)
{
    const char *p = text.p, *end = text.p + text.n;
    for (const char *nl; (nl = memchr(p, '\n', (size_t)(end - p))) != NULL; p = nl + 1) {
        struct slice line = {p, (size_t)(nl - p)};
        int rc = TA_OK;
        if (l->held.n > 0) {
            rc = buf_add(&l->held, line.p, line.n);
            line = (struct slice){(const char *)l->held.p, l->held.n};
        }
        rc = rc == TA_OK ? take_line(l, line, e) : rc;
        buf_clear(&l->held);
        if (rc != TA_OK)
            return rc;
    }
    if (buf_add(&l->held, p, (size_t)(end - p)) != TA_OK)
        return err_set(e, TA_ELIMIT, "%s, line %zu: over %u bytes", l->path, l->n + 1,
                       LIMIT_PLAN_LINE_BYTES);
    return TA_OK;
}

static int lines_end(struct lines *l, int rc, struct err *e)
{
    if (rc == TA_OK && l->held.n > 0)
        rc = take_line(l, (struct slice){(const char *)l->held.p, l->held.n}, e);
    buf_done(&l->held);
    if (rc != TA_OK)
        return rc;
    if (l->plan->requests.n == 0)
        return err_set(e, TA_EFORMAT, "%s: a plan without a request", l->path);
    return plan_check(l->plan, l->path, e);
}

int plan_read(struct plan *out, struct slice text, const char *path, struct err *e)
{
    struct lines l = {.plan = out, .path = path};
    buf_init(&l.held, LIMIT_PLAN_LINE_BYTES);
    return lines_end(&l, take_text(&l, text, e), e);
}

int plan_read_file(struct plan *out, struct slice head, FILE *f, const char *path, struct err *e)
{
    enum { STEP = 1 << 16 };
    struct lines l = {.plan = out, .path = path};
    buf_init(&l.held, LIMIT_PLAN_LINE_BYTES);
    char *step = mem_alloc(STEP);
    int rc = take_text(&l, head, e);
    for (size_t n; rc == TA_OK && (n = fread(step, 1, STEP, f)) > 0;)
        rc = take_text(&l, (struct slice){step, n}, e);
    if (rc == TA_OK && ferror(f))
        rc = err_sys(e, TA_EFORMAT, "reading %s", path);
    free(step);
    return lines_end(&l, rc, e);
}

/* --- writing ---------------------------------------------------------------------------------- */

static char *encode_b64(struct slice s)
{
    char *text = mem_alloc((s.n + 2) / 3 * 4 + 1);
    EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)s.p, (int)s.n);
    return text;
}

static void write_fields(struct jsonw *w, const struct plan_request *r)
{
    jsonw_array(w, "headers");
    for (size_t i = 0; i < r->n_fields; i++) {
        struct slice value = slice_of(r->fields[i].value);
        jsonw_array(w, NULL);
        jsonw_text(w, NULL, r->fields[i].name);
        if (is_plain_text(value)) {
            jsonw_slice(w, NULL, value);
        } else {
            char *text = encode_b64(value);
            jsonw_null(w, NULL);
            jsonw_text(w, NULL, text);
            free(text);
        }
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void write_body(struct jsonw *w, const struct plan_request *r)
{
    if (is_plain_text(r->body)) {
        jsonw_slice(w, "body", r->body);
    } else {
        char *text = encode_b64(r->body);
        jsonw_text(w, "body_b64", text);
        free(text);
    }
    jsonw_text(w, "body_sha256", r->body_sha256);
}

struct number {
    const char *key;
    int64_t v, none; /* none is left out */
};

static void write_numbers(struct jsonw *w, const struct number *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (numbers[i].v != numbers[i].none)
            jsonw_int(w, numbers[i].key, numbers[i].v);
    }
}

static void write_recorded(struct jsonw *w, const struct plan_recorded *r)
{
    const struct number numbers[] = {{"conn", r->conn, -1},
                                     {"t_ns", r->t_ns, -1},
                                     {"end_ns", r->end_ns, -1},
                                     {"status", r->status, 0},
                                     {"prompt_tokens", r->prompt_tokens, -1},
                                     {"completion_tokens", r->completion_tokens, -1}};
    jsonw_object(w, "recorded");
    write_numbers(w, numbers, sizeof numbers / sizeof *numbers);
    jsonw_end(w);
}

static void write_expect(struct jsonw *w, const struct plan_request *r)
{
    const struct number numbers[] = {{"prompt_tokens", r->expect_prompt_tokens, 0},
                                     {"completion_tokens", r->expect_completion_tokens, 0}};
    jsonw_object(w, "expect");
    write_numbers(w, numbers, sizeof numbers / sizeof *numbers);
    jsonw_end(w);
}

void plan_write_head(const struct plan *p, struct buf *out)
{
    const struct number numbers[] = {
        {"concurrency", p->concurrency, 0},
        {"duration_ns", p->duration_ns, 0},
        {"text_seed", p->text_is_made ? p->text_seed : -1, -1},
        {"arrivals_seed", p->arrivals_are_made ? p->arrivals_seed : -1, -1}};
    struct jsonw w;
    if (p->concurrency == 0 && p->duration_ns == 0 && !p->text_is_made && !p->arrivals_are_made)
        return;
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "plan", PLAN_VERSION);
    write_numbers(&w, numbers, sizeof numbers / sizeof *numbers);
    jsonw_end(&w);
    buf_puts(out, "\n");
}

void plan_write_line(const struct plan *p, size_t i, struct buf *out)
{
    const struct plan_request *r = &p->requests.v[i];
    const struct number numbers[] = {{"round", r->round, 0},       {"t_ns", r->t_ns, -1},
                                     {"group", r->group, -1},      {"after", r->after, -1},
                                     {"pause_ns", r->pause_ns, 0}, {"conn", r->conn, -1}};
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "id", (int64_t)i);
    write_numbers(&w, numbers, sizeof numbers / sizeof *numbers);
    jsonw_text(&w, "workload", r->workload);
    jsonw_text(&w, "name", r->name);
    jsonw_int(&w, "repeat", r->repeat);
    jsonw_int(&w, "member", r->member);
    jsonw_int(&w, "warmup", r->warmup);
    jsonw_text(&w, "method", r->method);
    jsonw_text(&w, "path", r->path);
    write_fields(&w, r);
    write_body(&w, r);
    if (r->expect_prompt_tokens > 0 || r->expect_completion_tokens > 0)
        write_expect(&w, r);
    if (r->recorded != NULL)
        write_recorded(&w, r->recorded);
    jsonw_end(&w);
    buf_puts(out, "\n");
}
