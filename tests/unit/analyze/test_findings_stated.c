/* Counts and clocks that servers state, against the bytes: each where it is wrong, and a near miss.
 */
#include <math.h>

#include "tests/unit/analyze/finding_test.h"

static const struct act plain = {.t0 = 0,
                                 .head = 0.99,
                                 .first = 1.0,
                                 .last = 4.0,
                                 .end = 4.001,
                                 .events = 301,
                                 .tokens = 301,
                                 .prompt = 50,
                                 .max_tokens = 301};

typedef void change(struct request *r, double x);

/* One reply of 301 tokens in 301 events of 4 bytes, changed. */
static void reply(change *c, double x, const char *id, bool there)
{
    struct audit a = {0};
    made_trace(&a);
    c(scene_add(&a, plain), x);
    finding_scene(&a, &audit_defaults, id, there);
}

static void state_tokens(struct request *r, double n)
{
    r->usage.completion = (int64_t)n;
    r->asked.max_tokens = -1;
}

/* So many times, and nobody knows of which choices. */
static void state_of_choices(struct request *r, double n)
{
    state_tokens(r, -1);
    r->choices_seen = 2;
    r->stated_times = (uint32_t)n;
}

static void hide_reasoning(struct request *r, double n)
{
    r->usage.completion = 4000;
    r->usage.reasoning = (int64_t)n;
    r->asked.max_tokens = -1;
}

static void ask_twice(struct request *r, double n)
{
    r->usage.completion = (int64_t)n; /* of one of the two, for all we know */
    r->asked.choices = 2;
}

static void limit(struct request *r, double n)
{
    r->asked.max_tokens = (int64_t)n;
}

static void send_pictures(struct request *r, double n)
{
    r->asked.media = (int64_t)n; /* with 50 tokens of prompt, as stated */
}

static void send_one_read(struct request *r, double tokens)
{
    r->asked.media = 1;
    r->usage.prompt = (int64_t)tokens;
}

static void recount(struct request *r, double n)
{
    r->recounted = (int64_t)n;
}

static void count_up(struct request *r, double last)
{
    for (size_t i = 0; i < r->out.n; i++)
        request_state(r, i, (int32_t)i + 1);
    request_state(r, 200, (int32_t)last);
}

/* 2.5 times as many tokens as have text. */
static void think(struct request *r, double bytes)
{
    r->usage = (struct usage){50, 752, -1, 451};
    r->asked.max_tokens = -1;
    r->reasoning_bytes = (uint64_t)bytes;
    r->text_bytes += (uint64_t)bytes;
}

static void think_in_the_text(struct request *r, double n)
{
    r->usage.reasoning = (int64_t)n;
}

static void think_beside(struct request *r, double n)
{
    think(r, 0);
    r->usage.completion -= (int64_t)n;
}

static void think_in_one_piece(struct request *r, double tokens)
{
    think(r, 0);
    r->asked.stream = 0;
    r->stream_reply = false;
    r->usage.completion = (int64_t)tokens;
}

static void thinking(void **state)
{
    (void)state;
    reply(think, 0, "usage.thinking-unsent", true);
    reply(think, 1804, "usage.thinking-unsent", false);
    reply(think_in_the_text, 200, "usage.thinking-unsent", false);
    reply(think_in_the_text, 400, "usage.thinking-unsent", false); /* that is not counted */
    reply(think_beside, 451, "usage.thinking-unsent", false);
    reply(think_in_one_piece, 752, "usage.thinking-unsent", false); /* there is no such rate */
    struct audit a = {0};
    made_trace(&a);
    think(scene_add(&a, plain), 0);
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "usage.thinking-unsent");
    assert_string_equal(x->effects.v[0].metric, "output_tps_user");
    assert_true(fabs(x->effects.v[0].percent - 100 * (752.0 / 301 - 1)) < 1e-9);
    audit_free(&a);
}

static void think_aloud(struct request *r, double answer_tokens)
{
    r->usage.completion = (int64_t)answer_tokens;
    r->reasoning_bytes = 900; /* 200 of the 301 events, and more */
    r->content_events = 101;
    r->asked.max_tokens = -1;
}

static void think_aloud_in_pieces(struct request *r, double answer_tokens)
{
    think_aloud(r, answer_tokens);
    r->content_events = 60; /* several tokens an event, and some of both */
    r->out.n = 101;
}

