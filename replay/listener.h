/* Where a server takes its clients: each becomes a connection of its env. */
#ifndef REPLAY_LISTENER_H
#define REPLAY_LISTENER_H

#include <stdint.h>

#include "replay/server_conn.h"
#include "traces/base/err.h"

struct listener {
    uv_tcp_t tcp;
    struct server_conn_env *env;
    uint16_t port; /* once open */
    char url[80];  /* "http://127.0.0.1:8000" */
};

/* env->loop and env->sink are set; env outlives it. */
void listener_init(struct listener *l, struct server_conn_env *env);

/* Listens on a numeric address, "127.0.0.1:8000" or "[::1]:0" (port 0: any). TA_EUSAGE for an
 * address that is none, TA_ESYS if it can't be had. */
int listener_open(struct listener *l, const char *address, struct err *e) TA_NODISCARD;

/* Of one that was initialised; its memory is needed until the loop has run out. */
void listener_close(struct listener *l);

#endif
