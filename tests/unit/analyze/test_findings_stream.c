/* How text is delivered: each manner, and a stream that is only like it. */
#include <math.h>

#include "tests/unit/analyze/finding_test.h"

/* A stream under construction: what comes with each read. */
struct stream {
    struct request *r;
    double t;
    uint64_t packet;
};

static struct stream begin_at(struct audit *a, double t0, int64_t tokens)
{
    struct request *r = scene_add(a, (struct act){.t0 = t0,
                                                  .head = t0 + 0.4,
                                                  .first = t0 + 0.5,
                                                  .last = t0 + 0.5,
                                                  .events = 0,
                                                  .tokens = tokens,
                                                  .prompt = 20});
    r->answer_ns = scene_ns(t0 + 0.5);
    r->usage_events = 1;
    return (struct stream){r, t0 + 0.5, 100};
}

static struct stream begin(struct audit *a, int64_t tokens)
{
    made_trace(a);
    return begin_at(a, 0, tokens);
}

/* After a while, so many events of so many bytes in one read. */
static void put(struct stream *s, double after, size_t events, uint32_t bytes)
{
    s->t += after;
    s->packet++;
    for (size_t i = 0; i < events; i++) {
        VEC_PUSH(&s->r->out, ((struct output_event){scene_ns(s->t), (uint32_t)s->packet, bytes}));
        s->r->text_bytes += bytes;
    }
    s->r->choice_ns = scene_ns(s->t);
    s->r->z = s->r->t_end = s->r->done_ns = scene_ns(s->t + 0.001);
}

/* Bytes on the wire from read to read. */
static void bursts(struct stream *s, double mean, double deviation, uint32_t n)
{
    s->r->bursts = (struct bursts){n, mean, deviation * deviation * (n - 1)};
}

static void expect(struct audit *a, const char *id)
{
    static const char *const all[] = {"stream.clumped",       "stream.fixed-bursts",
                                      "stream.coalesced",     "stream.steps",
                                      "stream.batched-piece", "stream.tokens-per-event"};
    finding_all(a, &audit_defaults);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (id != NULL && strcmp(id, all[i]) == 0)
            assert_int_equal(finding_needs(a, id)->evidence.n, 3 * a->requests.n);
        else
            finding_lacks(a, all[i]);
    }
    audit_free(a);
    *a = (struct audit){0};
}

static const size_t unlike[] = {7, 12, 3, 15, 9, 4, 11, 6, 14, 5, 8, 10};

static void clumps(double gap_s, bool every_read, const char *id)
{
    struct audit a = {0};
    struct stream s = begin(&a, 104);
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++) {
        for (size_t k = 0; every_read && k < unlike[i]; k++)
            put(&s, gap_s / (double)unlike[i], 1, 5);
        if (!every_read)
            put(&s, gap_s, unlike[i], 5);
    }
    bursts(&s, 2000, 900, 10);
    expect(&a, id);
}

static void p44_clumps_of_a_proxy(void **state)
{
    (void)state;
    clumps(0.2, false, "stream.clumped");
    clumps(0.2, true, NULL);
    clumps(0.004, false, NULL); /* a fast model: reads are as close as its tokens may be */
}

/* A lost packet holds the rest back. */
static void a_loss_is_no_buffer(void **state)
{
    (void)state;
    struct audit a = {0};
    struct stream s = begin(&a, 104);
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++)
        put(&s, 0.2, unlike[i], 5);
    s.r->retransmissions = 3;
    expect(&a, NULL);
}

static void sizes(double deviation, const char *id)
{
    struct audit a = {0};
    struct stream s = begin(&a, 12 * 20);
    for (size_t i = 0; i < 12; i++)
        put(&s, 0.3, i % 3 == 0 ? 19 : i % 3 == 1 ? 20 : 21, 5);
    bursts(&s, 4096, deviation, 10);
    expect(&a, id);
}

static void p45_bursts_of_one_size(void **state)
{
    (void)state;
    sizes(110, "stream.fixed-bursts");
    sizes(900, "stream.clumped"); /* the same events, of all sizes */
}

/* Streams of five reads each, of which the first and the last have what was there. */
static void short_ones(size_t streams, bool cut, double deviation, const char *id)
{
    struct audit a = {0};
    made_trace(&a);
    for (size_t k = 0; k < streams; k++) {
        struct stream s = begin_at(&a, 10 * (double)k, 5 * 24);
        for (size_t i = 0; i < 5; i++)
            put(&s, 0.24, 24, 5);
        bursts(&s, 4096, deviation, 3);
        s.r->straddling = cut ? 4 : 0;
    }
    expect(&a, id);
}

static void p45_bursts_of_one_size_in_short_streams(void **state)
{
    (void)state;
    short_ones(6, true, 30, "stream.fixed-bursts");
    short_ones(6, false, 30, NULL); /* whole events, as many each time: it may be on purpose */
    short_ones(6, true, 900, NULL); /* of all sizes */
    short_ones(2, true, 30, NULL);  /* few */
}

static void p48_as_many_events_each_time(void **state)
{
    (void)state;
    struct audit a = {0};
    struct stream s = begin(&a, 80);
    for (size_t i = 0; i < 10; i++)
        put(&s, 0.16, 8, 5);
    bursts(&s, 1600, 10, 8); /* so are the bytes: that is no buffer of a size */
    expect(&a, "stream.coalesced");
    struct stream pairs = begin(&a, 81); /* in packets of their own, right behind each other */
    put(&pairs, 0.1, 1, 5);
    for (size_t i = 0; i < 40; i++) {
        put(&pairs, 0.03, 1, 5);
        put(&pairs, 0.0001, 1, 5);
    }
    expect(&a, "stream.coalesced");
    pairs = begin(&a, 81);
    put(&pairs, 0.1, 1, 5);
    for (size_t i = 0; i < 40; i++) { /* of all lengths */
        put(&pairs, 0.03, 1, 5);
        put(&pairs, 0.01, 1, 5);
    }
    expect(&a, NULL);
}