static void think_aloud_with_total(struct request *r, double beside)
{
    think_aloud_in_pieces(r, 301);
    r->total_stated = 50 + 301 + (int64_t)beside;
    r->usage.cached = 40;
}

static void state_total(struct request *r, double beside)
{
    r->usage.reasoning = 451;
    r->usage.cached = 40;
    r->total_stated = 50 + 301 + (int64_t)beside;
}

static void state_total_alone(struct request *r, double beside)
{
    state_total(r, beside);
    r->usage.reasoning = -1;
}

static const struct recount_apart counted_apart = {.content = 101};

static void count_apart(struct request *r, double tokens)
{
    think_aloud_in_pieces(r, tokens);
    r->recounted = 301;
    r->apart = &counted_apart;
}

static void thinking_that_is_not_counted(void **state)
{
    (void)state;
    reply(think_aloud, 101, "usage.thinking-uncounted", true); /* as many as the answer's events */
    reply(think_aloud, 301, "usage.thinking-uncounted", false);
    reply(think_aloud_in_pieces, 180, "usage.thinking-uncounted", false); /* open, so not said */
    reply(think_aloud_with_total, 450, "usage.thinking-uncounted", true);
    reply(think_aloud_with_total, 0, "usage.thinking-uncounted", false);
    reply(think_aloud_with_total, 40, "usage.thinking-uncounted", false); /* the cached ones */
    reply(count_apart, 102, "usage.thinking-uncounted", true);
    reply(count_apart, 301, "usage.thinking-uncounted", false);
    reply(state_total, 451, "usage.thinking-beside", true);
    reply(state_total, 0, "usage.thinking-beside", false);
    reply(state_total, 40, "usage.thinking-beside", false);
    reply(state_total, 90, "usage.thinking-beside", false); /* what those are is open */
    reply(state_total_alone, 90, "usage.thinking-beside", true);
    reply(state_total, 451, "usage.thinking-unsent", false);
    struct audit a = {0};
    made_trace(&a);
    think_aloud_with_total(scene_add(&a, plain), 301);
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "usage.thinking-uncounted");
    assert_true(fabs(x->effects.v[0].percent + 50) < 1e-9);
    finding_lacks(&a, "usage.below-events");
    audit_free(&a);
}

/* Of best_of answers one is sent, and all are counted: 4 of 100 tokens may be 400. */
static void send_the_best(struct request *r, double n)
{
    r->asked.candidates = 4;
    r->asked.max_tokens = n < 1000 ? 100 : -1;
    r->usage.completion = (int64_t)n;
}

static void send_the_only(struct request *r, double n)
{
    send_the_best(r, n);
    r->asked.candidates = 1;
}

static void recount_of_four(struct request *r, double n)
{
    r->asked.candidates = 4;
    r->recounted = (int64_t)n;
}

static void counts(void **state)
{
    (void)state;
    reply(state_tokens, 200, "usage.below-events", true);
    reply(state_tokens, 300, "usage.below-events", false); /* the end is not counted */
    reply(ask_twice, 200, "usage.below-events", false);
    reply(state_tokens, 9000, "usage.text-too-short", true); /* 1204 bytes */
    reply(state_tokens, 2400, "usage.text-too-short", false);
    reply(hide_reasoning, 3600, "usage.text-too-short", false); /* stated as hidden */
    reply(hide_reasoning, 100, "usage.text-too-short", true);
    reply(limit, 250, "usage.above-limit", true);
    reply(limit, 300, "usage.above-limit", false);
    reply(send_the_best, 400, "usage.above-limit", false);
    reply(send_the_best, 403, "usage.above-limit", true);
    reply(send_the_best, 9000, "usage.text-too-short", false);
    reply(recount_of_four, 75, "usage.recount", false);
    reply(send_the_only, 400, "usage.above-limit", true);
    reply(send_the_only, 9000, "usage.text-too-short", true);
    reply(recount, 290, "usage.recount", true);
    reply(recount, 299, "usage.recount", false); /* marks of begin and end */
    reply(recount, -1, "usage.recount", false);
    reply(count_up, 100, "usage.decreasing", true);
    reply(count_up, 200, "usage.decreasing", false); /* as before */
    reply(send_pictures, 1, "usage.media", true);
    reply(send_pictures, 0, "usage.media", false);
    reply(send_one_read, 300, "usage.media", false);
    reply(state_tokens, -1, "usage.missing", true);
    reply(state_tokens, 301, "usage.missing", false);
    reply(state_of_choices, 0, "usage.missing", true);
    reply(state_of_choices, 2, "usage.missing", false); /* it stated some, of whatever */
}

