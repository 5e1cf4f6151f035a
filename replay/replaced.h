/* What a replay sends otherwise than it was recorded, what it adds, and what it does not send: for
 * the closing words and for the trace. The plan says of each request what was changed; here the
 * requests are counted, those that were really sent. */
#ifndef REPLAY_REPLACED_H
#define REPLAY_REPLACED_H

#include <stdint.h>
#include <stdio.h>

#include "replay/message.h"
#include "replay/plan.h"

struct replaced_skip {
    uint64_t frame;  /* of its first byte, in the recording */
    const char *why; /* static */
};

/* A field that is added to every request: where the request has it, in its place. */
struct replaced_field {
    const char *name, *value; /* value NULL: of a credential */
    uint64_t in_place, added; /* requests */
};

/* Zero to begin with. Texts are owned. */
struct replaced {
    struct arena texts;
    uint64_t recorded;             /* requests of the recording */
    const char *host;              /* of the first of them; NULL: none had one */
    const char *model, *new_model; /* the first */
    VEC(const char *) names;       /* of fields with credentials that were left out */
    VEC(struct replaced_skip) skips;

    VEC(struct replaced_field) added;
    uint64_t counts[PLAN_CHANGES]; /* requests, a bit of plan_request.changes each */
};

void replaced_skip(struct replaced *r, uint64_t frame, const char *why);

/* A field of that name was left out. */
void replaced_left_out(struct replaced *r, const char *name);

/* Writes new_model as the value of every top-level "model" of every body that is a JSON object;
 * nothing else of the body changes, and Content-Length follows. */
int replaced_model(struct replaced *r, struct plan *p, const char *new_model, struct err *e)
    TA_NODISCARD;

/* These are added to every request when it is sent. */
void replaced_add(struct replaced *r, const struct message_field *fields, size_t n);

/* q was sent; the same of a whole plan, that is yet to be; and none was. */
void replaced_count(struct replaced *r, const struct plan_request *q);
void replaced_count_plan(struct replaced *r, const struct plan *p);
void replaced_count_none(struct replaced *r);

/* A line each, none if nothing was replaced; authority is the target's. Safe for a terminal. */
void replaced_print(const struct replaced *r, const char *authority, FILE *to);

/* A custom block of kind "note" (traces/FORMAT.md): what is replayed, the seeds of p, and the same
 * lines, without their numbers as long as nothing was sent (counted: false). Nothing if there is
 * nothing to say. */
void replaced_note(const struct replaced *r, const struct plan *p, const char *authority,
                   const char *source, bool counted, struct buf *json);

void replaced_done(struct replaced *r);

#endif
