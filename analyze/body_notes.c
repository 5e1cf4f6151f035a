/* The hashes of bodies that were overwritten, brought back to their requests. */
#include "analyze/body_notes.h"

#include <stdlib.h>
#include <string.h>

enum { SHA256_DIGITS = 64 };

/* The port behind the last colon of "127.0.0.1:40000"; 0: none. */
static uint16_t port_of(const char *endpoint)
{
    const char *colon = endpoint != NULL ? strrchr(endpoint, ':') : NULL;
    unsigned port = 0;
    if (colon == NULL)
        return 0;
    for (const char *p = colon + 1; *p >= '0' && *p <= '9' && port <= UINT16_MAX; p++)
        port = port * 10 + (unsigned)(*p - '0');
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static bool read_one(const struct json *v, struct arena *texts, struct body_note *out)
{
    const char *sha256 = json_string(v, "sha256");
    out->port = port_of(json_string(v, "client"));
    if (out->port == 0 || sha256 == NULL || strlen(sha256) != SHA256_DIGITS ||
        !json_ns(v, "t_ns", &out->t_ns) || !json_int(v, "nth", &out->nth))
        return false;
    out->sha256 = arena_text(texts, slice_of(sha256));
    return true;
}

uint64_t body_notes_read(struct body_notes *b, const struct json *block, struct arena *texts)
{
    uint64_t unread = 0;
    const struct json *list = json_get(block, "requests");
    for (const struct json *v = json_first(list); v != NULL; v = json_next(v)) {
        struct body_note note;
        if (read_one(v, texts, &note))
            VEC_PUSH(&b->all, note);
        else
            unread++;
    }
    return unread;
}

static int by_place(const void *a, const void *b)
{
    const struct body_note *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return (x->nth > y->nth) - (x->nth < y->nth);
}

void body_notes_join(struct body_notes *b, struct audit *a, size_t first)
{
    if (b->all.n == 0)
        return;
    qsort(b->all.v, b->all.n, sizeof *b->all.v, by_place);
    for (size_t i = first; i < a->requests.n; i++) {
        struct request *r = &a->requests.v[i];
        struct body_note key = {r->t0, (int64_t)r->nth, r->client_port, NULL};
        const struct body_note *note =
            bsearch(&key, b->all.v, b->all.n, sizeof *b->all.v, by_place);
        if (note != NULL && r->body_sha256 != NULL)
            r->body_sha256 = note->sha256;
    }
}

void body_notes_done(struct body_notes *b)
{
    VEC_FREE(&b->all);
}
