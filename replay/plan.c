/* A plan in memory, and what must hold of it. */
#include "replay/plan.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/limits.h"

void plan_hash(struct plan_request *r)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    EVP_Digest(r->body.p, r->body.n, digest, &n, EVP_sha256(), NULL);
    for (unsigned i = 0; i < n; i++)
        snprintf(r->body_sha256 + 2 * i, 3, "%02x", digest[i]);
}

/* Is value the number n (RFC 9110, 8.6)? */
static bool is_number(const char *value, size_t n)
{
    size_t digits = strspn(value, "0123456789");
    return digits > 0 && digits < 20 && value[digits] == '\0' && strtoull(value, NULL, 10) == n;
}

/* Is chunked the last of the codings (RFC 9112, 6.1)? */
static bool ends_chunked(const char *value)
{
    const char *comma = strrchr(value, ',');
    const char *last = comma != NULL ? comma + 1 : value;
    return text_same(slice_of(last + strspn(last, " \t")), "chunked");
}

const char *plan_framing_fault(const struct plan_request *r)
{
    bool length = false, chunked = false;
    for (size_t i = 0; i < r->n_fields; i++) {
        const struct plan_field *f = &r->fields[i];
        if (text_same(slice_of(f->name), "Content-Length")) {
            if (!is_number(f->value, r->body.n))
                return "its Content-Length is not the length of its body";
            length = true;
        } else if (text_same(slice_of(f->name), "Transfer-Encoding")) {
            if (chunked || !ends_chunked(f->value))
                return "its Transfer-Encoding is not one that ends with chunked";
            chunked = true;
        }
    }
    return length && chunked ? "it has a Content-Length and a Transfer-Encoding" : NULL;
}

void plan_add(struct plan *p, const struct plan_request *r)
{
    VEC_PUSH(&p->requests, *r);
    plan_hash(&p->requests.v[p->requests.n - 1]);
}

int plan_keep_body(struct plan *p, struct slice body, struct slice *out, struct err *e)
{
    if (p->body_bytes + body.n <= LIMIT_PLAN_BODY_BYTES) {
        *out = arena_slice(&p->texts, body);
        p->body_bytes += body.n;
        return TA_OK;
    }
    if (p->bodies == NULL)
        p->bodies = spool_new();
    return spool_add(p->bodies, body, out, e);
}

const struct plan_request *plan_last(const struct plan *p)
{
    return p->requests.n > 0 ? &p->requests.v[p->requests.n - 1] : NULL;
}

const char *plan_keep_text(struct plan *p, struct slice text, const char *like)
{
    return like != NULL && slice_is(text, like) ? like : arena_text(&p->texts, text);
}

const struct plan_field *plan_keep_fields(struct plan *p, const struct plan_field *fields, size_t n)
{
    const struct plan_request *last = plan_last(p);
    size_t most = last != NULL ? last->n_fields : 0, same = 0;
    while (same < n && same < most && strcmp(fields[same].name, last->fields[same].name) == 0 &&
           strcmp(fields[same].value, last->fields[same].value) == 0)
        same++;
    if (last != NULL && same == n && same == most)
        return last->fields;
    struct plan_field *out = arena_alloc(&p->texts, (n + 1) * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const struct plan_field *like = i < most ? &last->fields[i] : NULL;
        out[i].name = plan_keep_text(p, slice_of(fields[i].name), like ? like->name : NULL);
        out[i].value = plan_keep_text(p, slice_of(fields[i].value), like ? like->value : NULL);
    }
    return out;
}

void plan_free(struct plan *p)
{
    VEC_FREE(&p->requests);
    arena_free(&p->texts);
    spool_free(p->bodies);
    p->bodies = NULL;
}

/* --- what must hold --------------------------------------------------------------------------- */

static int check_request(const struct plan *p, size_t i, size_t first, const char *place,
                         struct err *e)
{
    const struct plan_request *r = &p->requests.v[i], *head = &p->requests.v[first];
    if (r->after >= (int64_t)first)
        return err_set(e, TA_EFORMAT,
                       "%s: request %zu comes after request %" PRId64
                       "; expected one before %zu, where it or its group starts",
                       place, i, r->after, first);
    if (r->after >= 0 && p->requests.v[r->after].round != r->round)
        return err_set(e, TA_EFORMAT,
                       "%s: request %zu comes after request %" PRId64
                       " of another round; expected one of its own round, %" PRId64,
                       place, i, r->after, r->round);
    if (r->t_ns != head->t_ns || r->after != head->after || r->pause_ns != head->pause_ns ||
        r->round != head->round)
        return err_set(e, TA_EFORMAT,
                       "%s: request %zu is in group %" PRId64
                       " with request %zu, but not with the same t_ns, after, pause_ns and round",
                       place, i, r->group, first);
    if (p->concurrency > 0 && i - first >= (size_t)p->concurrency)
        return err_set(e, TA_EFORMAT,
                       "%s: group %" PRId64 " has more members than the %" PRId64
                       " requests that may be in flight",
                       place, r->group, p->concurrency);
    return TA_OK;
}

int plan_check(const struct plan *p, const char *place, struct err *e)
{
    size_t first = 0;
    int64_t last_group = -1, round = 0;
    for (size_t i = 0; i < p->requests.n; i++) {
        const struct plan_request *q = &p->requests.v[i];
        if (q->group < 0 || i == 0 || q->group != p->requests.v[i - 1].group) {
            first = i;
            if (q->group >= 0 && q->group <= last_group)
                return err_set(e, TA_EFORMAT,
                               "%s: request %zu is in group %" PRId64 " behind group %" PRId64
                               "; expected the members of a group side by side, and rising numbers",
                               place, i, q->group, last_group);
        }
        if (q->group >= 0)
            last_group = q->group;
        if (q->round < round)
            return err_set(e, TA_EFORMAT,
                           "%s: request %zu is of round %" PRId64 " behind round %" PRId64
                           "; expected rising numbers",
                           place, i, q->round, round);
        round = q->round;
        int r = check_request(p, i, first, place, e);
        if (r != TA_OK)
            return r;
    }
    return TA_OK;
}
