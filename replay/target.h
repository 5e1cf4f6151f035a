/* Where requests go: the URL of the target, its address, and what it says of itself before the run.
 */
#ifndef REPLAY_TARGET_H
#define REPLAY_TARGET_H

#include <stdint.h>
#include <sys/socket.h>

#include "replay/tls.h"
#include "traces/base/err.h"

struct target {
    char url[400];       /* "https://HOST:PORT", as given */
    char host[256];      /* as in the URL, without brackets */
    char authority[300]; /* for the Host header */
    uint16_t port;
    bool secure;                  /* https */
    struct tls_context *tls;      /* of target_secure; NULL: plain HTTP */
    struct sockaddr_storage addr; /* of target_reach: the first address that answered */
    socklen_t addr_bytes;
    const char *fault;  /* static: the outcome of what could not be sent to it, after target_reach
                           or target_ask failed; NULL: they did not */
    int64_t connect_ns; /* how long it took to connect, TLS included */
};

/* "http://HOST[:PORT]" or "https://HOST[:PORT]"; TA_EUSAGE for anything else. */
int target_parse(struct target *t, const char *url, struct err *e) TA_NODISCARD;

/* Before all below, for https: what is trusted. TA_EUSAGE also for options that plain HTTP has no
 * use for. */
int target_secure(struct target *t, const struct tls_options *o, struct err *e) TA_NODISCARD;

void target_done(struct target *t);

/* Resolves and connects once, within timeout_ns an address. TA_ESYS with every address tried, or
 * why TLS to one of them failed; also when a signal came (interrupt.h). */
int target_reach(struct target *t, int64_t timeout_ns, struct err *e) TA_NODISCARD;

/* What GET /v1/models answered: the first id, and the simulated profile if the server says it is
 * one. Both the caller's (free), NULL if not stated. TA_ESYS if there was no usable answer. */
struct target_says {
    char *model, *simulated;
};
int target_ask(struct target *t, int64_t timeout_ns, struct target_says *out, struct err *e)
    TA_NODISCARD;

#endif
