/* The simulated model: which token of which request is made when. A pure function of the profile,
 * the requests and the times it is told; no clock, no I/O.
 *
 * A request goes to the worker with the fewest, queues there for a place in its batch (first come,
 * first served), is read at the profile's prefill rate, makes its first token at the end of that,
 * and one more each step of 1/decode_tps. While others are in its batch all of this takes longer,
 * or shorter, by `slowdown`; in the profile's stalls everything does. Due times are exact: what a
 * step costs is added to when the last one was due, never to when somebody looked. */
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
    int64_t start_ns;      /* admitted to the batch */
    int64_t first_ns;      /* its first token was due */
    int64_t due_ns;        /* of the next token */
    int64_t made;          /* tokens so far */
    double prefill_ns;     /* what it would take alone, without stalls */
    double anchor_ns;      /* unstalled time at which … */
    double anchor_work_ns; /* … so much was done of what it would take alone */
    int64_t worker;
    bool queued, running;
    struct engine_job *next;
};

/* A process with a model of its own. */
struct engine_worker {
    struct engine_job *queue, *batch; /* in order of arrival */
    int64_t n_queue, n_batch;
};

struct engine {
    const struct profile *profile;
    double time_scale;                 /* of prefill and stalls only; 1: as they are */
    double smooth_ns, stall_ns, share; /* the cycle, and what a stall leaves of the pace */
    int64_t epoch_ns;                  /* the first request: the cycle's begin */
    bool begun;
    struct engine_worker workers[PROFILE_WORKERS];
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

/* How much of a job's prompt has been read. */
int64_t engine_prompt_done(const struct engine *en, const struct engine_job *job, int64_t now_ns);

/* A well-mixed 64-bit number from two; what is pseudo-random here comes from it (splitmix64's
 * finalizer). */
uint64_t engine_mix(uint64_t seed, uint64_t n);

#endif
