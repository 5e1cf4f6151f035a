/* A trace as the list of its exchanges, for who plays one of its sides: the client's (replay) or
 * the server's (serve).
 *
 * Requests and responses are kept as they were on the wire, credentials as the recorder blanked
 * them; bodies and response bytes lie in a spool (replay/spool.h), so that a trace may be larger
 * than memory. Everything lives until recording_free. Times are ns since the epoch, as the trace
 * stamped them. */
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/base/arena.h"
#include "traces/base/err.h"
#include "traces/base/span.h"
#include "traces/base/vec.h"
#include "traces/http.h"
#include "traces/ledger.h"
#include "traces/link.h"

/* Why a request or a response is not there as it was. Of several the first in this order. */
enum recording_flaw {
    RECORDING_WHOLE,
    RECORDING_GAP,      /* bytes inside were not captured */
    RECORDING_NONE,     /* a response: not one byte of it was seen */
    RECORDING_TUNNEL,   /* a response: no HTTP any more (CONNECT, 101) */
    RECORDING_CUT,      /* its end is not there: the connection or the trace ended first */
    RECORDING_TOO_LONG, /* a request: more than LIMIT_REQUEST_BODY_BYTES, of which the rest was not
                           kept */
    RECORDING_REDACTED  /* whole, but its body is blanked: recorded with --redact bodies */
};

/* "bytes of it were not captured" */
const char *recording_flaw_text(enum recording_flaw flaw);

/* What became of the connection after a response, or in the middle of one, before another request
 * was sent on it. */
enum recording_after {
    RECORDING_KEPT,          /* another request followed, or it was open as long as it was seen */
    RECORDING_CLOSED,        /* by the server (FIN) */
    RECORDING_RESET,         /* by the server (RST) */
    RECORDING_CLIENT_CLOSED, /* by the client, before the server did */
    RECORDING_CLIENT_RESET
};

/* Response bytes of one packet, in the order of the stream; what was sent again is here once. */
struct recording_segment {
    int64_t t_ns; /* all bytes up to its last were there: never before that of the segment before */
    struct slice bytes;
};

struct recording_exchange {
    uint64_t id;    /* as in traces/exchange.h: 1.. in the order of the request heads */
    size_t conn;    /* into conns */
    uint32_t nth;   /* 0.. on that connection */
    uint64_t frame; /* of the request's first byte */

    struct slice method, target;
    const struct http_field *fields; /* of the request, in their order and spelling */
    size_t n_fields;
    struct slice body;    /* without framing; as it was sent, coded or not */
    char body_sha256[65]; /* "" if bytes of it were not seen; also of bodies that are TOO_LONG */
    enum recording_flaw request_flaw;
    int64_t request_first_ns, request_last_ns; /* seen; ready */

    int status; /* of the final response; 0: none came, or one without a head */
    const struct recording_segment *segments; /* of the final response, and of interim ones (1xx)
                                                 that came after the whole request */
    size_t n_segments;
    uint64_t response_bytes; /* in them */
    enum http_framing framing;
    bool close_said; /* the response's Connection: close (or HTTP/1.0 without keep-alive) */
    enum recording_flaw response_flaw;
    int64_t end_ns; /* the response was complete, or the connection or the trace ended */

    enum recording_after after;
    int64_t after_ns; /* when; KEPT: end_ns */

    struct slice model;                       /* of the request; {NULL, 0}: not stated */
    int64_t prompt_tokens, completion_tokens; /* as the reply stated last; -1: not stated */
};

struct recording_conn {
    struct endpoint client, server;
    int64_t t_open_ns; /* its SYN; its first request byte if that was not seen */
};

struct spool;

struct recording {
    VEC(struct recording_exchange) exchanges; /* in the order of id */
    VEC(struct recording_conn) conns; /* that carried a request, in the order of the first */

    /* As the manifest says; NULL: it does not. */
    const char *host, *label, *simulated, *vantage;
    const char *redacted; /* "secrets", "bodies" */

    VEC(struct ledger_entry) ledger; /* what the load generator meant, in the order of the blocks */

    int64_t first_ns, last_ns; /* of all packets */
    uint64_t packets;
    uint64_t opaque_conns; /* TLS, HTTP/2: not read */
    bool truncated;        /* the file ends early or is damaged: note says how */
    char note[200];

    struct spool *spool;
    struct arena texts;
};

/* Reads path ("-": stdin) to its end. TA_EFORMAT: nothing of it can be used; TA_ESYS: the spool has
 * no room. *out is to be freed in any case. A trace without any request is TA_OK. */
int recording_read(struct recording *out, const char *path, struct err *e) TA_NODISCARD;

/* The same of the n parts of a rotation (traces/FORMAT.md), in their order: a connection may go on
 * from one to the next. TA_EFORMAT also if one does not follow the one before. */
int recording_read_parts(struct recording *out, const char *const *paths, size_t n, struct err *e)
    TA_NODISCARD;

void recording_free(struct recording *r);

#endif
