/* What was meant and what happened, request by request: ledger blocks for the trace, the same lines
 * for a recorder around this process, and the totals for the closing words. */
#ifndef REPLAY_SENDLOG_H
#define REPLAY_SENDLOG_H

#include <stdbool.h>
#include <stdio.h>

#include "replay/plan.h"
#include "traces/base/buf.h"
#include "traces/base/jsonw.h"
#include "traces/base/vec.h"
#include "traces/ledger.h"
#include "traces/writer.h"

struct outcome_count {
    const char *outcome; /* static, as entries have it */
    uint64_t n;
};

struct sendlog {
    struct writer *w;
    int fd; /* -1: none */
    struct buf text;
    struct jsonw json;
    size_t batched;
    int64_t batch_ns; /* when the first of the batch came */

    uint64_t requests, answered, good; /* good: answered with 2xx */
    uint64_t sent;                     /* a byte of it was */
    uint64_t redirected;               /* answered with a redirect, which is not followed */
    VEC(struct outcome_count) outcomes;
    VEC(int64_t) send_error_ns; /* sent minus due, of what was due at a time */
    VEC(int64_t) skew_ns;       /* a group's last first byte minus its first */
};

void sendlog_init(struct sendlog *l, struct writer *w, int fd);
void sendlog_done(struct sendlog *l);

/* What is known of r beforehand; it ends now, and nothing of it was due or sent. */
struct ledger_entry sendlog_entry(const struct plan_request *r);

int sendlog_add(struct sendlog *l, const struct ledger_entry *entry, struct err *e);
void sendlog_group(struct sendlog *l, int64_t skew_ns);

/* The run never began: every request of p has that outcome (static). knows_bodies: those of p would
 * have been sent. */
int sendlog_add_unbegun(struct sendlog *l, const struct plan *p, const char *outcome,
                        bool knows_bodies, struct err *e) TA_NODISCARD;

/* Writes the batch if it is due (or always). */
int sendlog_flush(struct sendlog *l, bool always, struct err *e);

/* Sorts v and gives its quantile 0..1 by the nearest rank; n > 0. */
int64_t sendlog_quantile(int64_t *v, size_t n, double q);

#endif
