/* Scenes for claims and findings: requests of which every time is chosen, in seconds after the
 * epoch, so that any formula can be worked out beside them. */
#ifndef TESTS_UNIT_ANALYZE_SCENE_H
#define TESTS_UNIT_ANALYZE_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/claims.h"
#include "tests/unit/analyze/synthetic.h"

/* 0: not there (t0 = 0 is the epoch itself). */
struct act {
    double t0, head, role, first, last, end;
    size_t events;
    size_t reads; /* 0: each event in one of its own */
    int64_t tokens, prompt, cached, reasoning, max_tokens, n1;
    uint32_t event_bytes; /* 4 by default */
    bool no_stream, asked_stream;
    int64_t group; /* from 1; 0: none */
};

static inline int64_t scene_ns(double s)
{
    return EPOCH_NS + (int64_t)llround(s * 1e9);
}

static inline int64_t scene_or(double s, double otherwise)
{
    return scene_ns(s > 0 ? s : otherwise);
}

static inline struct request *scene_add(struct audit *a, struct act x)
{
    size_t i = made_request(a, (struct made){.events = 0, .tokens = x.tokens > 0 ? x.tokens : -1});
    struct request *r = &a->requests.v[i];
    uint64_t frame = 10000 * r->id;
    r->t0 = r->t0_end = scene_ns(x.t0);
    r->t0_packet = frame;
    r->asked = (struct dialect_request){
        .stream = !x.no_stream || x.asked_stream, .max_tokens = -1, .choices = 1};
    if (x.max_tokens > 0)
        r->asked.max_tokens = x.max_tokens;
    for (size_t k = 0; k < x.events; k++) {
        double share = x.events > 1 ? (double)k / (double)(x.events - 1) : 0;
        size_t read = x.reads > 0 ? k * x.reads / x.events : k;
        if (x.reads > 0)
            share = x.reads > 1 ? (double)read / (double)(x.reads - 1) : 0;
        struct output_event o = {scene_ns(x.first + share * (x.last - x.first)),
                                 (uint32_t)(frame + 10 + read),
                                 x.event_bytes > 0 ? x.event_bytes : 4};
        VEC_PUSH(&r->out, o);
        r->text_bytes += o.bytes;
    }
    r->stream_reply = !x.no_stream;
    r->h = r->head_end = scene_or(x.head, x.first);
    r->h_packet = frame + 1;
    r->role_ns = x.role > 0 ? scene_ns(x.role) : -1;
    r->c1 = x.role > 0 ? r->role_ns : scene_ns(x.first);
    r->c1_packet = x.role > 0 ? frame + 2 : frame + 10;
    r->z = r->t_end = scene_or(x.end, x.last);
    r->answer_ns = x.events > 0 ? scene_ns(x.first) : -1;
    r->content_ns = r->answer_ns;
    r->content_events = r->first_choice_events = (uint32_t)x.events;
    r->choices_seen = x.events > 0;
    r->text = (struct text_units){
        .chars = r->text_bytes, .utf16 = r->text_bytes, .words = r->text_bytes / 6};
    r->choice_ns = x.events > 0 ? scene_ns(x.last) : x.role > 0 ? r->role_ns : -1;
    r->choice_events = (uint32_t)x.events + (x.role > 0);
    r->done_ns = r->z;
    r->z_packet = frame + 9000;
    r->usage = (struct usage){x.prompt > 0 ? x.prompt : -1, x.tokens > 0 ? x.tokens : -1,
                              x.cached > 0 ? x.cached : -1, x.reasoning > 0 ? x.reasoning : -1};
    r->usage_events = 1;
    r->stated_times = x.tokens > 0;
    r->stated_sum = x.tokens;
    r->prompt_sum = x.prompt;
    r->n1 = x.n1 > 0 ? x.n1 : -1;
    return r;
}

/* Judges one claim and hands it out; the audit keeps it. */
static inline const struct claim *scene_judge(struct audit *a, const struct audit_options *o,
                                              const char *text)
{
    struct err e = {0};
    if (claims_add(a, text, &e) != TA_OK)
        fail_msg("%s", e.msg);
    claims_judge(a, o);
    return &a->claims.v[a->claims.n - 1];
}

static inline void scene_figures(struct audit *a)
{
    made_figures(a, &audit_defaults);
}

static inline const struct cause *scene_cause(const struct claim *c, const char *id)
{
    for (size_t i = 0; i < c->causes.n; i++) {
        if (strcmp(c->causes.v[i].id, id) == 0)
            return &c->causes.v[i];
    }
    return NULL;
}

/* Judges the claim NAME=VALUE: is the cause named or not, and by its sign or by the number alone?
 */
static inline const struct claim *scene_expect(struct audit *a, const char *name, double value,
                                               const char *unit, const char *id, bool present,
                                               bool by_sign)
{
    char text[128];
    snprintf(text, sizeof text, "%s=%.6g%s", name, value, unit);
    const struct claim *c = scene_judge(a, &audit_defaults, text);
    const struct cause *found = scene_cause(c, id);
    if ((found != NULL) != present)
        fail_msg("%s: %s is %s; %s: %s", text, id, found != NULL ? "named" : "not named",
                 verdict_name(c->verdict), c->reason);
    if (found != NULL) {
        if (found->by_sign != by_sign)
            fail_msg("%s: %s %s", text, id, found->by_sign ? "by sign" : "by number");
        assert_true(interval_meets(found->interval, c->claimed_interval));
    }
    return c;
}

/* Deterministic, 0 <= x < 1. */
static inline double scene_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

#endif
