/* A simulated server's character, read from a JSON file (replay/PROFILES.md). */
#ifndef REPLAY_PROFILE_H
#define REPLAY_PROFILE_H

#include <stdint.h>

#include "traces/base/arena.h"
#include "traces/base/err.h"
#include "traces/dialects/dialect.h"

enum batching_kind { BATCHING_CONTINUOUS, BATCHING_SERIAL };
enum delivery_kind { DELIVERY_STREAM, DELIVERY_COLLECT };
enum role_event { ROLE_AT_ONCE, ROLE_WITH_FIRST };
enum usage_when { USAGE_ASKED, USAGE_ALWAYS };

struct profile {
    struct arena arena; /* of the texts */
    const char *name;   /* letters, digits, '.', '_', '-' only: it stands in a header field */
    const char *about, *model;
    const struct dialect *dialect;
    int dialect_at;                 /* in the list of dialects that can be written */
    double prefill_tps, decode_tps; /* of one request alone */

    int batching;      /* enum batching_kind */
    int64_t max_batch; /* requests that run at once; the others queue */
    double slowdown;   /* what each further request of the batch adds to every step: 0.02 = 2 % */

    int delivery;          /* enum delivery_kind */
    int64_t event_cost_ns; /* of each event of a collected reply */

    int role_event;        /* enum role_event */
    int usage;             /* enum usage_when */
    int64_t heartbeat_ns;  /* a comment after that long a silence; 0: none */
    int64_t context_limit; /* prompt tokens beyond it are refused; 0: none */
    double jitter; /* each token is off by up to this share of a step, either way; 0 .. 0.4 */
};

/* From a FILE (a name with a '/' or ending in ".json") or the NAME of one that tokaudit brings
 * along. TA_EFORMAT with the file and the field; *out is to be freed in any case. */
int profile_read(const char *name, struct profile *out, struct err *e) TA_NODISCARD;

void profile_done(struct profile *p);

#endif
