/* Which recorded exchange answers a request: the one to the same method, target and body; of
 * several the k-th time the k-th, in the order in which they were recorded, and after the last the
 * first again. */
#ifndef REPLAY_ANSWERS_H
#define REPLAY_ANSWERS_H

#include <stdbool.h>

#include "replay/recording.h"
#include "traces/base/buf.h"

/* Each takes what those before it find, and more. */
enum answers_match {
    ANSWERS_BODY,      /* the body is the same, byte for byte */
    ANSWERS_ANY_MODEL, /* … but for the value of its "model" */
    ANSWERS_ORDER      /* any body: the next exchange of that method and target not given yet */
};

/* "body", "any-model", "order"; false: none of them. */
bool answers_match_of(const char *word, enum answers_match *out);
const char *answers_match_word(enum answers_match match);

struct answers;

/* r outlives it. */
struct answers *answers_new(const struct recording *r, enum answers_match match);
void answers_free(struct answers *a);

struct answers_found {
    const struct recording_exchange *x; /* NULL: none, and the text says why */
    enum answers_match by;
    bool again; /* it had been given before */
};

/* why: a sentence for who asked, unescaped; its room is for what a client may send. */
struct answers_found answers_find(struct answers *a, struct slice method, struct slice target,
                                  struct slice body, struct buf *why);

#endif
