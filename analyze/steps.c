/* A step is between two clock pairs. What is before it and what behind, the order in the file
 * tells, and the stamps: those of both sides can be the same where the clock was set back. */
#include "analyze/steps.h"

const char steps_reason[] = "the clock was set while these requests ran";

/* The last packet that is known of it. */
static uint64_t last_packet(const struct request *r)
{
    uint64_t last = r->t0_packet > r->h_packet ? r->t0_packet : r->h_packet;
    last = r->c1_packet > last ? r->c1_packet : last;
    if (r->out.n > 0 && r->out.v[r->out.n - 1].packet > last)
        last = r->out.v[r->out.n - 1].packet;
    if (r->z < 0)
        return UINT64_MAX; /* it may have gone on */
    return r->z_packet > last ? r->z_packet : last;
}

static bool within(int64_t t_ns, int64_t from_ns, int64_t to_ns)
{
    return t_ns >= from_ns && t_ns <= to_ns;
}

/* Was a packet that stands before the pair that shows the step stamped before the step, for sure?
 * One stamped behind it has a time from the span before that pair. */
static bool surely_before(const struct clock_step *s, int64_t t_ns)
{
    int64_t passed = s->after.mono_ns - s->before.mono_ns;
    return t_ns <= s->before.real_ns && !within(t_ns, s->after.real_ns - passed, s->after.real_ns);
}

/* And one that stands after it, behind the step? Packets wait in the kernel before they are
 * written.
 */
static bool surely_after(const struct clock_step *s, int64_t t_ns)
{
    int64_t passed = s->after.mono_ns - s->before.mono_ns;
    return t_ns >= s->after.real_ns && !within(t_ns, s->before.real_ns, s->before.real_ns + passed);
}

/* On a connection that was used before, bytes are ready no earlier than those before them (a
 * running maximum), so where the clock was set back it must first reach that time again. */
static bool still_held_back(const struct clock_step *s, uint64_t last_conn, const struct request *r)
{
    int64_t passed = s->after.mono_ns - s->before.mono_ns;
    return s->step_ns < 0 && r->conn <= last_conn && r->t0 <= s->before.real_ns + passed;
}

static void mark(struct request *r, const struct clock_step *s, uint64_t last_conn)
{
    int64_t end = r->z > r->t_end ? r->z : r->t_end;
    if (r->t0_packet > s->frame && surely_after(s, r->t0) && !still_held_back(s, last_conn, r))
        r->clock_epoch++;
    else if (last_packet(r) >= s->frame || !surely_before(s, r->t0) || !surely_before(s, end))
        r->clock_stepped = true;
}

/* Connections are numbered as they come: those up to this one were there before the step. */
static uint64_t last_connection(const struct audit *a, size_t first, const struct clock_step *s)
{
    uint64_t last = 0;
    for (size_t i = first; i < a->requests.n; i++) {
        if (a->requests.v[i].t0_packet < s->frame && a->requests.v[i].conn > last)
            last = a->requests.v[i].conn;
    }
    return last;
}

void steps_mark(struct audit *a, size_t first, const struct trace_info *t)
{
    for (size_t k = 0; k < t->steps.n; k++) {
        uint64_t last_conn = last_connection(a, first, &t->steps.v[k]);
        for (size_t i = first; i < a->requests.n; i++)
            mark(&a->requests.v[i], &t->steps.v[k], last_conn);
    }
    for (size_t i = first; i < a->requests.n; i++) {
        if (a->requests.v[i].clock_stepped)
            VEC_PUSH(&a->requests.v[i].anomalies, "trace.clock-step");
    }
}

bool steps_between(const struct audit *a, const size_t *requests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct request *r = &a->requests.v[requests[i]];
        const struct request *last = &a->requests.v[requests[i > 0 ? i - 1 : 0]];
        if (r->clock_stepped || (r->run == last->run && r->clock_epoch != last->clock_epoch))
            return true;
    }
    return false;
}