static void long_text(double bytes, bool there)
{
    struct audit a = {0};
    struct act x = plain;
    made_trace(&a);
    x.event_bytes = (uint32_t)bytes;
    scene_add(&a, x);
    finding_scene(&a, &audit_defaults, "usage.text-too-long", there);
}

static void a_token_holds_so_much(void **state)
{
    (void)state;
    long_text(60, true);
    long_text(20, false);
}

static void a_recount_is_weighed(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    scene_add(&a, plain)->recounted = 430;
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "usage.recount");
    assert_true(fabs(x->effects.v[0].percent + 30) < 1e-9); /* 301 of 430 */
    assert_int_equal(x->evidence.n, 3);
    audit_free(&a);
}

/* --- clocks ----------------------------------------------------------------------------------- */

static void state_times(struct request *r, double predicted_ms)
{
    r->timings.prompt_n = 50;
    r->timings.prompt_ms = 950;
    r->timings.predicted_ms = predicted_ms;
    r->timings.predicted_n = 301;
}

static void state_prompt(struct request *r, double ms)
{
    r->timings.prompt_ms = ms;
}

static void state_rate(struct request *r, double rate)
{
    r->timings.predicted_per_second = rate;
}

/* 100 tokens in 1 s, by its own count and clock. */
static void state_all(struct request *r, double rate)
{
    r->timings.predicted_n = 100;
    r->timings.predicted_ms = 1000;
    r->timings.predicted_per_second = rate;
}

static void state_none(struct request *r, double rate)
{
    state_all(r, rate);
    r->timings.predicted_ms = NAN;
}

/* 2 s in all, 0.9 s of it generation. */
static void state_parts(struct request *r, double prompt_ms)
{
    r->timings.total_ms = 2000;
    r->timings.predicted_ms = 900;
    r->timings.load_ms = 50;
    r->timings.prompt_ms = prompt_ms;
}

static void evaluate(struct request *r, double n)
{
    r->timings.prompt_n = n;
}

static void clocks(void **state)
{
    (void)state;
    reply(state_times, 3500, "timings.too-long", true);
    reply(state_times, 3100, "timings.too-long", false); /* 4.05 s of 4.001: they round */
    reply(state_prompt, 200, "timings.hide-wait", true);
    reply(state_prompt, 910, "timings.hide-wait", false);
    reply(state_prompt, 850, "timings.hide-wait", false); /* 150 ms are not a fifth of it */
    reply(state_parts, 300, "timings.gap", true);
    reply(state_parts, 1000, "timings.gap", false);
    reply(state_rate, 130, "timings.rate-differs", true);
    reply(state_rate, 105, "timings.rate-differs", false);
    reply(state_all, 130, "timings.contradiction", true);
    reply(state_all, 100, "timings.contradiction", false);
    reply(state_all, 110.9, "timings.contradiction", false);
    reply(state_none, 130, "timings.contradiction", false); /* over which time is not stated */
    reply(evaluate, 1, "timings.nothing-evaluated", true);
    reply(evaluate, 50, "timings.nothing-evaluated", false);
}

static void state_rate_of_lossy(struct request *r, double rate)
{
    state_rate(r, rate);
    r->retransmissions = 1;
}

/* Ten events to a packet, 100 ms apart: whoever put them together may have kept them, too. */
static void state_rate_of_clumps(struct request *r, double rate)
{
    state_rate(r, rate);
    for (size_t k = 0; k < r->out.n; k++) {
        r->out.v[k].t_ns = r->out.v[k - k % 10].t_ns;
        r->out.v[k].packet = r->out.v[k - k % 10].packet;
    }
}

/* The first 1.9 s of the text came in the last 0.1 s: a proxy held it back, and 100 is true. */
static void state_rate_of_kept_back(struct request *r, double rate)
{
    state_rate(r, rate);
    for (size_t k = 0; k < r->out.n; k++)
        r->out.v[k].t_ns = scene_ns(3.9 + 0.1 * (double)k / 300);
}

/* 301 tokens in 0.3 s, behind a prompt of so long: the text came after 1 s, 100 tok/s. */
static void state_quick(struct request *r, double prompt_ms)
{
    r->timings.prompt_ms = prompt_ms;
    r->timings.predicted_n = 301;
    r->timings.predicted_ms = 300;
    r->timings.predicted_per_second = 1000;
}

