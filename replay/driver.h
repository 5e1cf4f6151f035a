/* Drives a plan: who starts when, over which connections, until all have ended. */
#ifndef REPLAY_DRIVER_H
#define REPLAY_DRIVER_H

#include <stdbool.h>

#include "replay/message.h"
#include "replay/plan.h"
#include "replay/replaced.h"
#include "replay/sendlog.h"
#include "replay/target.h"
#include "traces/writer.h"

struct driver_options {
    const struct target *target; /* reached */
    struct writer *writer;
    int ledger_fd;                      /* -1: none */
    int64_t timeout_ns;                 /* of one request, from its first byte */
    const struct message_field *fields; /* added to every request */
    size_t n_fields;
    struct replaced *replaced; /* counts what is sent; NULL: nobody does */
    bool shows_progress;       /* on stderr, a terminal */
};

struct driver_report {
    struct sendlog log; /* sendlog_done is the caller's */
    uint64_t unsent;    /* requests that were never tried: the run was ended, or its time over */
    uint64_t connections, planned, moved, reopened, renewed; /* as schedule_counts has them */
    int64_t took_ns;
    bool ended_by_signal, out_of_time;
};

/* Before the trace is opened: raises the limit of descriptors (TA_ESYS, with what to do, if those
 * that the plan is sure to need are not to be had), and lets SIGINT, SIGTERM and SIGHUP wait until
 * driver_run takes them. */
int driver_prepare(const struct plan *p, struct err *e) TA_NODISCARD;

/* Runs the whole plan, or until SIGINT, SIGTERM or SIGHUP, which are blocked from then on: the
 * caller closes the trace. Requests that fail are outcomes, not errors; an error (TA_ESYS) is what
 * stops a run: the trace can't be written, the system has no timer. */
int driver_run(const struct plan *p, const struct driver_options *o, struct driver_report *out,
               struct err *e);

#endif
