/* What a replay sends otherwise than it was recorded, and what it does not send: for the closing
 * words and for the trace. */
#ifndef REPLAY_REPLACED_H
#define REPLAY_REPLACED_H

#include <stdint.h>
#include <stdio.h>

#include "replay/plan.h"

struct replaced_skip {
    uint64_t frame;  /* of its first byte, in the recording */
    const char *why; /* static */
};

/* Zero to begin with. Texts are owned. */
struct replaced {
    struct arena texts;
    uint64_t recorded;    /* requests of the recording */
    const char *host;     /* of the first of them; NULL: none had one */
    uint64_t hosts;       /* requests with a Host, … */
    uint64_t other_hosts; /* … that is not that one */
    const char *model, *new_model;
    uint64_t models;         /* requests whose model was replaced, … */
    uint64_t other_models;   /* … that had named another than model */
    uint64_t without_model;  /* could not be: they name none, or the body has a coding */
    VEC(const char *) names; /* of fields with credentials that were left out */
    uint64_t credentials;    /* requests they stood in */
    uint64_t parameters;     /* requests whose query had a credential, left out likewise */
    uint64_t absolute;       /* requests to a proxy, with a whole URL: sent with its path */
    uint64_t chunked;        /* bodies that came in chunks: sent as one */
    VEC(struct replaced_skip) skips;
};

void replaced_skip(struct replaced *r, uint64_t frame, const char *why);

/* A field of that name was left out. */
void replaced_left_out(struct replaced *r, const char *name);

/* Writes new_model as the value of every top-level "model" of every body that is a JSON object;
 * nothing else of the body changes, and Content-Length follows. */
int replaced_model(struct replaced *r, struct plan *p, const char *new_model, struct err *e)
    TA_NODISCARD;

/* A line each, none if nothing was replaced; authority is the target's. Safe for a terminal. */
void replaced_print(const struct replaced *r, const char *authority, FILE *to);

/* A custom block of kind "note" (traces/FORMAT.md): what is replayed, and the same lines. */
void replaced_note(const struct replaced *r, const char *authority, const char *source,
                   struct buf *json);

void replaced_done(struct replaced *r);

#endif