/* What a front sends evenly that has all of it when it begins was generated as fast as stated. */
static void text_that_is_paced_after_it_was_made(void **state)
{
    (void)state;
    reply(state_quick, 690, "timings.above-window", false);
    reply(state_quick, 690, "timings.rate-differs", false);
    reply(state_quick, 690, "timings.hide-wait", false);
    reply(state_quick, 95, "timings.hide-wait", true);     /* 0.6 s are in neither time */
    reply(state_quick, 800, "timings.above-window", true); /* it can't have been over by then */
}

/* 301 tokens, one after the other in 3 s: 100 tok/s. */
static void a_rate_has_a_window(void **state)
{
    (void)state;
    reply(state_rate, 1000, "timings.above-window", true);
    reply(state_all, 300, "timings.above-window", true);
    reply(state_times, 300, "timings.above-window", true); /* 301 tokens in 0.3 s */
    reply(state_times, 2900, "timings.above-window", false);
    reply(state_rate, 130, "timings.above-window", false); /* it may count otherwise */
    reply(state_rate, 30, "timings.above-window", false);
    reply(state_rate_of_lossy, 1000, "timings.above-window", false);
    reply(state_rate_of_clumps, 1000, "timings.above-window", false);
    reply(state_rate_of_kept_back, 100, "timings.above-window", false);
    struct audit a = {0};
    made_trace(&a);
    struct request *r = scene_add(&a, plain);
    state_rate(r, 1000);
    r->zero_windows = 1; /* the client made it wait, and that is said */
    finding_all(&a, &audit_defaults);
    finding_lacks(&a, "timings.above-window");
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a);
    state_all(scene_add(&a, plain), 300);
    finding_all(&a, &audit_defaults);
    finding_needs(&a, "timings.above-window");
    finding_lacks(&a, "timings.rate-differs"); /* one fact, said once */
    finding_lacks(&a, "timings.contradiction");
    audit_free(&a);
}

static void a_rate_has_a_roof(void **state)
{
    (void)state;
    struct audit a = {0};
    struct audit_options o = audit_defaults;
    o.bandwidth = UINT64_C(200) * 1000 * 1000 * 1000;
    o.active_bytes = UINT64_C(3) * 1000 * 1000 * 1000; /* 66.7 tok/s; the scene has 100 */
    made_trace(&a);
    scene_add(&a, plain);
    finding_all(&a, &o);
    const struct finding *x = finding_needs(&a, "server.above-bandwidth");
    assert_true(fabs(x->effects.v[0].percent - 50) < 0.1);
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a);
    scene_add(&a, plain);
    o.active_bytes = UINT64_C(2) * 1000 * 1000 * 1000; /* just 100 */
    finding_scene(&a, &o, "server.above-bandwidth", false);
    made_trace(&a);
    scene_add(&a, plain);
    finding_scene(&a, &audit_defaults, "server.above-bandwidth", false);
}

/* --- one prompt, several counts --------------------------------------------------------------- */

static void same_prompt(int64_t second, const char *other_body, bool there)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++) {
        struct act x = plain;
        x.t0 = 10 * i;
        x.head = x.first = x.t0 + 1;
        x.last = x.end = x.t0 + 4;
        x.prompt = i == 1 ? second : 1000;
        scene_add(&a, x)->body_sha256 = i == 1 ? other_body : "a";
    }
    finding_scene(&a, &audit_defaults, "usage.prompt-varies", there);
}

static void prompts_keep_their_length(void **state)
{
    (void)state;
    same_prompt(5, "a", true);
    same_prompt(1000, "a", false);
    same_prompt(5, "b", false);
}

static int covered(void **state)
{
    (void)state;
    return finding_covered("usage.") + finding_covered("timings.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(thinking),
        cmocka_unit_test(thinking_that_is_not_counted),
        cmocka_unit_test(text_that_is_paced_after_it_was_made),
        cmocka_unit_test(a_rate_has_a_window),
        cmocka_unit_test(a_token_holds_so_much),
        cmocka_unit_test(a_recount_is_weighed),
        cmocka_unit_test(clocks),
        cmocka_unit_test(a_rate_has_a_roof),
        cmocka_unit_test(prompts_keep_their_length),
    };
    return cmocka_run_group_tests(tests, NULL, covered);
}
