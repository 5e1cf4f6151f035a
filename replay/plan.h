/* What is sent, and when: the long form of a workload, one request a line (replay/WORKLOAD.md). A
 * plan is a pure function of its inputs. It may be larger than memory: long bodies are spooled. */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include <stdbool.h>
#include <stdio.h>

#include "replay/spool.h"
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

/* The same of a method, and of a path: it begins with / and holds visible ASCII only. */
bool plan_method_allowed(const char *method);
bool plan_path_allowed(const char *path);

/* What became of the request in the recording that it was taken from. Times count from that
 * recording's first request. */
struct plan_recorded {
    int64_t conn;         /* its connection there */
    int64_t t_ns, end_ns; /* first request byte; end of the exchange, -1: it had none */
    int64_t status;       /* 0: none came */
    int64_t prompt_tokens, completion_tokens; /* as the server stated them; -1: not */
};

/* What of a request is not as it was recorded; a bit each. */
enum plan_change {
    PLAN_HOST = 1 << 0,          /* it had one, and gets the target's */
    PLAN_OTHER_HOST = 1 << 1,    /* … which was not that of the first */
    PLAN_MODEL = 1 << 2,         /* replaced */
    PLAN_OTHER_MODEL = 1 << 3,   /* … where another stood than in the first */
    PLAN_WITHOUT_MODEL = 1 << 4, /* could not be: it names none, or the body has a coding */
    PLAN_CREDENTIALS = 1 << 5,   /* fields of credentials were left out */
    PLAN_PARAMETERS = 1 << 6,    /* its query had a credential, left out likewise */
    PLAN_ABSOLUTE = 1 << 7,      /* it went to a proxy, with a whole URL: sent with its path */
    PLAN_CHUNKED = 1 << 8        /* its body came in chunks: sent as one */
};
enum { PLAN_CHANGES = 9 };

struct plan_request {
    const char *workload, *name; /* as in the ledger (traces/ledger.h) */
    int64_t repeat, member, warmup;
    int64_t group;    /* members are released together and stand next to each other; -1: alone */
    int64_t round;    /* starts when all of the round before have ended; upwards from 0 */
    int64_t t_ns;     /* due, from the start of its round; -1: only after says when, or there is
                         room (concurrency) */
    int64_t after;    /* place of a request of its round in the plan: not before it, and all of its
                         group, ended; -1: none */
    int64_t pause_ns; /* … and so long after that */
    int64_t conn;     /* requests of one go over one connection, in their order; -1: any */
    int64_t expect_prompt_tokens, expect_completion_tokens; /* what the workload asks for; 0: it
                                                               does not say */
    const char *method, *path;
    const struct plan_field
        *fields; /* in the order sent; Host and Content-Length are added where missing */
    size_t n_fields;
    struct slice body;
    char body_sha256[65];
    const struct plan_recorded *recorded; /* NULL: of no recording */
    unsigned changes;                     /* enum plan_change */
};

/* A request that says nothing: alone, of no group, connection or recording. */
#define PLAN_REQUEST_NONE ((struct plan_request){.group = -1, .t_ns = -1, .after = -1, .conn = -1})

struct plan {
    struct arena texts;   /* everything textual in it, and bodies while they are few */
    struct spool *bodies; /* the others; NULL until there are any */
    uint64_t body_bytes;  /* in texts */
    VEC(struct plan_request) requests;
    int64_t concurrency; /* at most so many in flight, a group never in part; 0: no limit */
    int64_t duration_ns; /* nothing is started later than this after the start; 0: no limit */
    bool text_is_made, arrivals_are_made; /* by chance, … */
    int64_t text_seed, arrivals_seed;     /* … from this */
};

/* Appends r as it is (its texts and body must live in p or longer) with the hash of its body. */
void plan_add(struct plan *p, const struct plan_request *r);

/* NULL, or what in the fields of r says another end of its body than it has: such a request would
 * make the server wait, or read its rest as another. Static, to stand behind "line 3: ". */
const char *plan_framing_fault(const struct plan_request *r);

/* Computes body_sha256 of r. */
void plan_hash(struct plan_request *r);

/* A copy of body that lives as long as p: in memory, or spooled once there are more than
 * LIMIT_PLAN_BODY_BYTES. TA_ESYS, TA_ELIMIT as spool_add. */
int plan_keep_body(struct plan *p, struct slice body, struct slice *out, struct err *e)
    TA_NODISCARD;

/* Copies that live as long as p; what equals the same of the last request is shared with it. like:
 * that text of it, or NULL. */
const char *plan_keep_text(struct plan *p, struct slice text, const char *like);
const struct plan_field *plan_keep_fields(struct plan *p, const struct plan_field *fields,
                                          size_t n);

/* The last request, NULL if there is none. */
const struct plan_request *plan_last(const struct plan *p);

/* TA_EFORMAT if a group or a round is torn, members of a group differ in when, after does not point
 * back, or a group has more members than concurrency allows; place names the plan. */
int plan_check(const struct plan *p, const char *place, struct err *e) TA_NODISCARD;

/* Is the first line of text one of a plan? It may be cut. */
bool plan_claims(struct slice text);

/* Reads and checks the lines of text. path is for messages. *out is zeroed or a plan to add to;
 * free it in any case. */
int plan_read(struct plan *out, struct slice text, const char *path, struct err *e) TA_NODISCARD;

/* The same of head, which was read from f already, and the rest of f; a line at a time. */
int plan_read_file(struct plan *out, struct slice head, FILE *f, const char *path, struct err *e)
    TA_NODISCARD;

/* The first line, which holds what is said of the plan as a whole; nothing where nothing is. */
void plan_write_head(const struct plan *p, struct buf *out);

/* The line of request i, with its line end. Bodies that are no text become body_b64, values of
 * headers likewise. */
void plan_write_line(const struct plan *p, size_t i, struct buf *out);

void plan_free(struct plan *p);

#endif
