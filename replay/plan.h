/* What is sent, and when: the long form of a workload, one request a line (replay/WORKLOAD.md). A
 * plan is a pure function of its inputs. */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include <stdbool.h>

#include "traces/base/arena.h"
#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/span.h"
#include "traces/base/vec.h"

struct plan_field {
    const char *name, *value;
};

/* May HTTP carry this field (RFC 9110, 5.1 and 5.5)? Nothing in it can end the line. */
bool plan_field_allowed(const char *name, const char *value);

struct plan_request {
    const char *workload, *name; /* as in the ledger (traces/ledger.h) */
    int64_t repeat, member, warmup;
    int64_t group;    /* members are released together and stand next to each other; -1: alone */
    int64_t t_ns;     /* due, from the start of the run; -1: only after says when */
    int64_t after;    /* place of a request in the plan: not before it, and all of its group, ended;
                         -1: none */
    int64_t pause_ns; /* … and so long after that */
    const char *method, *path;
    const struct plan_field
        *fields; /* in the order sent; Host and Content-Length are added where missing */
    size_t n_fields;
    struct slice body;
    char body_sha256[65];
};

struct plan {
    struct arena texts; /* everything textual in it */
    VEC(struct plan_request) requests;
};

/* Appends r as it is (its texts must live in p->texts or longer) with the hash of its body. */
void plan_add(struct plan *p, const struct plan_request *r);

/* TA_EFORMAT if a group is torn, its members differ in when, or after does not point back; place
 * names the plan. */
int plan_check(const struct plan *p, const char *place, struct err *e) TA_NODISCARD;

/* Is the first line of text a request of a plan? */
bool plan_claims(struct slice text);

/* Reads and checks the lines of text. path is for messages. *out is zeroed or a plan to add to;
 * free it in any case. */
int plan_read(struct plan *out, struct slice text, const char *path, struct err *e) TA_NODISCARD;

/* The line of request i, with its line end. Bodies that are no text become body_b64. */
void plan_write_line(const struct plan *p, size_t i, struct buf *out);

void plan_free(struct plan *p);

#endif
