/* Tokens that are counted and have no text: marks around calls of tools and thinking, and thinking
 * that is hidden. What replies say of them, and that nobody is accused for them; each beside a near
 * miss, where somebody is. */
#include <math.h>

#include "analyze/metrics_marks.h"
#include "analyze/saying.h"
#include "tests/unit/analyze/finding_test.h"

/* --- what is seen of them ----------------------------------------------------------------- */

/* A reply whose n-th event comes in a packet of its own. */
static struct request said(const struct dialect *d, const char *const *events)
{
    struct request r = {.dialect = d, .n1 = -1, .usage = usage_none, .timings = timings_none};
    struct arena texts = {0};
    struct buf scratch;
    struct saying s = {.r = &r, .texts = &texts};
    const char *why;
    buf_init(&scratch, 1 << 20);
    for (uint32_t n = 0; events[n] != NULL; n++) {
        struct mark last = {.t_ready = n, .rel = n};
        struct event ev = {.kind = EVENT_DATA,
                           .type = slice_of("message"),
                           .data = slice_of(events[n]),
                           .index = n,
                           .last = last};
        assert_int_equal(saying_event(&s, &ev, last, &scratch), TA_OK);
    }
    saying_settle(&s);
    recount_done(&s.recount, &why);
    saying_done(&s);
    buf_done(&scratch);
    arena_free(&texts);
    return r;
}

#define CHAT(delta) "{\"choices\":[{\"index\":0,\"delta\":" delta "}]}"
#define CALL(function) CHAT("{\"tool_calls\":[{\"index\":0,\"function\":" function "}]}")

static const char *const two_calls[] = {CHAT("{\"role\":\"assistant\"}"),
                                        CALL("{\"name\":\"look\",\"arguments\":\"\"}"),
                                        CALL("{\"arguments\":\"{\\\"name\\\":\"}"),
                                        CALL("{\"arguments\":\" 1}\"}"),
                                        CALL("{\"name\":\"find\",\"arguments\":\"{}\"}"),
                                        NULL};

static const char *const thought_and_call[] = {CHAT("{\"reasoning_content\":\"I\"}"),
                                               CHAT("{\"reasoning_content\":\" see\"}"),
                                               CHAT("{\"content\":\"Yes\"}"),
                                               CHAT("{\"content\":\".\"}"),
                                               CALL("{\"name\":\"look\",\"arguments\":\"{}\"}"),
                                               CHAT("{\"content\":\"?\"}"),
                                               NULL};

static const char *const two_choices[] = {
    CHAT("{\"content\":\"A\"}"),
    "{\"choices\":[{\"index\":1,\"delta\":{\"reasoning_content\":\"B\"}}]}",
    CHAT("{\"content\":\"C\"}"), NULL};

static void turns_are_where_marks_were_generated(void **state)
{
    (void)state;
    struct request r = said(&dialect_openai_chat, two_calls);
    assert_int_equal(r.calls, 2); /* an argument called "name" is none */
    assert_int_equal(r.thoughts, 0);
    assert_int_equal(r.first_kind, DELTA_TOOL);
    assert_int_equal(r.last_kind, DELTA_TOOL);
    assert_int_equal(r.turns.n, 1);
    assert_int_equal(r.turns.v[0].event, 3);
    request_free(&r);
    r = said(&dialect_openai_chat, thought_and_call);
    assert_int_equal(r.calls, 1);
    assert_int_equal(r.thoughts, 1);
    assert_int_equal(r.first_kind, DELTA_REASONING);
    assert_int_equal(r.last_kind, DELTA_TEXT);
    assert_int_equal(r.turns.n, 3);
    assert_int_equal(r.turns.v[0].event, 2);
    assert_int_equal(r.turns.v[2].event, 5);
    request_free(&r);
    r = said(&dialect_openai_chat, two_choices); /* they come between each other: no turns */
    assert_int_equal(r.turns.n, 0);
    request_free(&r);
}