/* Of n choices, a token each comes with every step of the model. */
static void steps_of_choices(double step_s, uint32_t choices, size_t even, size_t odd,
                             const char *id)
{
    struct audit a = {0};
    struct stream s = begin(&a, 0);
    for (size_t i = 0; i < 40; i++)
        put(&s, step_s, i % 2 == 0 ? even : odd, 5);
    s.r->usage.completion = (int64_t)s.r->out.n;
    s.r->asked.choices = s.r->choices_seen = choices;
    expect(&a, id);
}

static void p48_several_choices(void **state)
{
    (void)state;
    steps_of_choices(0.03, 2, 2, 2, NULL);
    steps_of_choices(0.03, 4, 4, 4, NULL);
    steps_of_choices(0.0405, 4, 4, 3, NULL);             /* one of them is shorter */
    steps_of_choices(0.03, 2, 4, 4, "stream.coalesced"); /* two steps at a time */
}

static void steps(double step_s, size_t even, size_t odd, const char *id)
{
    struct audit a = {0};
    struct stream s = begin(&a, 0);
    for (size_t i = 0; i < 40; i++)
        put(&s, step_s, i % 2 == 0 ? even : odd, 5);
    s.r->usage.completion = (int64_t)s.r->out.n;
    expect(&a, id);
}

static void p52_steps_of_40_ms(void **state)
{
    (void)state;
    steps(0.0405, 2, 3, "stream.steps");
    steps(0.0405, 1, 1, NULL);               /* a model of 25 tok/s */
    steps(0.0405, 2, 2, "stream.coalesced"); /* two tokens a step */
    steps(0.055, 2, 3, NULL);
    steps(0.0405, 1, 2, NULL); /* that pace, and now and then two in a packet */
}

/* 200 tokens of thinking in one event, then 100 one by one. */
static void batches(uint32_t largest, size_t others, int64_t tokens, const char *id)
{
    struct audit a = {0};
    struct stream s = begin(&a, tokens);
    put(&s, 2, 1, largest);
    for (size_t i = 0; i < others; i++)
        put(&s, 0.01, 1, 5);
    expect(&a, id);
}

static void p47_a_part_is_held_back(void **state)
{
    (void)state;
    batches(1000, 300, 500, "stream.batched-piece");
    batches(20, 300, 301, NULL);
    batches(1000, 300, 301, NULL);                     /* one long token, for all we know */
    batches(100, 300, 600, "stream.tokens-per-event"); /* that part is small */
    batches(40, 15, 60, "stream.tokens-per-event");    /* not so unlike the others */
}

/* A piece with most of the text, and behind it a rest that is streamed, or hardly any. */
static void piece(size_t others, bool streamed)
{
    struct audit a = {0};
    struct stream s = begin(&a, 200);
    put(&s, 1, 1, 700);
    for (size_t i = 0; i < others; i++)
        put(&s, 0.01, 1, 5);
    finding_all(&a, &audit_defaults);
    if (streamed)
        finding_lacks(&a, "stream.not-streamed");
    else
        finding_needs(&a, "stream.not-streamed");
    audit_free(&a);
}

static void a_stream_behind_a_piece_is_one(void **state)
{
    (void)state;
    piece(12, true);
    piece(4, false); /* 40 ms of it */
    piece(1, false);
}

static void tokens_of_an_event(int64_t tokens, int64_t hidden, const char *id)
{
    struct audit a = {0};
    struct stream s = begin(&a, tokens);
    for (size_t i = 0; i < 60; i++)
        put(&s, 0.03, 1, 9);
    s.r->usage.reasoning = hidden;
    expect(&a, id);
}

static void events_of_several_tokens(void **state)
{
    (void)state;
    tokens_of_an_event(120, -1, "stream.tokens-per-event");
    tokens_of_an_event(61, -1, NULL);
    tokens_of_an_event(300, 240, NULL); /* thinking that is not shown */
}

static void lines(uint32_t longest, enum outcome outcome, bool there)
{
    struct audit a = {0};
    struct stream s = begin(&a, 60);
    for (size_t i = 0; i < 60; i++)
        put(&s, 0.03, 1, 9);
    s.r->longest_event = longest;
    s.r->outcome = outcome;
    finding_all(&a, &audit_defaults);
    if (there)
        finding_needs(&a, "stream.long-line");
    else
        finding_lacks(&a, "stream.long-line");
    audit_free(&a);
}

static void p50_lines_too_long_for_somebody(void **state)
{
    (void)state;
    lines(70000, OUTCOME_CUT_SHORT, true);
    lines(70000, OUTCOME_SUCCESS, false);
    lines(900, OUTCOME_CUT_SHORT, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p44_clumps_of_a_proxy),
        cmocka_unit_test(a_loss_is_no_buffer),
        cmocka_unit_test(p45_bursts_of_one_size),
        cmocka_unit_test(p45_bursts_of_one_size_in_short_streams),
        cmocka_unit_test(p48_as_many_events_each_time),
        cmocka_unit_test(p48_several_choices),
        cmocka_unit_test(p52_steps_of_40_ms),
        cmocka_unit_test(p47_a_part_is_held_back),
        cmocka_unit_test(a_stream_behind_a_piece_is_one),
        cmocka_unit_test(events_of_several_tokens),
        cmocka_unit_test(p50_lines_too_long_for_somebody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
