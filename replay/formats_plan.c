/* Rows made a plan: put in order, chained where they are turns of a session, their bodies composed.
 * Bodies are made in the order in which they will be sent, so that the spool is read forwards. */
#include "replay/formats_row.h"

#include <inttypes.h>
#include <stdlib.h>

#include "replay/filler.h"
#include "replay/workload_body.h"
#include "traces/base/units.h"
#include "traces/limits.h"

enum { USUAL_MAX_TOKENS = 256, SALT_WORDS = 8 };

static const int64_t most_t_ns = INT64_C(1) << 53; /* in a plan's line */

/* Where a row stands among the others: by time, but not before the one it comes after. */
struct place {
    int64_t key_ns;
    uint32_t row;
    bool chained;
};

struct making {
    const struct formats_rows *r;
    struct plan *plan;
    struct place *order;
    int64_t *id; /* in the plan, of a row; -1: not there */
    int64_t block_words, last_group;
    size_t usual_max;      /* rows whose output length is not known */
    struct buf text, body; /* scratch */
};

/* --- order ------------------------------------------------------------------------------------ */

/* Rows of one instant stay in the order of the file; with groups, what can be in one comes first.
 */
static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key_ns != y->key_ns)
        return x->key_ns < y->key_ns ? -1 : 1;
    if (x->chained != y->chained)
        return x->chained ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void put_in_order(struct making *m)
{
    const struct formats_rows *r = m->r;
    m->order = mem_array(r->v.n + 1, sizeof *m->order);
    for (size_t i = 0; i < r->v.n; i++) {
        const struct formats_row *row = &r->v.v[i];
        int64_t key_ns = row->t_ns;
        if (row->previous >= 0 && key_ns < m->order[row->previous].key_ns)
            key_ns = m->order[row->previous].key_ns; /* which stands earlier in the file */
        m->order[i] = (struct place){key_ns, (uint32_t)i, r->o->barrier_ties && row->previous >= 0};
    }
    if (r->timed)
        qsort(m->order, r->v.n, sizeof *m->order, compare);
}

/* --- text ------------------------------------------------------------------------------------- */

static int64_t id_at(const struct formats_row *row, size_t i)
{
    int64_t id;
    memcpy(&id, row->content.p + i * sizeof id, sizeof id);
    return id;
}

/* A text of row->in words. Equal ids are equal blocks, so that prefixes are shared as they were; a
 * row without ids shares none. */
static void make_text(struct making *m, const struct formats_row *row, const char *name)
{
    int64_t seed = m->r->o->seed, left = row->in;
    m->plan->text_is_made = true;
    m->plan->text_seed = seed;
    size_t ids = row->content.n / sizeof(int64_t);
    for (size_t i = 0; i < ids && left > 0; i++) {
        int64_t n = left < m->block_words ? left : m->block_words;
        filler_add_block(&m->text, id_at(row, i), seed, n);
        left -= n;
    }
    if (ids == 0 && left >= SALT_WORDS)
        filler_add(&m->text, name, "rows", seed, left);
    else if (left > 0)
        filler_add_block(&m->text, -1 - (int64_t)row->place, seed, left);
}

static int64_t max_tokens(struct making *m, const struct formats_row *row)
{
    if (m->r->o->max_tokens >= 0)
        return m->r->o->max_tokens;
    m->usual_max += row->out < 0;
    return row->out > 0 ? row->out : USUAL_MAX_TOKENS;
}

/* The body, in the spool of the rows already or in scratch. */
static struct slice make_body(struct making *m, const struct formats_row *row, const char *name)
{
    const struct formats_options *o = m->r->o;
    struct workload_body b = {.model = o->model,
                              .path = o->path,
                              .max_tokens = row->kind == CONTENT_BODY ? 0 : max_tokens(m, row),
                              .stream = true,
                              .include_usage = true,
                              .extra = o->extra,
                              .tools_json = row->tools,
                              .extra_json = row->extra};
    if (row->kind == CONTENT_BODY)
        return row->content;
    if (o->lengths_only)
        return slice_of("");
    buf_clear(&m->text);
    buf_clear(&m->body);
    if (row->kind == CONTENT_WORDS) {
        make_text(m, row, name);
        b.text = (struct slice){(const char *)m->text.p, m->text.n};
    } else if (row->kind == CONTENT_TEXT) {
        b.text_json = row->content;
    } else {
        b.messages_json = row->content;
    }
    workload_body_write(&b, &m->body);
    return (struct slice){(const char *)m->body.p, m->body.n};
}

/* --- requests --------------------------------------------------------------------------------- */