static void each_dialect_names_its_calls(void **state)
{
    (void)state;
    static const struct {
        const struct dialect *d;
        const char *events[4];
        uint32_t calls;
    } rows[] = {
        {&dialect_openai_chat,
         {CHAT("{\"function_call\":{\"name\":\"f\",\"arguments\":\"{}\"}}")},
         1},
        {&dialect_openai_responses,
         {"{\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":"
          "\"f\",\"arguments\":\"\"}}",
          "{\"type\":\"response.function_call_arguments.delta\",\"delta\":\"{}\"}"},
         1},
        {&dialect_anthropic_messages,
         {"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\","
          "\"name\":\"f\",\"input\":{}}}",
          "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\","
          "\"partial_json\":\"{}\"}}",
          "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
          "\"name\":\"g\",\"input\":{}}}"},
         2},
        {&dialect_ollama_chat,
         {"{\"model\":\"m\",\"created_at\":\"x\",\"message\":{\"content\":\"\",\"tool_calls\":[{"
          "\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}},{\"function\":{\"name\":\"g\","
          "\"arguments\":{}}}]},\"done\":false}"},
         2},
        {&dialect_lmstudio_chat,
         {"{\"type\":\"tool_call.start\",\"tool\":\"f\"}",
          "{\"type\":\"tool_call.arguments\",\"tool\":\"f\",\"arguments\":{\"a\":1}}"},
         1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request r = said(rows[i].d, rows[i].events);
        if (r.calls != rows[i].calls || r.first_kind != DELTA_TOOL)
            fail_msg("%s: %u calls", rows[i].d->name, r.calls);
        request_free(&r);
    }
}

#define BLOCK(type, more)                                                                          \
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"" type "\"" more  \
    "}}"
#define PIECE(delta) "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{" delta "}}"

/* A signature ends thinking: where no text of it came, it was left out. */
static void thinking_is_hidden(void **state)
{
    (void)state;
    static const struct {
        const char *events[5];
        bool hidden;
    } rows[] = {
        {{BLOCK("redacted_thinking", ",\"data\":\"EuYB\""), BLOCK("text", ",\"text\":\"\""),
          PIECE("\"text\":\"Yes\"")},
         true},
        {{BLOCK("thinking", ",\"thinking\":\"\",\"signature\":\"\""),
          PIECE("\"signature\":\"EuYB\""), PIECE("\"text\":\"Yes\"")},
         true},
        {{BLOCK("thinking", ",\"thinking\":\"\""), PIECE("\"thinking\":\"Hm\""),
          PIECE("\"signature\":\"EuYB\""), PIECE("\"text\":\"Yes\"")},
         false},
        {{BLOCK("thinking", ",\"thinking\":\"\""), PIECE("\"thinking\":\"Hm\""),
          BLOCK("redacted_thinking", ",\"data\":\"EuYB\""), PIECE("\"text\":\"Yes\"")},
         true},
        {{BLOCK("text", ",\"text\":\"\""), PIECE("\"text\":\"redacted_thinking\"")}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request r = said(&dialect_anthropic_messages, rows[i].events);
        if (r.hidden != rows[i].hidden)
            fail_msg("row %zu: hidden is %d", i, r.hidden);
        assert_int_equal(r.choice_ns, r.out.n > 0 ? r.out.v[r.out.n - 1].t_ns : -1);
        request_free(&r);
    }
}

/* --- scenes ------------------------------------------------------------------------------- */

/* As a Hermes parser sends it: 12 tokens of marks, then the name, then 14 pieces of arguments at
 * 20 ms each; 4 tokens end it. By the tokenizer, the text has 16. */
static const struct act call = {.t0 = 0,
                                .head = 0.1,
                                .role = 0.1,
                                .first = 0.36,
                                .last = 0.64,
                                .end = 0.72,
                                .events = 15,
                                .tokens = 31,
                                .prompt = 150};

static struct request *add(struct audit *a, struct act x, enum delta_kind first,
                           enum delta_kind last)
{
    struct request *r = scene_add(a, x);
    r->first_kind = first;
    r->last_kind = last;
    r->choice_ns = r->z;
    r->tool_bytes = first == DELTA_TOOL ? r->text_bytes : 0;
    r->calls = first == DELTA_TOOL || last == DELTA_TOOL;
    r->thoughts = first == DELTA_REASONING;
    return r;
}

typedef void change(struct request *r, double x);

static void nothing(struct request *r, double x)
{
    (void)r;
    (void)x;
}

static void judge(struct act x, enum delta_kind first, enum delta_kind last, change *c, double by,
                  const char *text, enum verdict v)
{
    struct audit a = {0};
    made_trace(&a);
    c(add(&a, x, first, last), by);
    scene_figures(&a);
    const struct claim *claim = scene_judge(&a, &audit_defaults, text);
    if (claim->verdict != v)
        fail_msg("%s: %s: %s", text, verdict_name(claim->verdict), claim->reason);
    audit_free(&a);
}

static void hide(struct request *r, double x)
{
    r->hidden = x > 0;
}

static void state_each(struct request *r, double first)
{
    for (size_t k = 0; k < r->out.n; k++)
        request_state(r, k, (int64_t)first + (int64_t)k);
    r->n1 = (int64_t)first;
}

static void state_pairs(struct request *r, double first)
{
    for (size_t k = 0; k < r->out.n; k++)
        request_state(r, k, (int64_t)first + 2 * (int64_t)k);
    r->n1 = (int64_t)first;
}

static void rates_that_marks_blur(void **state)
{
    (void)state;
    static const struct {
        const char *claim;
        enum verdict v;
    } first[] = {
        {"rate@1=50", VERDICT_NOT_MEASURABLE},   /* the truth */
        {"tpot@1=20ms", VERDICT_NOT_MEASURABLE}, /* again */
        {"rate@1=107", VERDICT_NOT_MEASURABLE},  /* (N - 1) / (o_M - o_1): who knows */
        {"rate@1=30", VERDICT_DIFFERS},          /* slower than the whole request */
    };
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        judge(call, DELTA_TOOL, DELTA_TOOL, nothing, 0, first[i].claim, first[i].v);
    judge(call, DELTA_TEXT, DELTA_TEXT, nothing, 0, "rate@1=50", VERDICT_DIFFERS);
    judge(call, DELTA_TEXT, DELTA_TEXT, nothing, 0, "rate@1=107", VERDICT_CONFIRMED);
    /* Where each event states its count, it is known. */
    struct act stated = call;
    stated.tokens = 28;
    judge(stated, DELTA_TOOL, DELTA_TOOL, state_each, 13, "rate@1=53.6", VERDICT_CONFIRMED);
    judge(stated, DELTA_TOOL, DELTA_TOOL, state_each, 13, "rate@1=96", VERDICT_DIFFERS);
    stated.tokens = 13 + 14 * 2 + 1; /* and two with each event */
    judge(stated, DELTA_TOOL, DELTA_TOOL, state_pairs, 13, "rate@1=104", VERDICT_CONFIRMED);
    judge(stated, DELTA_TOOL, DELTA_TOOL, nothing, 0, "rate@1=104", VERDICT_NOT_MEASURABLE);
    /* A long call: what is before its name is within the interval. 20 ms each. */
    struct act longer = call;
    longer.events = 1001;
    longer.tokens = 1001 + 12 + 4;
    longer.last = 0.36 + 20;
    longer.end = longer.last + 0.08;
    judge(longer, DELTA_TOOL, DELTA_TOOL, nothing, 0, "rate@1=50", VERDICT_CONFIRMED);
    judge(longer, DELTA_TOOL, DELTA_TOOL, nothing, 0, "rate@1=45", VERDICT_DIFFERS);
}

/* Text, and behind it a call: its marks lie between, but for those that end it. */
static void a_call_behind_text(void **state)
{
    (void)state;
    struct act x = call;
    x.tokens = 41 + 4;
    x.events = 27;
    x.first = 0.6;
    x.last = 0.6 + 40 * 0.02;
    x.end = x.last + 5 * 0.02; /* a finish behind all tokens */
    judge(x, DELTA_TEXT, DELTA_TOOL, nothing, 0, "rate@1=50", VERDICT_NOT_MEASURABLE);
    judge(x, DELTA_TEXT, DELTA_TOOL, nothing, 0, "rate@1=44", VERDICT_NOT_MEASURABLE);
    judge(x, DELTA_TEXT, DELTA_TEXT, nothing, 0, "rate@1=50", VERDICT_DIFFERS);
    x.end = x.last + 0.01; /* there was no time for more */
    x.tokens = 41;
    judge(x, DELTA_TEXT, DELTA_TOOL, nothing, 0, "rate@1=50", VERDICT_CONFIRMED);
    judge(x, DELTA_TEXT, DELTA_TOOL, nothing, 0, "rate@1=46", VERDICT_DIFFERS);
}

/* "<think>\n" was before the first text; where the prompt ends with it, it was not. */
static void marks_before_thinking(void **state)
{
    (void)state;
    struct act x = call;
    x.tokens = 44;
    x.events = 40;
    x.first = 0.14;
    x.last = 0.14 + 41 * 0.02;
    x.end = x.last + 0.02;
    judge(x, DELTA_REASONING, DELTA_TEXT, nothing, 0, "rate@1=50", VERDICT_CONFIRMED);
    judge(x, DELTA_REASONING, DELTA_TEXT, nothing, 0, "rate@1=52.4", VERDICT_CONFIRMED);
    judge(x, DELTA_REASONING, DELTA_TEXT, nothing, 0, "rate@1=45", VERDICT_DIFFERS);
    judge(x, DELTA_TEXT, DELTA_TEXT, nothing, 0, "rate@1=50", VERDICT_DIFFERS);
}

/* All of the thinking in the first piece: who knows how many tokens it is. */
static void hold_first(struct request *r, double bytes)
{
    r->text_bytes += (uint64_t)bytes - r->out.v[0].bytes;
    r->out.v[0].bytes = (uint32_t)bytes;
}

static void a_first_piece_that_was_held_back(void **state)
{
    (void)state;
    struct act x = {.t0 = 0,
                    .first = 0.7,
                    .last = 0.7 + 22 * 0.02,
                    .end = 1.16,
                    .events = 23,
                    .tokens = 56,
                    .prompt = 50};
    judge(x, DELTA_REASONING, DELTA_TEXT, hold_first, 110, "rate@1=50", VERDICT_NOT_MEASURABLE);
    judge(x, DELTA_REASONING, DELTA_TEXT, hold_first, 110, "rate@1=125", VERDICT_DIFFERS); /* P47 */
    judge(x, DELTA_TEXT, DELTA_TEXT, hold_first, 4, "rate@1=55", VERDICT_DIFFERS);
}

/* "<think>\n" before, "</tool_call>" and the end behind: 20 ms each. */
static void thinking_and_a_call(void **state)
{
    (void)state;
    struct act x = {.t0 = 0,
                    .head = 0.1,
                    .first = 0.14,
                    .last = 0.14 + 36 * 0.02,
                    .end = 0.14 + 39 * 0.02,
                    .events = 22,
                    .tokens = 42,
                    .prompt = 150};
    judge(x, DELTA_REASONING, DELTA_TOOL, nothing, 0, "rate@1=50", VERDICT_NOT_MEASURABLE);
    judge(x, DELTA_TEXT, DELTA_TEXT, nothing, 0, "rate@1=50", VERDICT_DIFFERS);
    x.events = 42 - 2; /* no more tokens than that have no event */
    judge(x, DELTA_REASONING, DELTA_TOOL, nothing, 0, "rate@1=55", VERDICT_CONFIRMED);
    judge(x, DELTA_REASONING, DELTA_TOOL, nothing, 0, "rate@1=50", VERDICT_DIFFERS);
}

static void hidden_thinking_leaves_no_rate(void **state)
{
    (void)state;
    struct act x = {.t0 = 0,
                    .head = 0.01,
                    .first = 2.12,
                    .last = 2.94,
                    .end = 2.96,
                    .events = 40,
                    .tokens = 141,
                    .prompt = 50};
    judge(x, DELTA_TEXT, DELTA_TEXT, hide, 1, "rate@1=50", VERDICT_NOT_MEASURABLE);
    judge(x, DELTA_TEXT, DELTA_TEXT, hide, 1, "tpot@1=20ms", VERDICT_NOT_MEASURABLE);
    judge(x, DELTA_TEXT, DELTA_TEXT, hide, 1, "rate@1=172", VERDICT_DIFFERS); /* P26 */
    judge(x, DELTA_TEXT, DELTA_TEXT, hide, 0, "rate@1=50", VERDICT_DIFFERS);
    struct audit a = {0};
    made_trace(&a);
    struct request *r = add(&a, x, DELTA_TEXT, DELTA_TEXT);
    r->hidden = true;
    r->recounted = 40;
    finding_all(&a, &audit_defaults);
    assert_int_equal(r->metrics[M_TPOT].grade, GRADE_NOT_MEASURABLE);
    finding_needs(&a, "usage.thinking-unsent");
    const struct cause *c = scene_cause(scene_judge(&a, &audit_defaults, "rate@1=172"), "P26");
    assert_true(c != NULL && c->by_sign);
    finding_lacks(&a, "usage.recount");
    finding_lacks(&a, "stream.tokens-per-event");
    audit_free(&a);
    made_trace(&a);
    r = add(&a, x, DELTA_TEXT, DELTA_TEXT);
    r->recounted = 40;
    finding_all(&a, &audit_defaults);
    finding_lacks(&a, "usage.thinking-unsent");
    finding_needs(&a, "usage.recount");
    finding_needs(&a, "stream.tokens-per-event");
    audit_free(&a);
}

/* --- findings ----------------------------------------------------------------------------- */

static void find(struct act x, change *c, double by, const char *id, bool there)
{
    struct audit a = {0};
    made_trace(&a);
    c(add(&a, x, DELTA_TOOL, DELTA_TOOL), by);
    finding_scene(&a, &audit_defaults, id, there);
}

static void count(struct request *r, double n)
{
    r->recounted = (int64_t)n;
}

static void count_text(struct request *r, double n)
{
    r->first_kind = r->last_kind = DELTA_TEXT;
    r->calls = 0;
    r->tool_bytes = 0;
    r->recounted = (int64_t)n;
}

static void count_thinking(struct request *r, double n)
{
    count_text(r, n);
    r->first_kind = DELTA_REASONING;
    r->thoughts = 1;
}

static void what_marks_explain(void **state)
{
    (void)state;
    struct act x = call;
    find(x, count, 16, "usage.recount", false);
    find(x, count_text, 16, "usage.recount", true);
    find(x, count_text, 25, "usage.recount", false); /* 6 that mark or end any reply */
    find(x, count_text, 24, "usage.recount", true);
    find(x, count_text, 34, "usage.recount", true); /* no mark makes fewer of them */
    find(x, count, 34, "usage.recount", false);     /* arguments written anew may */
    find(x, count, 90, "usage.recount", true);
    find(x, count_thinking, 13, "usage.recount", false);
    find(x, count_thinking, 12, "usage.recount", true);
    x.tokens = 16 + MARKS_CALL + 6;
    find(x, count, 16, "usage.recount", false);
    x.tokens++;
    find(x, count, 16, "usage.recount", true);
    find(call, nothing, 0, "stream.tokens-per-event", false);
    x = call;
    x.tokens = 15 * 3 / 2 + MARKS_CALL;
    find(x, nothing, 0, "stream.tokens-per-event", false);
    x.tokens += 2;
    find(x, nothing, 0, "stream.tokens-per-event", true);
}

static void name_in_one_piece(struct request *r, double bytes)
{
    r->asked.stream = 1;
    r->text_bytes += (uint64_t)bytes - r->out.v[0].bytes;
    r->tool_bytes = r->text_bytes;
    r->out.v[0].bytes = (uint32_t)bytes;
}

/* A name and no arguments is no stream that was not given; a long call in one piece is. */
static void short_calls(void **state)
{
    (void)state;
    struct act x = {.t0 = 0,
                    .first = 0.4,
                    .last = 0.46,
                    .end = 0.5,
                    .events = 2,
                    .event_bytes = 2,
                    .tokens = 17,
                    .prompt = 50};
    find(x, name_in_one_piece, 11, "stream.not-streamed", false);
    x.tokens = 200;
    find(x, name_in_one_piece, 600, "stream.not-streamed", true);
}

static void state_clock(struct request *r, double prompt_ms)
{
    r->timings.prompt_ms = prompt_ms;
    r->timings.predicted_ms = 31 * 20;
    r->timings.predicted_n = 31;
    r->timings.predicted_per_second = 50;
}

static void state_prompt_alone(struct request *r, double prompt_ms)
{
    r->timings.prompt_ms = prompt_ms;
}

static void state_clock_of_text(struct request *r, double prompt_ms)
{
    count_text(r, -1);
    state_clock(r, prompt_ms);
    r->timings.predicted_per_second = NAN;
    r->timings.predicted_n = NAN;
}

static void state_prompt_of_text(struct request *r, double prompt_ms)
{
    count_text(r, -1);
    state_prompt_alone(r, prompt_ms);
}

/* As llama.cpp states it, whose parser held the marks back. */
static void a_clock_that_is_right(void **state)
{
    (void)state;
    static const char *const all[] = {"timings.rate-differs", "timings.hide-wait",
                                      "timings.above-window", "stream.tokens-per-event",
                                      "usage.recount",        "stream.not-streamed"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        find(call, state_clock, 95, all[i], false);
    find(call, state_prompt_alone, 95, "timings.hide-wait", false);
    find(call, state_clock_of_text, 95, "timings.hide-wait", false); /* it was generating */
    find(call, state_prompt_of_text, 95, "timings.hide-wait", true);
    struct act late = call; /* it waited for 2 s */
    late.head += 2;
    late.role += 2;
    late.first += 2;
    late.last += 2;
    late.end += 2;
    find(late, state_clock, 95, "timings.hide-wait", true);
}

static void state_rate(struct request *r, double rate)
{
    r->first_kind = DELTA_REASONING;
    r->last_kind = DELTA_TEXT;
    r->calls = 0;
    r->tool_bytes = 0;
    r->thoughts = 1;
    r->timings.predicted_per_second = rate;
}

/* 29 tokens behind o_1, of which the marks and the end may be 4. */
static void a_rate_that_is_near_enough(void **state)
{
    (void)state;
    struct act x = call;
    x.tokens = 30;
    x.events = 26;
    find(x, state_rate, 29 / 0.28 * 0.85, "timings.rate-differs", false);
    find(x, state_rate, 29 / 0.28 * 0.75, "timings.rate-differs", true);
    find(x, state_rate, 29 / 0.28 * 1.15, "timings.rate-differs", true);
}

/* Three streams, one after the other, that pause six times each. Parsers hold back the marks before
 * a call, or between thinking and text, and values within a call's arguments. */
static void paused(enum delta_kind first, enum delta_kind other, uint32_t turn_at, bool stalls)
{
    struct audit a = {0};
    made_trace(&a);
    for (int k = 0; k < 3; k++) {
        double t = 10.0 * k + 0.5;
        struct request *r = add(
            &a, (struct act){.t0 = 10.0 * k, .first = t, .last = t, .events = 300, .tokens = 400},
            first, other);
        for (uint32_t i = 0; i < 300; i++) {
            t += i == 0 ? 0 : i % 50 == 0 ? 0.5 : 0.02;
            r->out.v[i].t_ns = scene_ns(t);
            if (turn_at > 0 && i > 0 && i % 50 == turn_at % 50)
                VEC_PUSH(&r->turns, ((struct text_turn){i, i % 100 < 50 ? other : first}));
        }
        r->t_end = r->z = r->done_ns = r->choice_ns = r->out.v[299].t_ns;
    }
    finding_all(&a, &audit_defaults);
    if (stalls)
        finding_needs(&a, "server.recurring-stalls");
    else
        finding_lacks(&a, "server.recurring-stalls");
    audit_free(&a);
}

static void gaps_at_marks_are_no_stalls(void **state)
{
    (void)state;
    paused(DELTA_TEXT, DELTA_TEXT, 0, true);
    paused(DELTA_TOOL, DELTA_TOOL, 0, false);
    paused(DELTA_TEXT, DELTA_REASONING, 50, false);
    paused(DELTA_TEXT, DELTA_REASONING, 20, true); /* the pauses are elsewhere */
}

static void prompt_rates(void **state)
{
    (void)state;
    judge(call, DELTA_TOOL, DELTA_TOOL, nothing, 0, "prompt_rate@1=417", VERDICT_NOT_MEASURABLE);
    judge(call, DELTA_TEXT, DELTA_TEXT, nothing, 0, "prompt_rate@1=417", VERDICT_CONFIRMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_where_marks_were_generated),
        cmocka_unit_test(each_dialect_names_its_calls),
        cmocka_unit_test(thinking_is_hidden),
        cmocka_unit_test(rates_that_marks_blur),
        cmocka_unit_test(a_call_behind_text),
        cmocka_unit_test(marks_before_thinking),
        cmocka_unit_test(a_first_piece_that_was_held_back),
        cmocka_unit_test(thinking_and_a_call),
        cmocka_unit_test(hidden_thinking_leaves_no_rate),
        cmocka_unit_test(what_marks_explain),
        cmocka_unit_test(short_calls),
        cmocka_unit_test(a_clock_that_is_right),
        cmocka_unit_test(a_rate_that_is_near_enough),
        cmocka_unit_test(gaps_at_marks_are_no_stalls),
        cmocka_unit_test(prompt_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
