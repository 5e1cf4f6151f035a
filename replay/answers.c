/* Recorded exchanges by what was asked. One table: its keys are a letter for the way of matching,
 * then method, target and what of the body counts. */
#include "replay/answers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/base/mem.h"
#include "traces/redact_lines.h"
#include "traces/sha256.h"

#define uthash_malloc(size) mem_alloc(size)
#include <uthash.h>

enum { KEY_BYTES = 1 << 20, SHOWN_TARGETS = 8, SHOWN_BYTES = 200 };

/* Exchanges that the same request gets. */
struct group {
    char *key;
    VEC(size_t) items; /* in the order of their ids */
    size_t next;
    uint64_t round; /* items before next have been given more often than that */
    UT_hash_handle hh;
};

struct answers {
    const struct recording *r;
    enum answers_match match;
    uint64_t *given; /* how often each exchange was */
    struct group *groups;
    struct buf key;
    bool path_only, blanked; /* of targets: their queries were overwritten, in all or in part */
};

static const char *const match_words[] = {"body", "any-model", "order"};

bool answers_match_of(const char *word, enum answers_match *out)
{
    for (size_t i = 0; i < sizeof match_words / sizeof *match_words; i++) {
        if (strcmp(word, match_words[i]) == 0) {
            *out = (enum answers_match)i;
            return true;
        }
    }
    return false;
}

const char *answers_match_word(enum answers_match match)
{
    return match_words[match];
}

/* --- keys ----------------------------------------------------------------------------------- */

static void overwrite(void *ctx, size_t from, size_t to, enum redact_fill how)
{
    (void)how;
    memset((char *)ctx + from, '*', to - from);
}

/* A secret in a query is recorded as so many asterisks as it had bytes: any other secret is the
 * same request. */
static void put_blanked(struct buf *out, struct slice method, struct slice target)
{
    struct redact_totals totals = {0};
    uint64_t changed = 0;
    struct redact_lines lines;
    size_t n = method.n + 1 + target.n;
    char *line =
        mem_printf("%.*s %.*s HTTP/1.1\r\n", (int)method.n, method.p, (int)target.n, target.p);
    struct redact_filler filler = {line, overwrite, &totals, &changed};
    redact_lines_init(&lines, true, false);
    redact_lines_feed(&lines, (const uint8_t *)line, 0, strlen(line), &filler);
    for (size_t i = method.n + 1; i < n; i++) {
        if (line[i] != '*' || line[i - 1] != '*')
            buf_put(out, line + i, 1);
    }
    free(line);
}

static void put_target(const struct answers *a, struct buf *out, struct slice method,
                       struct slice target)
{
    const char *query = memchr(target.p, '?', target.n);
    if (query != NULL && a->path_only)
        target.n = (size_t)(query - target.p);
    if (query != NULL && a->blanked)
        put_blanked(out, method, target);
    else
        buf_put(out, target.p, target.n);
}

static void hash_text(struct buf *out, struct slice head, struct slice tail)
{
    char text[SHA256_TEXT];
    struct sha256 *sha = sha256_new();
    sha256_add(sha, head.p, head.n);
    sha256_add(sha, tail.p, tail.n);
    sha256_text(sha, text);
    sha256_free(sha);
    buf_puts(out, text);
}

/* The string that is the body's own "model", with its quotes; false: it has none. */
static bool find_model(struct slice body, struct slice *model)
{
    struct jscan s = jscan_over(body);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (!slice_is(key, "model")) {
            jscan_skip(&s);
            continue;
        }
        if (jscan_next(&s) != JT_STRING)
            return false;
        *model = (struct slice){s.text.p - 1, s.text.n + 2};
        return true;
    }
    return false;
}

/* What is asked: of a live request the hash of its body is not known yet. */
struct asked {
    struct slice method, target, body;
    const char *sha256; /* NULL: to be computed */
};

/* False: there is no such key for this body. */
static bool make_key(struct answers *a, enum answers_match by, const struct asked *q)
{
    struct slice model;
    struct buf *key = &a->key;
    if (by == ANSWERS_ANY_MODEL && !find_model(q->body, &model))
        return false;
    buf_clear(key);
    buf_printf(key, "%c%.*s ", "bmo"[by], (int)q -> method.n, q->method.p);
    put_target(a, key, q->method, q->target);
    buf_puts(key, " ");
    if (by == ANSWERS_BODY && q->sha256 != NULL) {
        buf_puts(key, q->sha256);
    } else if (by == ANSWERS_BODY) {
        hash_text(key, q->body, (struct slice){"", 0});
    } else if (by == ANSWERS_ANY_MODEL) {
        const char *behind = model.p + model.n;
        hash_text(key, (struct slice){q->body.p, (size_t)(model.p - q->body.p)},
                  (struct slice){behind, (size_t)(q->body.p + q->body.n - behind)});
    }
    return true;
}

/* --- the table ------------------------------------------------------------------------------ */

static struct group *find(const struct answers *a)
{
    struct group *g;
    HASH_FIND(hh, a->groups, a->key.p, (unsigned)a->key.n, g);
    return g;
}

static void add(struct answers *a, size_t item)
{
    struct group *g = find(a);
    if (g == NULL) {
        g = mem_zalloc(sizeof *g);
        g->key = mem_strndup((const char *)a->key.p, a->key.n);
        HASH_ADD_KEYPTR(hh, a->groups, g->key, (unsigned)a->key.n, g);
    }
    VEC_PUSH(&g->items, item);
}

