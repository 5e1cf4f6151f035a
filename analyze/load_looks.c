/* A request that looks like one to an LLM is one if others to the same place were. */
#include "analyze/load_looks.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

/* Who only loads a model wants no text. */
static void leave_loads(struct request *r)
{
    bool asked = r->asked.prompt_words > 0 || r->asked.media > 0;
    if (r->loaded != NULL && (r->out.n > 0 || (asked && r->loaded[0] == '\0')))
        r->loaded = NULL;
    if (r->loaded == NULL)
        return;
    r->dialect = NULL;
    r->outcome = OUTCOME_NOT_LLM;
}

/* An answer is the proof that the request was for one. Without it, what failed was one if it looks
 * enough like it, and what did not fail was none. */
static bool is_by_looks(const struct request *r, enum dialect_trust trust, bool asks)
{
    if (r->dialect == NULL || trust == DIALECT_SURE || r->out.n > 0)
        return false;
    bool error = r->outcome == OUTCOME_ERROR_EVENT;
    bool no_json = error && r->error != NULL && strcmp(r->error, "not JSON") == 0;
    if (trust == DIALECT_LIKELY && error && !no_json)
        return false;
    return error || r->outcome == OUTCOME_NO_FINISH || r->outcome == OUTCOME_SUCCESS ||
           (trust == DIALECT_LOOKS && !asks);
}

void load_looks_end(struct request *r, enum dialect_trust trust, bool asks)
{
    leave_loads(r);
    r->by_looks = is_by_looks(r, trust, asks);
}

/* A path, and who listens there. */
static uint64_t place_of(const struct request *r)
{
    struct slice path = slice_of(r->path);
    const char *query = memchr(path.p, '?', path.n);
    if (query != NULL)
        path.n = (size_t)(query - path.p);
    return model_hash(path) ^ (uint64_t)r->server_port << 48;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void load_looks_settle(struct audit *a, size_t first)
{
    struct request *v = a->requests.v;
    size_t end = a->requests.n, known = 0, looks = 0;
    for (size_t i = first; i < end; i++)
        looks += v[i].by_looks;
    if (looks == 0)
        return;
    uint64_t *places = mem_array(end - first, sizeof *places);
    for (size_t i = first; i < end; i++) {
        if (v[i].dialect != NULL && !v[i].by_looks)
            places[known++] = place_of(&v[i]);
    }
    qsort(places, known, sizeof *places, by_place);
    for (size_t i = first; i < end; i++) {
        uint64_t place = v[i].by_looks ? place_of(&v[i]) : 0;
        if (!v[i].by_looks ||
            (known > 0 && bsearch(&place, places, known, sizeof place, by_place) != NULL))
            continue;
        v[i].dialect = NULL;
        v[i].outcome = OUTCOME_NOT_LLM;
        v[i].error = NULL;
        v[i].guessed = false;
    }
    free(places);
}
