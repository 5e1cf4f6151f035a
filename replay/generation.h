/* One simulated reply as its dialect writes it, event by event: what is said, never when. For
 * generator.c alone. */
#ifndef REPLAY_GENERATION_H
#define REPLAY_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/engine.h"
#include "replay/profile.h"
#include "replay/server_conn.h"
#include "traces/base/buf.h"
#include "traces/base/vec.h"

struct generation {
    struct generator *g;
    struct generation *prev, *next;
    struct server_conn *c;
    const struct profile *profile;
    const struct dialect *dialect; /* of the request */
    struct engine_job job;
    struct dialect_reply reply;
    struct dialect_writing writing;
    char id[64];
    uint64_t number; /* 1.. of the server */
    uint64_t seed;   /* of its words: the server's seed and the body of the request */
    bool stream, usage_event, head_sent, role_sent;

    VEC(int64_t) made_ns; /* real: when the model had each token */
    int64_t told;         /* tokens that have been written */
    int64_t after;        /* events behind the last token that have been */
    struct buf event;     /* the one that is written … */
    int64_t event_tokens; /* … and how many tokens it carries */
    int64_t silent_ns;    /* monotonic: the last output */
    int64_t release_ns;   /* monotonic: when the next event of a collected reply leaves; -1: still
                             collecting */
};

/* The members above are set from a request; number, seed and c are there. */
void generation_init(struct generation *x, const struct dialect_request *q, int64_t created_s);
void generation_done(struct generation *x);

/* Composes what the stream begins with; there may be nothing. */
void generation_begin(struct generation *x);

/* How many tokens the next event will carry; 0: it is one of those behind the text. */
int64_t generation_tokens(const struct generation *x);

/* Composes the next event, when it leaves: it may state the time. There is one (generation_more).
 */
void generation_next(struct generation *x);
bool generation_more(const struct generation *x);

/* The model's own clock, once the last token is made. */
void generation_clock(struct generation *x);

/* Appends the whole reply as one document. */
void generation_document(const struct generation *x, struct buf *out);

/* Is its keep-alive one of the events that it begins with, once more? */
bool generation_beats(const struct generation *x);

/* Appends what keeps the connection alive, of a stream with `done` prompt tokens read, or of a
 * document. Nothing where the server has nothing for it. */
void generation_keepalive(struct generation *x, int64_t done, struct buf *out);

#endif