/* When it is due: at its time, after the turn before it, or, without times, after the last one. */
static void set_when(struct making *m, const struct formats_row *row, struct plan_request *q)
{
    const struct plan *p = m->plan;
    q->t_ns = row->t_ns;
    q->pause_ns = row->delay_ns;
    if (row->previous >= 0)
        q->after = m->id[row->previous];
    if (!m->r->timed)
        q->after = (int64_t)p->requests.n - 1;
    if (q->after < 0 && q->t_ns < 0)
        q->t_ns = 0;
    if (q->after < 0)
        q->pause_ns = 0;
}

/* A request that is due with the one before it, in a group with it. */
static void join(struct making *m, struct plan_request *q)
{
    struct plan *p = m->plan;
    if (!m->r->o->barrier_ties || !m->r->timed || q->after >= 0 || p->requests.n == 0)
        return;
    struct plan_request *last = &p->requests.v[p->requests.n - 1];
    if (last->after >= 0 || last->t_ns != q->t_ns)
        return;
    if (last->group < 0)
        last->group = ++m->last_group;
    q->group = last->group;
    q->member = last->member + 1;
}

static int add_request(struct making *m, size_t i, struct err *e)
{
    const struct formats_row *row = &m->r->v.v[i];
    const char *format = formats_format_name(m->r->format);
    struct plan_request q = PLAN_REQUEST_NONE;
    char name[64], place[48];
    if (row->t_ns > most_t_ns)
        return err_set(e, TA_ELIMIT,
                       "%s, %s: is due over 104 days after the first, the longest plan there is; "
                       "take fewer with --requests",
                       m->r->in->path, formats_row_place(m->r, row->place, place));
    snprintf(name, sizeof name, "%s-%zu-%zu", format, row->place, row->turn);
    q.workload = format;
    q.name = "row";
    q.method = "POST";
    q.path = m->r->o->path;
    if (row->kind == CONTENT_WORDS)
        q.expect_prompt_tokens = row->in;
    if (row->out > 0)
        q.expect_completion_tokens = row->out;
    set_when(m, row, &q);
    join(m, &q);
    int rc = plan_keep_body(m->plan, make_body(m, row, name), &q.body, e);
    if (rc != TA_OK)
        return rc;
    workload_body_fields(m->plan, &q, true, name);
    m->id[i] = (int64_t)m->plan->requests.n;
    plan_add(m->plan, &q);
    return TA_OK;
}

/* What will be made, said before it is: it can be more than the disk has. */
static int check_size(const struct making *m, size_t n, struct buf *says, struct err *e)
{
    const uint64_t much = UINT64_C(1) << 30;
    uint64_t bytes = 0;
    char size[32];
    for (size_t i = 0; i < n && !m->r->o->lengths_only; i++) {
        const struct formats_row *row = &m->r->v.v[m->order[i].row];
        bytes +=
            row->kind == CONTENT_WORDS ? (uint64_t)row->in * FILLER_WORD_BYTES : row->content.n;
    }
    if (bytes > LIMIT_WORKLOAD_TEXT_BYTES)
        return err_set(e, TA_ELIMIT,
                       "%s: its prompts are %s of text, more than 16 GiB; take fewer with "
                       "--requests",
                       m->r->in->path, units_bytes(bytes, size));
    if (bytes > much)
        formats_say(m->r, says,
                    "its prompts are %s of text, made now in a temporary file (in $TMPDIR, or "
                    "/var/tmp); --requests takes fewer",
                    units_bytes(bytes, size));
    return TA_OK;
}

int formats_make_plan(struct formats_rows *r, struct plan *out, struct buf *says, struct err *e)
{
    struct making m = {.r = r, .plan = out, .last_group = -1};
    size_t n = r->o->requests > 0 && r->o->requests < r->v.n ? (size_t)r->o->requests : r->v.n;
    m.block_words = formats_block_words(r, says);
    m.id = mem_array(r->v.n + 1, sizeof *m.id);
    for (size_t i = 0; i < r->v.n; i++)
        m.id[i] = -1;
    buf_init(&m.text, (size_t)LIMIT_WORKLOAD_ROW_BYTES * 2);
    buf_init(&m.body, (size_t)LIMIT_WORKLOAD_ROW_BYTES * 8);
    put_in_order(&m);
    int rc = check_size(&m, n, says, e);
    if (r->o->said != NULL)
        r->o->said(says);
    for (size_t i = 0; rc == TA_OK && i < n; i++)
        rc = add_request(&m, m.order[i].row, e);
    if (rc == TA_OK && m.usual_max > 0)
        formats_say(r, says, "%zu requests say no output length: max_tokens is %d (--max-tokens)",
                    m.usual_max, USUAL_MAX_TOKENS);
    buf_done(&m.text);
    buf_done(&m.body);
    free(m.order);
    free(m.id);
    return rc;
}
