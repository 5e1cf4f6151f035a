/* The rows of a workload file as they are gathered: texts spooled, sessions known by name. */
#include "traces/limits.h"

#include <stdlib.h>

#include "replay/formats_row.h"

static int spool(struct formats_rows *r, struct slice *s, struct err *e)
{
    return s->n > 0 ? spool_add(r->spool, *s, s, e) : TA_OK;
}

int formats_add_row(struct formats_rows *r, const struct formats_row *row, struct err *e)
{
    if (r->v.n == LIMIT_REQUESTS)
        return err_set(e, TA_ELIMIT, "%s: more than %u requests", r->in->path, LIMIT_REQUESTS);
    struct formats_row kept = *row;
    int rc = spool(r, &kept.content, e);
    if (rc == TA_OK)
        rc = spool(r, &kept.tools, e);
    if (rc == TA_OK)
        rc = spool(r, &kept.extra, e);
    if (rc == TA_OK)
        VEC_PUSH(&r->v, kept);
    return rc;
}

void formats_skip_row(struct formats_rows *r, enum formats_skip why)
{
    if (r->skipped[why]++ == 0)
        r->first_skipped[why] = r->in->in_array ? r->in->element : r->in->line;
}

/* --- sessions ---------------------------------------------------------------------------------
 */

/* FNV-1a; two of ten million names are alike with a chance of one to 400,000. */
static uint64_t hash_of(struct slice name)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < name.n; i++)
        h = (h ^ (uint8_t)name.p[i]) * 0x100000001B3u;
    return h ^ h >> 29;
}

const char *formats_row_place(const struct formats_rows *r, size_t place, char out[48])
{
    snprintf(out, 48, "%s %zu", r->in->in_array ? "element" : "line", place);
    return out;
}

void formats_say(const struct formats_rows *r, struct buf *says, const char *fmt, ...)
{
    va_list ap;
    buf_printf(says, "%s: ", r->in->path);
    va_start(ap, fmt);
    buf_vprintf(says, fmt, ap);
    va_end(ap);
    buf_puts(says, "\n");
}

/* Where a name is, or would be. The table is never full. */
static struct formats_key *place_of(struct formats_key *keys, size_t cap, uint64_t hash)
{
    size_t i = (size_t)hash & (cap - 1);
    while (keys[i].row >= 0 && keys[i].hash != hash)
        i = (i + 1) & (cap - 1);
    return &keys[i];
}

static void grow_keys(struct formats_rows *r)
{
    size_t cap = r->cap_keys > 0 ? r->cap_keys * 2 : 64;
    struct formats_key *keys = mem_array(cap, sizeof *keys);
    for (size_t i = 0; i < cap; i++)
        keys[i].row = -1;
    for (size_t i = 0; i < r->cap_keys; i++) {
        if (r->keys[i].row >= 0)
            *place_of(keys, cap, r->keys[i].hash) = r->keys[i];
    }
    free(r->keys);
    r->keys = keys;
    r->cap_keys = cap;
}

int64_t formats_session_find(const struct formats_rows *r, struct slice name)
{
    return r->cap_keys > 0 ? place_of(r->keys, r->cap_keys, hash_of(name))->row : -1;
}

void formats_session_set(struct formats_rows *r, struct slice name)
{
    if (r->n_keys * 2 >= r->cap_keys)
        grow_keys(r);
    uint64_t hash = hash_of(name);
    struct formats_key *k = place_of(r->keys, r->cap_keys, hash);
    r->n_keys += k->row < 0;
    *k = (struct formats_key){hash, (int64_t)r->v.n - 1};
}
