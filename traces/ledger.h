/* What a load generator meant to send and when: the lines of a ledger block (traces/FORMAT.md).
 *
 * An entry is found again on the wire by its local port and its place among the requests of that
 * connection. */
#ifndef TRACES_LEDGER_H
#define TRACES_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/arena.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"

/* What became of the request in the recording that the load was made from. Times count from that
 * recording's first request. */
struct ledger_recorded {
    int64_t conn;                      /* its connection there; -1: not known */
    int64_t t_ns, end_ns;              /* first byte; end, -1: it had none */
    int64_t status;                    /* 0: none */
    int64_t input_units, output_units; /* as the server stated its work; -1: not */
};

struct ledger_entry {
    const char *workload; /* "run_single" */
    const char *name;     /* the request's name in the workload, equal over repeats: "p3" */
    int64_t repeat;       /* 0.. */
    int64_t warmup;       /* 1: not part of the figures */
    int64_t group;        /* requests released together share it; -1: none */
    int64_t
        due_ns; /* when it should have been sent, real time; -1: as soon as its predecessor ended */
    int64_t sent_ns;    /* just before its first byte was written */
    int64_t first_ns;   /* its first response byte was read; -1: never */
    int64_t end_ns;     /* it ended, in whatever way */
    int64_t local_port; /* 0: nothing of it was sent */
    int64_t nth;        /* 0.. on that connection */
    int64_t status;     /* HTTP status, 0: none */
    const char
        *outcome; /* "complete", "refused", "reset", "timeout", "closed-early", "bad-response" … */
    const char *body_sha256; /* of the request's body as it was meant; NULL: not known */
    int64_t conn_planned;    /* requests that share it were meant for one connection; -1: for any */
    bool has_recorded;
    struct ledger_recorded recorded;
    int64_t concurrency; /* so many were meant to be in flight all the time; 0: not stated */
};

/* One JSON object into the writer. */
void ledger_write(struct jsonw *w, const struct ledger_entry *entry);

/* From one such object; texts go into a. False if a required field is missing. */
bool ledger_read(const struct json *v, struct arena *a, struct ledger_entry *out);

#endif
