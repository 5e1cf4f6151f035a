/* Where messages and their bodies begin in one direction of a connection (RFC 9112, 6), so that
 * text in bodies can be overwritten while heads and chunk lines stay. What cannot be told is
 * overwritten whole, until a start line is seen again. Requests and responses alike. */
#ifndef TRACES_REDACT_HTTP_H
#define TRACES_REDACT_HTTP_H

#include "traces/base/buf.h"
#include "traces/redact_body.h"

struct sha256;

/* A request whose body has gone by and was changed: what joins and repeats can still be found by.
 */
struct redact_request {
    uint32_t nth;                 /* on its connection, from 0 */
    int64_t t_ns;                 /* its first byte */
    const char *sha256;           /* of the salt and the body */
    uint64_t bytes;               /* of the body */
    uint64_t strings, characters; /* of its overwritten texts */
};

/* What the two directions of a connection share. */
struct redact_exchange {
    uint64_t heads; /* a bit for each request that waits: it was HEAD; the oldest is bit 0 */
    uint8_t waiting;
    uint32_t requests; /* so far */
    bool tunnel;       /* no HTTP any more */
};

struct redact_http_env {
    const void *salt;
    size_t salt_n;
    void *ctx;
    void (*request)(void *ctx, const struct redact_request *r);
};

struct redact_http {
    uint8_t state;
    uint8_t kind; /* of the body: enum redact_body_kind */
    bool bodies;  /* are overwritten; else it only tells where messages begin */
    bool is_request;
    bool ended; /* a message, with the byte before */
    bool has_length, bad_length, has_coding, chunked;
    bool at_line; /* LOST: a line begins here */
    int status;
    uint64_t length, left; /* of the body; of it or of the chunk still to come */
    int64_t t_ns;
    struct buf line;
    struct redact_body body;
    struct sha256 *hash; /* of the request under way */
    uint64_t body_bytes;
    bool changed; /* the body under way, by what was overwritten */
};

/* known: a message begins here. */
void redact_http_init(struct redact_http *h, bool known, bool bodies);
void redact_http_done(struct redact_http *h);
bool redact_http_lost(const struct redact_http *h); /* where messages begin is not known */
void redact_http_gap(struct redact_http *h, uint64_t n);

/* Bytes [from, to) of a payload; returns where a message ended (then ended is set), or to. */
size_t redact_http_feed(struct redact_http *h, struct redact_exchange *x,
                        const struct redact_http_env *env, int64_t t_ns, const uint8_t *p,
                        size_t from, size_t to, const struct redact_filler *f);

#endif
