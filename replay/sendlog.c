/* The ledger of a run (traces/FORMAT.md, "ledger"), and its totals. */
#include "replay/sendlog.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/limits.h"

enum { BATCH = 256, BATCH_NS = 500000000 };

void sendlog_init(struct sendlog *l, struct writer *w, int fd)
{
    *l = (struct sendlog){.w = w, .fd = fd};
    buf_init(&l->text, LIMIT_CUSTOM_JSON_BYTES);
}

void sendlog_done(struct sendlog *l)
{
    buf_done(&l->text);
    VEC_FREE(&l->outcomes);
    VEC_FREE(&l->send_error_ns);
    VEC_FREE(&l->skew_ns);
}

static bool is_redirect(int64_t status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void count(struct sendlog *l, const struct ledger_entry *entry)
{
    bool answered = strcmp(entry->outcome, "complete") == 0;
    l->requests++;
    l->answered += answered;
    l->sent += entry->sent_ns >= 0;
    l->good += answered && entry->status >= 200 && entry->status < 300;
    l->redirected += answered && is_redirect(entry->status);
    if (entry->due_ns >= 0 && entry->sent_ns >= 0)
        VEC_PUSH(&l->send_error_ns, entry->sent_ns - entry->due_ns);
    for (size_t i = 0; i < l->outcomes.n; i++) {
        if (strcmp(l->outcomes.v[i].outcome, entry->outcome) == 0) {
            l->outcomes.v[i].n++;
            return;
        }
    }
    VEC_PUSH(&l->outcomes, ((struct outcome_count){entry->outcome, 1}));
}

/* The recorder around us may end first; the trace goes on. */
static void pass_on(struct sendlog *l, const struct ledger_entry *entry)
{
    struct buf line;
    struct jsonw w;
    buf_init(&line, LIMIT_CUSTOM_JSON_BYTES);
    jsonw_init(&w, &line, 0);
    ledger_write(&w, entry);
    buf_puts(&line, "\n");
    size_t at = 0;
    while (at < line.n && l->fd >= 0) {
        ssize_t n = write(l->fd, line.p + at, line.n - at);
        if (n >= 0) {
            at += (size_t)n;
        } else if (errno != EINTR) {
            log_warn("passing the ledger on to the recorder around: %s; the trace itself has it",
                     strerror(errno));
            l->fd = -1;
        }
    }
    buf_done(&line);
}

int sendlog_add(struct sendlog *l, const struct ledger_entry *entry, struct err *e)
{
    count(l, entry);
    if (l->fd >= 0)
        pass_on(l, entry);
    if (l->batched == 0) {
        buf_clear(&l->text);
        jsonw_init(&l->json, &l->text, 0);
        jsonw_object(&l->json, NULL);
        jsonw_text(&l->json, "kind", "ledger");
        jsonw_array(&l->json, "entries");
        l->batch_ns = clock_mono_ns();
    }
    ledger_write(&l->json, entry);
    l->batched++;
    return sendlog_flush(l, false, e);
}

int sendlog_flush(struct sendlog *l, bool always, struct err *e)
{
    if (l->batched == 0 ||
        (!always && l->batched < BATCH && clock_mono_ns() - l->batch_ns < BATCH_NS))
        return TA_OK;
    jsonw_end(&l->json);
    jsonw_end(&l->json);
    l->batched = 0;
    return writer_custom(l->w, (struct slice){(const char *)l->text.p, l->text.n}, e);
}

struct ledger_entry sendlog_entry(const struct plan_request *r)
{
    struct ledger_entry entry = {.workload = r->workload,
                                 .name = r->name,
                                 .repeat = r->repeat,
                                 .warmup = r->warmup,
                                 .group = r->group,
                                 .due_ns = -1,
                                 .sent_ns = -1,
                                 .first_ns = -1,
                                 .end_ns = clock_real_ns(),
                                 .body_sha256 = r->body_sha256,
                                 .conn_planned = r->conn,
                                 .has_recorded = r->recorded != NULL};
    if (r->recorded != NULL)
        entry.recorded = (struct ledger_recorded){
            r->recorded->conn,   r->recorded->t_ns,          r->recorded->end_ns,
            r->recorded->status, r->recorded->prompt_tokens, r->recorded->completion_tokens};
    return entry;
}

int sendlog_add_unbegun(struct sendlog *l, const struct plan *p, const char *outcome,
                        bool knows_bodies, struct err *e)
{
    int rc = TA_OK;
    for (size_t i = 0; rc == TA_OK && i < p->requests.n; i++) {
        struct ledger_entry entry = sendlog_entry(&p->requests.v[i]);
        entry.outcome = outcome;
        if (!knows_bodies)
            entry.body_sha256 = NULL;
        rc = sendlog_add(l, &entry, e);
    }
    return rc == TA_OK ? sendlog_flush(l, true, e) : rc;
}

void sendlog_group(struct sendlog *l, int64_t skew_ns)
{
    VEC_PUSH(&l->skew_ns, skew_ns);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t sendlog_quantile(int64_t *v, size_t n, double q)
{
    qsort(v, n, sizeof *v, by_size);
    size_t rank = (size_t)ceil(q * (double)n);
    return v[rank == 0 ? 0 : rank - 1];
}