struct answers *answers_new(const struct recording *r, enum answers_match match)
{
    struct answers *a = mem_zalloc(sizeof *a);
    a->r = r;
    a->match = match;
    a->given = mem_array(r->exchanges.n + 1, sizeof *a->given);
    a->path_only = r->redacted != NULL && strcmp(r->redacted, "bodies") == 0;
    a->blanked = r->redacted != NULL && !a->path_only;
    buf_init(&a->key, KEY_BYTES);
    for (size_t i = 0; i < r->exchanges.n; i++) {
        const struct recording_exchange *x = &r->exchanges.v[i];
        struct asked q = {x->method, x->target, x->body, x->body_sha256};
        if (x->request_flaw == RECORDING_WHOLE && make_key(a, ANSWERS_BODY, &q))
            add(a, i);
        if (x->request_flaw == RECORDING_WHOLE && make_key(a, ANSWERS_ANY_MODEL, &q))
            add(a, i);
        if (make_key(a, ANSWERS_ORDER, &q))
            add(a, i);
    }
    return a;
}

void answers_free(struct answers *a)
{
    struct group *g, *after;
    if (a == NULL)
        return;
    HASH_ITER(hh, a->groups, g, after) {
        HASH_DEL(a->groups, g);
        VEC_FREE(&g->items);
        free(g->key);
        free(g);
    }
    buf_done(&a->key);
    free(a->given);
    free(a);
}

/* The next of a group that has not been given in this round, be it by another group. */
static size_t take(struct answers *a, struct group *g)
{
    for (;; g->next++) {
        if (g->next == g->items.n) { /* the next round begins with those given least often */
            g->next = 0;
            g->round = UINT64_MAX;
            for (size_t i = 0; i < g->items.n; i++) {
                if (a->given[g->items.v[i]] < g->round)
                    g->round = a->given[g->items.v[i]];
            }
        }
        size_t item = g->items.v[g->next];
        if (a->given[item] <= g->round) {
            g->next++;
            a->given[item]++;
            return item;
        }
    }
}

/* --- no answer ------------------------------------------------------------------------------ */

static size_t count(struct answers *a, enum answers_match by, const struct asked *q)
{
    const struct group *g = make_key(a, by, q) ? find(a) : NULL;
    return g != NULL ? g->items.n : 0;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* "POST /v1/chat/completions (12), GET /v1/models (1)" */
static void put_targets(const struct answers *a, struct buf *out)
{
    size_t shown = 0, all = 0;
    for (const struct group *g = a->groups; g != NULL; g = g->hh.next) {
        if (g->key[0] != 'o' || all++ >= SHOWN_TARGETS)
            continue;
        int n = g->hh.keylen - 2 < SHOWN_BYTES ? (int)g->hh.keylen - 2 : SHOWN_BYTES;
        buf_printf(out, "%s%.*s (%zu)", shown++ > 0 ? ", " : "", n, g->key + 1, g->items.n);
    }
    if (all > shown)
        buf_printf(out, " and %zu more", all - shown);
}

static const char *other_method(const struct answers *a, const struct asked *q, struct buf *room,
                                size_t *n)
{
    for (const struct group *g = a->groups; g != NULL; g = g->hh.next) {
        const char *target = strchr(g->key, ' ');
        if (g->key[0] != 'o' || target == NULL)
            continue;
        buf_clear(room);
        put_target(a, room, q->method, q->target);
        size_t left = g->hh.keylen - (size_t)(target + 1 - g->key);
        if (left == room->n + 1 && memcmp(target + 1, room->p, room->n) == 0) {
            *n = g->items.n;
            buf_clear(room);
            buf_put(room, g->key + 1, (size_t)(target - g->key - 1));
            return buf_text(room);
        }
    }
    return NULL;
}

static void say_why(struct answers *a, const struct asked *q, struct buf *why)
{
    int method_n = q->method.n < 32 ? (int)q->method.n : 32;
    int target_n = q->target.n < SHOWN_BYTES ? (int)q->target.n : SHOWN_BYTES;
    size_t same = count(a, ANSWERS_ORDER, q), n = 0;
    buf_printf(why, "no recorded answer to %.*s %.*s", method_n, q->method.p, target_n,
               q->target.p);
    if (same == 0) {
        struct buf room;
        buf_init(&room, KEY_BYTES);
        const char *method = other_method(a, q, &room, &n);
        if (method != NULL)
            buf_printf(why, ": that path was recorded with %s (%zu time%s)", method, n, plural(n));
        else
            buf_printf(why, ": the path was never asked. Recorded are ");
        if (method == NULL)
            put_targets(a, why);
        buf_done(&room);
        return;
    }
    buf_puts(why, " with this body (");
    buf_printf(why, "%zu bytes, SHA-256 ", q->body.n);
    hash_text(why, q->body, (struct slice){"", 0});
    buf_printf(why, "): the %zu recorded there had %s", same,
               a->path_only ? "bodies whose text was overwritten before it was written down"
                            : "other ones");
    size_t but_model = a->match < ANSWERS_ANY_MODEL ? count(a, ANSWERS_ANY_MODEL, q) : 0;
    if (but_model > 0)
        buf_printf(why,
                   ", %zu of which differ%s in the model's name alone: --match any-model "
                   "takes them",
                   but_model, but_model == 1 ? "s" : "");
    else
        buf_puts(why, "; --match order answers in the recorded order, whatever the body");
}

struct answers_found answers_find(struct answers *a, struct slice method, struct slice target,
                                  struct slice body, struct buf *why)
{
    const struct asked q = {method, target, body, NULL};
    for (int by = ANSWERS_BODY; by <= (int)a->match; by++) {
        struct group *g = make_key(a, (enum answers_match)by, &q) ? find(a) : NULL;
        if (g == NULL)
            continue;
        size_t item = take(a, g);
        return (struct answers_found){&a->r->exchanges.v[item], (enum answers_match)by,
                                      a->given[item] > 1};
    }
    say_why(a, &q, why);
    return (struct answers_found){.by = a->match};
}
