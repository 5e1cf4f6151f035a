/* The replies of the simulated model: when the engine makes a token, or the profile's delivery lets
 * it go, its event is written. Writes down the truth of it where asked to. */
#ifndef REPLAY_GENERATOR_H
#define REPLAY_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <uv.h>

#include "replay/profile.h"
#include "replay/server_conn.h"
#include "traces/base/err.h"

enum { GENERATOR_MAX_TOKENS = 1000000, GENERATOR_DEFAULT_TOKENS = 128 };

struct generator_options {
    const struct profile *profile;
    double time_scale; /* of prefill */
    uint64_t seed;
    FILE *truth; /* JSON lines (replay/PROFILES.md); NULL: none */
};

struct generator;

/* options' pointers outlive it. NULL and *e if the system has no timer left. */
struct generator *generator_new(uv_loop_t *loop, const struct generator_options *options,
                                struct err *e);

/* One that can be served: 1 … GENERATOR_MAX_TOKENS (or not stated), some prompt, one choice. */
struct generator_request {
    const struct dialect *dialect;
    const struct dialect_request *asked;
    struct slice body;
    bool stream;
};

/* Starts the reply to a request; c's user is set until it is whole. */
void generator_start(struct generator *g, struct server_conn *c, const struct generator_request *r);

/* idle is called when no reply is being made any more. */
void generator_on_idle(struct generator *g, void (*idle)(void *ctx), void *ctx);

/* Is a reply being made, by a server that then does nothing else? */
bool generator_blocks(const struct generator *g);

/* The client of that reply has gone. user: server_conn_user, may be NULL. */
void generator_drop(struct generator *g, void *user);

uint64_t generator_finished(const struct generator *g);

/* Ends the timer: nothing is made any more. The loop must turn once before it is closed. */
void generator_stop(struct generator *g);

/* After generator_stop, when all replies have been finished or dropped. */
void generator_free(struct generator *g);

#endif
