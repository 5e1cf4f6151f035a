/* Where requests go: the URL of the target, its address, and what it says of itself before the run.
 */
#ifndef REPLAY_TARGET_H
#define REPLAY_TARGET_H

#include <stdint.h>
#include <sys/socket.h>

#include "traces/base/err.h"

struct target {
    char host[256];      /* as in the URL, without brackets */
    char authority[300]; /* for the Host header */
    uint16_t port;
    struct sockaddr_storage addr; /* of target_reach: the first address that answered */
    socklen_t addr_bytes;
    int64_t connect_ns; /* how long it took to connect */
};

/* "http://HOST[:PORT]"; TA_EUSAGE for anything else. */
int target_parse(struct target *t, const char *url, struct err *e) TA_NODISCARD;

/* Resolves and connects once, within timeout_ns an address. TA_ESYS with every address tried. */
int target_reach(struct target *t, int64_t timeout_ns, struct err *e) TA_NODISCARD;

/* What GET /v1/models answered: the first id, and the simulated profile if the server says it is
 * one. Both the caller's (free), NULL if not stated. TA_ESYS if there was no usable answer. */
struct target_says {
    char *model, *simulated;
};
int target_ask(const struct target *t, int64_t timeout_ns, struct target_says *out, struct err *e)
    TA_NODISCARD;

#endif
