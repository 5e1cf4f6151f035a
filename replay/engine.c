/* The simulated model's time. Source of its rules: engine.h and replay/PROFILES.md. */
#include "replay/engine.h"

#include <stddef.h>

#include "traces/base/clock.h"

uint64_t engine_mix(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void engine_init(struct engine *en, const struct profile *profile, double time_scale)
{
    *en = (struct engine){.profile = profile, .time_scale = time_scale};
}

static double step_ns(const struct engine *en)
{
    return NS_PER_S / en->profile->decode_tps *
           (1 + en->profile->slowdown * (double)(en->n_batch - 1));
}

/* When the token at offset_ns is due; jitter moves it, but never those after it. */
static void set_due(const struct engine *en, struct engine_job *job)
{
    double off = 0;
    if (en->profile->jitter > 0) {
        double unit = (double)(engine_mix(job->seed, (uint64_t)job->made) >> 11) * 0x1p-53;
        off = (2 * unit - 1) * en->profile->jitter * NS_PER_S / en->profile->decode_tps;
    }
    if (job->made == 0 && off < 0) /* nothing is made before its prompt is read */
        off = -off;
    job->due_ns = job->first_ns + (int64_t)(job->offset_ns + off);
}

static void push(struct engine_job **list, struct engine_job *job)
{
    while (*list != NULL)
        list = &(*list)->next;
    job->next = NULL;
    *list = job;
}

static void take(struct engine_job **list, struct engine_job *job)
{
    while (*list != job)
        list = &(*list)->next;
    *list = job->next;
}

static void admit(struct engine *en, int64_t now_ns)
{
    while (en->queue != NULL && en->n_batch < en->profile->max_batch) {
        struct engine_job *job = en->queue;
        en->queue = job->next;
        job->queued = false;
        job->running = true;
        job->start_ns = job->submit_ns > now_ns ? job->submit_ns : now_ns;
        double prefill_ns =
            (double)job->prompt_tokens * NS_PER_S / en->profile->prefill_tps * en->time_scale;
        job->first_ns = job->start_ns + (int64_t)prefill_ns;
        job->offset_ns = 0;
        job->made = 0;
        set_due(en, job);
        push(&en->batch, job);
        en->n_batch++;
    }
}

static void leave_batch(struct engine *en, struct engine_job *job)
{
    take(&en->batch, job);
    job->running = false;
    en->n_batch--;
}

void engine_submit(struct engine *en, struct engine_job *job, int64_t now_ns)
{
    job->submit_ns = now_ns;
    job->queued = true;
    push(&en->queue, job);
    admit(en, now_ns);
}

void engine_cancel(struct engine *en, struct engine_job *job, int64_t now_ns)
{
    if (job->queued) {
        take(&en->queue, job);
        job->queued = false;
    } else if (job->running) {
        leave_batch(en, job);
        admit(en, now_ns);
    }
}

static struct engine_job *earliest(const struct engine *en)
{
    struct engine_job *best = en->batch;
    for (struct engine_job *job = en->batch; job != NULL; job = job->next) {
        if (job->due_ns < best->due_ns)
            best = job;
    }
    return best;
}

int64_t engine_due(const struct engine *en)
{
    const struct engine_job *job = earliest(en);
    return job == NULL ? -1 : job->due_ns;
}

bool engine_step(struct engine *en, int64_t now_ns, struct engine_token *out)
{
    struct engine_job *job = earliest(en);
    if (job == NULL || job->due_ns > now_ns)
        return false;
    *out = (struct engine_token){job, job->made, job->due_ns, job->made + 1 == job->output_tokens};
    job->made++;
    if (out->last) {
        leave_batch(en, job);
        admit(en, out->due_ns);
    } else {
        job->offset_ns += step_ns(en);
        set_due(en, job);
    }
    return true;
}
