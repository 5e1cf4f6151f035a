/* Custom blocks of a trace, as traces/FORMAT.md lays them out: manifest, clock pairs, samples,
 * ledger, closing. */
#include "analyze/blocks.h"

#include <stdlib.h>

#include "traces/base/clock.h"
#include "traces/base/json.h"

static const char *text_of(const struct json *v, const char *name, struct arena *a)
{
    const char *text = json_string(v, name);
    return text == NULL || text[0] == '\0' ? NULL : arena_text(a, slice_of(text));
}

static void read_manifest(struct blocks *b, const struct json *v, struct trace_info *t,
                          struct arena *a)
{
    rotation_read(v, &b->part);
    t->closed = false;
    t->next = NULL;
    t->vantage = text_of(v, "vantage", a);
    t->host = text_of(v, "host", a);
    t->label = text_of(v, "label", a);
    t->simulated = text_of(v, "simulated", a);
    t->redacted = text_of(v, "redacted", a);
}

/* In the year 2096: what is later is no time, and differences of what is earlier stay in range. */
#define LATEST_NS INT64_C(4000000000000000000)

/* A clock that is set more often is none. */
enum { STEPS_MAX = 1000 };

static bool is_time(int64_t t_ns)
{
    return t_ns >= 0 && t_ns <= LATEST_NS;
}

/* Where real minus monotonic time changes by more than the pairs' widths and a drift of 500 ppm
 * allow, the clock was stepped. */
static void read_pair(struct blocks *b, const struct json *v, struct trace_info *t)
{
    struct clock_pair now = {0};
    if (!json_ns(v, "real_ns", &now.real_ns) || !json_ns(v, "mono_ns", &now.mono_ns))
        return;
    json_ns(v, "width_ns", &now.width_ns);
    if (!is_time(now.real_ns) || !is_time(now.mono_ns) || !is_time(now.width_ns))
        return;
    struct clock_pair last = b->pair;
    b->pair = now;
    if (!t->clock_known || last.real_ns == 0) {
        t->clock_known = true;
        return;
    }
    int64_t passed = now.mono_ns - last.mono_ns;
    int64_t step = (now.real_ns - last.real_ns) - passed;
    int64_t allowed = NS_PER_MS + llabs(passed) / 2000 + now.width_ns / 2 + last.width_ns / 2;
    if (llabs(step) <= allowed)
        return;
    if (t->steps.n < STEPS_MAX)
        VEC_PUSH(&t->steps, ((struct clock_step){step, b->frame, last, now}));
    if (llabs(step) > llabs(t->clock_step_ns))
        t->clock_step_ns = step;
}

static void read_clock(struct blocks *b, const struct json *v, struct trace_info *t,
                       struct arena *a)
{
    (void)a;
    for (const struct json *p = json_first(json_get(v, "pairs")); p != NULL; p = json_next(p))
        read_pair(b, p, t);
}

static void read_closing(struct blocks *b, const struct json *v, struct trace_info *t,
                         struct arena *a)
{
    (void)b;
    t->closed = true;
    t->next = text_of(v, "next", a);
}

/* Sums a member over the sampled processes of the server; -1 if none has it. */
static int64_t sum_of(const struct json *processes, const char *name)
{
    int64_t sum = -1, one;
    for (const struct json *p = json_first(processes); p != NULL; p = json_next(p)) {
        if (json_int(p, name, &one) && one >= 0 && sum <= INT64_MAX - one)
            sum = (sum < 0 ? 0 : sum) + one;
    }
    return sum;
}

static void read_sample(struct blocks *b, const struct json *v, struct trace_info *t)
{
    struct sample_point s = {.mem_used = -1, .mem_total = -1};
    if (!json_ns(v, "t", &s.t_ns))
        return;
    const struct json *sys = json_get(v, "sys");
    int64_t available;
    json_int(sys, "total_b", &b->mem_total);
    if (b->mem_total > 0)
        s.mem_total = b->mem_total;
    if (b->mem_total > 0 && json_int(sys, "avail_b", &available))
        s.mem_used = b->mem_total - available;
    s.server_rss = sum_of(json_get(v, "p"), "rss_b");
    s.server_cpu_ns = sum_of(json_get(v, "p"), "cpu_ns");
    VEC_PUSH(&t->sys, s);
    t->samples++;
}

static void read_samples(struct blocks *b, const struct json *v, struct trace_info *t,
                         struct arena *a)
{
    (void)a;
    for (const struct json *s = json_first(json_get(v, "samples")); s != NULL; s = json_next(s)) {
        const char *k = json_string(s, "k");
        if (k != NULL && strcmp(k, "sysinfo") == 0)
            json_int(s, "mem_total_b", &b->mem_total);
        if (k != NULL && strcmp(k, "s") == 0)
            read_sample(b, s, t);
    }
}

static void read_ledger(struct blocks *b, const struct json *v, struct trace_info *t,
                        struct arena *a)
{
    for (const struct json *l = json_first(json_get(v, "entries")); l != NULL; l = json_next(l)) {
        struct ledger_entry entry;
        if (ledger_read(l, a, &entry))
            VEC_PUSH(&t->ledger, entry);
        else
            b->unread++;
    }
}

/* What a replay sent otherwise than recorded. It says it twice: at its end with numbers. */
static void read_replaced(struct blocks *b, const struct json *lines, struct trace_info *t,
                          struct arena *a)
{
    if (lines != NULL)
        t->replaced.n = b->first_replaced;
    for (const struct json *l = json_first(lines); l != NULL; l = json_next(l)) {
        const char *text = json_value_string(l);
        if (text != NULL)
            VEC_PUSH(&t->replaced, arena_text(a, slice_of(text)));
    }
}

/* A copy is as good as what it was made of. The note stands behind a source: the next may have the
 * clocks of another machine. */
static void read_note(struct blocks *b, const struct json *v, struct trace_info *t, struct arena *a)
{
    bool whole = true;
    const struct json *source = json_get(v, "source");
    read_replaced(b, json_get(v, "replaced"), t, a);
    if (source == NULL)
        return;
    b->pair = (struct clock_pair){0};
    b->first_replaced = t->replaced.n;
    if (json_bool(source, "whole", &whole) && !whole)
        t->source_damage = text_of(v, "text", a);
}

static void read_bodies(struct blocks *b, const struct json *v, struct trace_info *t,
                        struct arena *a)
{
    (void)t;
    b->unread += body_notes_read(&b->bodies, v, a);
}

void blocks_read(struct blocks *b, struct slice json, struct trace_info *t, struct arena *a)
{
    static const struct {
        const char *kind;
        void (*read)(struct blocks *, const struct json *, struct trace_info *, struct arena *);
    } readers[] = {
        {"manifest", read_manifest}, {"clock", read_clock},     {"samples", read_samples},
        {"ledger", read_ledger},     {"closing", read_closing}, {"note", read_note},
        {"bodies", read_bodies},
    };
    struct json *v = json_parse(json.p, json.n, NULL);
    const char *kind = json_string(v, "kind");
    b->unread += kind == NULL;
    for (size_t i = 0; kind != NULL && i < sizeof readers / sizeof *readers; i++) {
        if (strcmp(readers[i].kind, kind) == 0)
            readers[i].read(b, v, t, a);
    }
    json_free(v);
}
