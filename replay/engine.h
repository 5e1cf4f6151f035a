/* The simulated model: which token of which request is made when. A pure function of the profile,
 * the requests and the times it is told; no clock, no I/O.
 *
 * A request queues for a place in the batch (first come, first served), is read at prefill_tps,
 * makes its first token at the end of that, and one more each step: 1/decode_tps, longer by
 * `slowdown` for each other request in the batch. Due times are exact: what a step costs is added
 * to when the last one was due, never to when somebody looked. */
#ifndef REPLAY_ENGINE_H
#define REPLAY_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/profile.h"

/* One request; the caller's memory, in the engine's lists from engine_submit to its last token or
 * engine_cancel. */
struct engine_job {
    int64_t prompt_tokens, output_tokens; /* the caller's to set; at least 1 */
    uint64_t seed;                        /* of its jitter */
    void *user;

    int64_t submit_ns;
    int64_t start_ns; /* admitted to the batch */
    int64_t first_ns; /* end of its prefill */
    double offset_ns; /* of the next token from there, without jitter */
    int64_t due_ns;   /* of the next token */
    int64_t made;     /* tokens so far */
    bool queued, running;
    struct engine_job *next;
};

struct engine {
    const struct profile *profile;
    double time_scale;                /* of prefill only; 1: as it is */
    struct engine_job *queue, *batch; /* in order of arrival */
    int64_t n_batch;
};

struct engine_token {
    struct engine_job *job;
    int64_t index; /* 0.. */
    int64_t due_ns;
    bool last; /* the engine has forgotten the job */
};

void engine_init(struct engine *en, const struct profile *profile, double time_scale);
void engine_submit(struct engine *en, struct engine_job *job, int64_t now_ns);
void engine_cancel(struct engine *en, struct engine_job *job, int64_t now_ns);

/* When the next token of any request is due; -1: none is waited for. */
int64_t engine_due(const struct engine *en);

/* Makes the earliest token that is due at now_ns or before; false if there is none. */
bool engine_step(struct engine *en, int64_t now_ns, struct engine_token *out);

/* A well-mixed 64-bit number from two; what is pseudo-random here comes from it (splitmix64's
 * finalizer). */
uint64_t engine_mix(uint64_t seed, uint64_t n);

#endif
