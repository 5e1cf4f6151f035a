/* A reply under way, said event by event, for tests of what is gathered from it. */
#ifndef TESTS_UNIT_ANALYZE_TALK_H
#define TESTS_UNIT_ANALYZE_TALK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/saying.h"

/* A reply under way; its n-th event comes n ms after 1 s, each in a packet of its own. */
struct talk {
    struct request r;
    struct saying s;
    struct arena texts;
    struct buf scratch;
    uint32_t n;
};

static inline void talk_begin(struct talk *t, const struct dialect *d)
{
    *t = (struct talk){.r = {.dialect = d,
                             .role_ns = -1,
                             .answer_ns = -1,
                             .content_ns = -1,
                             .keepalive_ns = -1,
                             .choice_ns = -1,
                             .done_ns = -1,
                             .c1 = -1,
                             .n1 = -1,
                             .stated_last = -1,
                             .usage = usage_none,
                             .timings = timings_none}};
    buf_init(&t->scratch, 1 << 20);
    t->s = (struct saying){.r = &t->r, .texts = &t->texts};
}

static inline int64_t talk_at(uint32_t n)
{
    return 1000000000 + (int64_t)n * 1000000;
}

static inline void talk_say(struct talk *t, const char *data)
{
    struct mark last = {.t_ready = talk_at(t->n), .rel = 100 + t->n};
    struct event ev = {
        .kind = EVENT_DATA, .type = slice_of("message"), .data = slice_of(data), .last = last};
    ev.index = t->n++;
    assert_int_equal(saying_event(&t->s, &ev, last, &t->scratch), TA_OK);
}

static inline void talk_end(struct talk *t)
{
    const char *why;
    saying_settle(&t->s);
    recount_done(&t->s.recount, &why);
    saying_done(&t->s);
    buf_done(&t->scratch);
    request_free(&t->r);
    arena_free(&t->texts);
}

#endif
