/* The simulated server: the HTTP routes of an LLM server over a generator. */
#ifndef REPLAY_SERVER_H
#define REPLAY_SERVER_H

#include <stdint.h>
#include <uv.h>

#include "replay/generator.h"
#include "traces/base/err.h"

struct server;

/* Listens on a numeric address, "127.0.0.1:8000" or "[::1]:0" (port 0: any); the options' pointers
 * outlive it. NULL and *e: TA_EUSAGE for an address that is none, TA_ESYS if it can't be had. */
struct server *server_open(uv_loop_t *loop, const char *address,
                           const struct generator_options *options, struct err *e);

uint16_t server_port(const struct server *s);
const char *server_url(const struct server *s); /* "http://127.0.0.1:8000" */

struct server_counts {
    uint64_t requests;   /* of any kind, answered in any way */
    uint64_t replies;    /* generations that were finished */
    uint64_t abandoned;  /* generations whose client went away */
    uint64_t unanswered; /* generations that server_close cut */
};
struct server_counts server_counts(const struct server *s);

/* Stops listening and ends all connections; the loop then runs out. */
void server_close(struct server *s);

/* After the loop has run out. */
void server_free(struct server *s);

#endif
