/* The simulated model's time. Source of its rules: engine.h and replay/PROFILES.md. */
#include "replay/engine.h"

#include <math.h>
#include <stddef.h>

#include "traces/base/clock.h"

#define FAR_NS 4e18 /* later than that, nobody waits */

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
    if (profile->stall_for_ns > 0) {
        en->smooth_ns = fmax((double)profile->stall_every_ns * time_scale, 1);
        en->stall_ns = fmax((double)profile->stall_for_ns * time_scale, 1);
        en->share = profile->stall_tps / profile->decode_tps;
    }
}

/* --- stalls: a clock that runs slower in them ---------------------------------------------- */

static double unstalled(const struct engine *en, int64_t real_ns)
{
    double t = (double)(real_ns - en->epoch_ns);
    if (en->stall_ns <= 0)
        return t;
    double cycles = floor(t / (en->smooth_ns + en->stall_ns));
    double rest = t - cycles * (en->smooth_ns + en->stall_ns);
    return cycles * (en->smooth_ns + en->stall_ns * en->share) + fmin(rest, en->smooth_ns) +
           fmax(rest - en->smooth_ns, 0) * en->share;
}

static int64_t real_of(const struct engine *en, double v)
{
    double t = v;
    if (en->stall_ns > 0) {
        double work = en->smooth_ns + en->stall_ns * en->share;
        double cycles = floor(v / work), rest = v - cycles * work;
        t = cycles * (en->smooth_ns + en->stall_ns) + fmin(rest, en->smooth_ns) +
            fmax(rest - en->smooth_ns, 0) / en->share;
    }
    return en->epoch_ns + (int64_t)llround(fmin(t, FAR_NS));
}

/* --- a batch ------------------------------------------------------------------------------- */

static double step_ns(const struct engine *en)
{
    return NS_PER_S / en->profile->decode_tps;
}

/* What anything takes in a batch of n, of what it takes alone. A gain is had once: each further
 * request would end it at nothing. */
static double factor(const struct engine *en, int64_t n)
{
    double s = en->profile->slowdown;
    if (n <= 1)
        return 1;
    return s < 0 ? 1 + s : 1 + s * (double)(n - 1);
}

/* When the next token is due; jitter moves it, but never those after it. */
static void set_due(const struct engine *en, struct engine_job *job, int64_t n)
{
    double off = 0;
    if (en->profile->jitter > 0) {
        double unit = (double)(engine_mix(job->seed, (uint64_t)job->made) >> 11) * 0x1p-53;
        off = (2 * unit - 1) * en->profile->jitter * step_ns(en);
    }
    if (job->made == 0 && off < 0) /* nothing is made before its prompt is read */
        off = -off;
    double work = job->prefill_ns + (double)job->made * step_ns(en) + off;
    job->due_ns = real_of(en, job->anchor_ns + (work - job->anchor_work_ns) * factor(en, n));
}

/* The batch has another size from now on. */
static void resize(struct engine *en, struct engine_worker *w, int64_t n, int64_t now_ns)
{
    double v = unstalled(en, now_ns);
    for (struct engine_job *job = w->batch; job != NULL; job = job->next) {
        job->anchor_work_ns += (v - job->anchor_ns) / factor(en, w->n_batch);
        job->anchor_ns = v;
        set_due(en, job, n);
    }
    w->n_batch = n;
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

static double prefill_ns(const struct engine *en, double tokens)
{
    const struct profile *p = en->profile;
    double ns = tokens * NS_PER_S / p->prefill_tps + tokens * tokens * p->prefill_quadratic_ns;
    return fmin(ns * en->time_scale, FAR_NS);
}

static void admit(struct engine *en, struct engine_worker *w, int64_t now_ns)
{
    while (w->queue != NULL && w->n_batch < en->profile->max_batch) {
        struct engine_job *job = w->queue;
        w->queue = job->next;
        w->n_queue--;
        job->queued = false;
        job->running = true;
        job->start_ns = job->submit_ns > now_ns ? job->submit_ns : now_ns;
        job->prefill_ns = prefill_ns(en, (double)job->prompt_tokens);
        job->made = 0;
        resize(en, w, w->n_batch + 1, job->start_ns);
        push(&w->batch, job);
        job->anchor_ns = unstalled(en, job->start_ns);
        job->anchor_work_ns = 0;
        set_due(en, job, w->n_batch);
    }
}

static void leave_batch(struct engine *en, struct engine_worker *w, struct engine_job *job,
                        int64_t now_ns)
{
    take(&w->batch, job);
    job->running = false;
    resize(en, w, w->n_batch - 1, now_ns);
}

/* --- requests ------------------------------------------------------------------------------ */

void engine_submit(struct engine *en, struct engine_job *job, int64_t now_ns)
{
    struct engine_worker *best = en->workers;
    for (int64_t i = 1; i < en->profile->workers; i++) {
        struct engine_worker *w = &en->workers[i];
        if (w->n_queue + w->n_batch < best->n_queue + best->n_batch)
            best = w;
    }
    if (!en->begun)
        en->epoch_ns = now_ns;
    en->begun = true;
    job->submit_ns = now_ns;
    job->worker = best - en->workers;
    job->queued = true;
    push(&best->queue, job);
    best->n_queue++;
    admit(en, best, now_ns);
}

void engine_cancel(struct engine *en, struct engine_job *job, int64_t now_ns)
{
    struct engine_worker *w = &en->workers[job->worker];
    if (job->queued) {
        take(&w->queue, job);
        w->n_queue--;
        job->queued = false;
    } else if (job->running) {
        leave_batch(en, w, job, now_ns);
        admit(en, w, now_ns);
    }
}

static struct engine_job *earliest(const struct engine *en)
{
    struct engine_job *best = NULL;
    for (int64_t i = 0; i == 0 || i < en->profile->workers; i++) {
        for (struct engine_job *job = en->workers[i].batch; job != NULL; job = job->next) {
            if (best == NULL || job->due_ns < best->due_ns)
                best = job;
        }
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
    if (job->made++ == 0)
        job->first_ns = job->due_ns;
    struct engine_worker *w = &en->workers[job->worker];
    if (out->last) {
        leave_batch(en, w, job, out->due_ns);
        admit(en, w, out->due_ns);
    } else {
        set_due(en, job, w->n_batch);
    }
    return true;
}

int64_t engine_prompt_done(const struct engine *en, const struct engine_job *job, int64_t now_ns)
{
    const struct profile *p = en->profile;
    if (!job->running)
        return job->queued ? 0 : job->prompt_tokens;
    double done_ns =
        (unstalled(en, now_ns) - job->anchor_ns) / factor(en, en->workers[job->worker].n_batch) +
        job->anchor_work_ns;
    if (job->made > 0 || done_ns + 1 >= job->prefill_ns) /* due times are whole */
        return job->prompt_tokens;
    /* the n of linear * n + quadratic * n^2 = done, in the form that holds for quadratic 0 */
    double linear = NS_PER_S / p->prefill_tps * en->time_scale,
           quadratic = p->prefill_quadratic_ns * en->time_scale;
    double n = 2 * done_ns / (linear + sqrt(linear * linear + 4 * quadratic * done_ns));
    return (int64_t)fmin(fmax(n, 0), (double)job->prompt_tokens);
}
