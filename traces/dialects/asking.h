/* Requests: where they go, and what their bodies ask for. One pass over a body, whatever its size.
 * For traces/dialects/ alone. */
#ifndef TRACES_DIALECTS_ASKING_H
#define TRACES_DIALECTS_ASKING_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/dialects/dialect.h"

/* How sure a claim is. */
enum {
    CLAIM_SHAPE = 30,  /* body or path look like it, and much else looks so: the reply decides */
    CLAIM_EITHER = 60, /* a path that two APIs share, or applications of any kind have too */
    CLAIM_PATH = 90,
    CLAIM_BOTH = 100
};

/* A target's path: without query, fragment and slash at the end. */
struct slice asking_path(struct slice target);
bool asking_ends(struct slice path, const char *tail);

/* Is a path that of any known API? Shape alone claims none of those. */
bool asking_known(struct slice path);

/* Is it that of a known API, for something else than to generate? */
bool asking_aside(struct slice path);

/* Which of n <= 32 names are members of the body's object: bit i for names[i]. A body that is no
 * JSON object has those that were read before that showed. */
unsigned asking_members(struct slice body, const char *const *names, unsigned n);

/* Does a body begin as an object: is it one that can be looked into? */
bool asking_is_object(struct slice body);

/* Where a dialect's requests have what is looked for. Lists end with NULL. */
struct asking_shape {
    const char *prompts[3]; /* members with the prompt: a text, messages, parts, token ids */
    const char *limits[3];  /* of output tokens; where several are given, the last of the list */
    const char *nested[2];  /* objects in which limits, choices and usage_asked may stand too */
    const char *choices[2]; /* how many; none: always one */
    const char *candidates; /* of which the choices are the best; NULL: there are no more */
};

/* Contract: struct dialect's request. */
bool asking_read(const struct asking_shape *shape, struct slice body, struct arena *a,
                 struct dialect_request *out);

#endif
