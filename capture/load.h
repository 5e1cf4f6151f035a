/* The load: COMMAND as a child process, with a pipe on which it may write its ledger. */
#ifndef CAPTURE_LOAD_H
#define CAPTURE_LOAD_H

#include <uv.h>

#include "capture/privileges.h"
#include "traces/base/err.h"
#include "traces/base/span.h"

enum { LOAD_CAPTURE_FAILED = 125, LOAD_CANNOT_RUN = 126, LOAD_NOT_FOUND = 127 };

struct load_hooks {
    void *ctx;
    void (*ended)(void *ctx, int status); /* as a shell has it: 128 + n after signal n */
    void (*wrote)(void *ctx, const char *p, size_t n); /* bytes of the ledger pipe */
};

struct load;

/* Runs argv (ends with NULL) with our stdin, stdout and stderr, TOKAUDIT_LEDGER_FD set, and HOME,
 * USER and LOGNAME those of the caller that we became, if there is one. On failure *status is the
 * exit status that says which: 125, 126 or 127. *out is set in any case but that of no pipe, for
 * its handles are on the loop then. */
int load_start(struct load **out, uv_loop_t *loop, char **argv, const struct caller *as,
               const struct load_hooks *hooks, int *status, struct err *e) TA_NODISCARD;

int load_pid(const struct load *l);

/* To the child alone; nothing once it ended. */
void load_signal(struct load *l, int signum);

/* Its handles are closed with those of the loop (uv_walk), before load_free. */
void load_free(struct load *l);

#endif
