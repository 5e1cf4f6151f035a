/* How many tokens there were, counted wrongly in each known way: once where the formula gives the
 * claim, and once nearly so, where it must not be named. The wrong figures are worked out here. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

/* One second of waiting, three of text, a token each 10 ms. */
static const struct act plain = {.head = 1.0,
                                 .first = 1.0,
                                 .last = 4.0,
                                 .end = 4.0,
                                 .events = 301,
                                 .tokens = 301,
                                 .prompt = 50,
                                 .event_bytes = 4};

typedef void changed(struct request *r);

static bool is_time(const char *name)
{
    return strncmp(name, "tpot", 4) == 0 || strncmp(name, "ttft", 4) == 0;
}

/* A scene of one request, and one claim about it. */
static void expect(struct act x, changed *change, const char *name, double value, const char *id,
                   bool present, bool by_sign)
{
    struct audit a = {0};
    made_trace(&a);
    struct request *r = scene_add(&a, x);
    if (change != NULL)
        change(r);
    scene_figures(&a);
    const struct claim *c = is_time(name)
                                ? scene_expect(&a, name, value * (value < 1 ? 1e6 : 1e3),
                                               value < 1 ? "us" : "ms", id, present, by_sign)
                                : scene_expect(&a, name, value, "", id, present, by_sign);
    assert_int_not_equal(present ? c->verdict : VERDICT_DIFFERS, VERDICT_CONFIRMED);
    audit_free(&a);
}

static void named(struct act x, changed *change, const char *name, double value, const char *id)
{
    expect(x, change, name, value, id, true, true);
}

static void by_number(struct act x, changed *change, const char *name, double value, const char *id)
{
    expect(x, change, name, value, id, true, false);
}

static void not_named(struct act x, changed *change, const char *name, double value, const char *id)
{
    expect(x, change, name, value, id, false, false);
}

static void p01_events(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 100;
    x.tokens = 300;
    named(x, NULL, "rate@1", 100 / 3.0, "P01");
    named(x, NULL, "rate@1", 99 / 3.0, "P01");
    named(x, NULL, "tpot@1", 3 / 100.0, "P01");
    named(x, NULL, "e2e_output_tps@1", 100 / 4.0, "P01");
    named(x, NULL, "output_tokens@1", 100, "P01");
    named(x, NULL, "throughput", 100 / 4.0, "P01");
    not_named(x, NULL, "rate@1", 110 / 3.0, "P01");
    x.tokens = 100; /* one token an event */
    not_named(x, NULL, "rate@1", 100 / 3.0, "P01");
}

/* --- with a tokenizer --------------------------------------------------------------------- */

static void counted(struct request *r, int64_t text, const struct recount_apart *apart)
{
    r->recounted = text;
    r->apart = apart;
}

static void cut_in_words(struct request *r)
{
    static const struct recount_apart apart = {
        .content = 301, .pieces = 360, .prefixed = 330, .times = 301, .around = 0};
    counted(r, 301, &apart);
}

static void cut_at_words(struct request *r)
{
    static const struct recount_apart apart = {301, 304, 303, 301, 0};
    counted(r, 301, &apart);
}

static void p02_pieces(void **state)
{
    (void)state;
    named(plain, cut_in_words, "output_tokens@1", 360, "P02");
    named(plain, cut_in_words, "rate@1", 360 / 3.0, "P02");
    named(plain, cut_in_words, "tpot@1", 3 / 359.0, "P02");
    not_named(plain, cut_in_words, "output_tokens@1", 345, "P02");
    not_named(plain, cut_at_words, "output_tokens@1", 360, "P02");
    not_named(plain, NULL, "output_tokens@1", 360, "P02"); /* no tokenizer */
}

static void with_bos(struct request *r)
{
    static const struct recount_apart apart = {301, 304, 303, 301, 1};
    counted(r, 301, &apart);
}

static void p03_a_mark_with_each_piece(void **state)
{
    (void)state;
    struct act x = plain;
    named(x, with_bos, "output_tokens@1", 304 + 301, "P03");
    named(x, with_bos, "tpot@1", 3 / 604.0, "P03");
    not_named(x, cut_at_words, "output_tokens@1", 304 + 301, "P03"); /* it adds none */
    x.max_tokens = 400; /* without a tokenizer: more than was allowed */
    by_number(x, NULL, "output_tokens@1", 602, "P03");
    x.max_tokens = 700;
    not_named(x, NULL, "output_tokens@1", 602, "P03");
}

static void short_with_bos(struct request *r)
{
    static const struct recount_apart apart = {20, 20, 20, 20, 1};
    counted(r, 20, &apart);
}

static void p03_one_mark(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 20;
    x.tokens = 20;
    named(x, short_with_bos, "output_tokens@1", 21, "P03");
    not_named(x, short_with_bos, "output_tokens@1", 22, "P03");
}

static void collapses(struct request *r)
{
    static const struct recount_apart apart = {200, 200, 200, 301, 0};
    counted(r, 200, &apart);
}

static void p04_text_counted_again(void **state)
{
    (void)state;
    named(plain, collapses, "output_tokens@1", 200, "P04");
    named(plain, collapses, "rate@1", 199 / 3.0, "P04");
    named(plain, collapses, "tpot@1", 3 / 199.0, "P04");
    named(plain, collapses, "throughput", 200 / 4.0, "P04");
    not_named(plain, collapses, "output_tokens@1", 210, "P04");
    not_named(plain, cut_in_words, "output_tokens@1", 200, "P04"); /* the text has as many */
    struct act x = plain; /* a mark of the end is in no text: no sign of a text unlike the tokens */
    x.events = 202;
    x.tokens = 205;
    by_number(x, collapses, "output_tokens@1", 200, "P04");
}

static void p05_a_prefix(void **state)
{
    (void)state;
    named(plain, cut_in_words, "output_tokens@1", 330, "P05");
    named(plain, cut_in_words, "rate@1", 330 / 3.0, "P05");
    not_named(plain, cut_in_words, "output_tokens@1", 340, "P05");
    not_named(plain, with_bos, "output_tokens@1", 330, "P05"); /* nothing melts into the prefix */
}

/* --- characters --------------------------------------------------------------------------- */

static void many_scripts(struct request *r)
{
    r->text = (struct text_units){.chars = 900, .utf16 = 1100, .words = 170};
    r->text_bytes = 1500;
}

static void long_tokens(struct request *r)
{
    r->text = (struct text_units){.chars = 2709, .utf16 = 2709};
    r->text_bytes = 2709;
}

static void p06_characters(void **state)
{
    (void)state;
    by_number(plain, many_scripts, "output_tokens@1", 900, "P06");
    by_number(plain, many_scripts, "output_tokens@1", 1100, "P06");
    by_number(plain, many_scripts, "output_tokens@1", 1500, "P06");
    by_number(plain, many_scripts, "rate@1", 900 / 3.0, "P06");
    by_number(plain, many_scripts, "e2e_output_tps@1", 1500 / 4.0, "P06");
    by_number(plain, many_scripts, "throughput", 1100 / 4.0, "P06");
    not_named(plain, many_scripts, "output_tokens@1", 1000, "P06");
    not_named(plain, long_tokens, "output_tokens@1", 2709, "P06"); /* no text has that few tokens */
}

static void p07_a_rule_of_thumb(void **state)
{
    (void)state;
    struct act x = plain;
    by_number(x, many_scripts, "output_tokens@1", 900 / 4, "P07");
    not_named(x, many_scripts, "output_tps_user@1", 170 / 3.0, "P07"); /* a count was at hand */
    by_number(x, many_scripts, "rate@1", 170 / 4.0,
              "P07"); /* and who divides by all looks at none */
    not_named(x, many_scripts, "output_tokens@1", 240, "P07");
    x.tokens = 0; /* nothing else was there to go by */
    named(x, many_scripts, "output_tokens@1", 225, "P07");
    named(x, many_scripts, "output_tokens@1", 170, "P07");
    not_named(x, many_scripts, "output_tokens@1", 180, "P07");
}

/* --- reasoning and tools ------------------------------------------------------------------ */

static void thinks(struct request *r)
{
    static const struct recount_apart apart = {120, 301, 301, 301, 0};
    counted(r, 301, &apart);
    r->reasoning_bytes = 800;
    r->usage.reasoning = 190;
    r->content_events = 100;
}

static void only_thinks(struct request *r)
{
    thinks(r);
    r->content_events = 0;
    r->content_ns = -1;
}

static void p08_reasoning_left_out(void **state)
{
    (void)state;
    named(plain, thinks, "output_tokens@1", 100, "P08");
    named(plain, thinks, "output_tokens@1", 120, "P08");
    named(plain, thinks, "output_tokens@1", 301 - 190, "P08");
    named(plain, thinks, "rate@1", 111 / 3.0, "P08");
    named(plain, thinks, "throughput", 100 / 4.0, "P08");
    named(plain, only_thinks, "output_tokens@1", 0, "P08");
    named(plain, only_thinks, "output_tps_user@1", 0, "P08");
    not_named(plain, thinks, "output_tokens@1", 140, "P08");
    not_named(plain, thinks, "output_tokens@1", 0, "P08");
    not_named(plain, NULL, "output_tokens@1", 100, "P08");
}

static void thinks_unseen(struct request *r)
{
    r->usage.reasoning = 190;
}

static void thinks_uncounted(struct request *r)
{
    thinks(r);
    counted(r, -1, NULL);
}

static void counts_apart(struct request *r)
{
    r->reasoning_bytes = 800;
    r->usage.reasoning = 400;
}

static void p09_reasoning_twice(void **state)
{
    (void)state;
    struct act x = plain;
    named(x, thinks, "output_tokens@1", 301 + 190, "P09");
    named(x, thinks, "rate@1", 491 / 3.0, "P09");
    by_number(x, thinks_unseen, "output_tokens@1", 491, "P09");
    not_named(x, thinks, "output_tokens@1", 480, "P09");
    not_named(x, counts_apart, "output_tokens@1", 701, "P09"); /* N cannot hold them */
    x.tokens = 200; /* nor can it here: more events than tokens had text */
    not_named(x, thinks_uncounted, "output_tokens@1", 390, "P09");
}

static void calls(struct request *r)
{
    r->tool_bytes = 700;
    r->content_events = 60;
    r->content_ns = scene_ns(3.0);
}

static void p10_tools_left_out(void **state)
{
    (void)state;
    named(plain, calls, "output_tokens@1", 60, "P10");
    named(plain, calls, "rate@1", 60 / 3.0, "P10");
    named(plain, calls, "ttft@1", 3.0, "P10");
    not_named(plain, calls, "output_tokens@1", 66, "P10");
    not_named(plain, NULL, "output_tokens@1", 60, "P10");
    not_named(plain, thinks, "ttft@1", 3.0, "P10");
}

/* --- other numbers ------------------------------------------------------------------------ */

static void p11_a_wish(void **state)
{
    (void)state;
    struct act x = plain;
    x.max_tokens = 512;
    by_number(x, NULL, "output_tokens@1", 512, "P11");
    by_number(x, NULL, "rate@1", 512 / 3.0, "P11");
    by_number(x, NULL, "tpot@1", 3 / 511.0, "P11");
    not_named(x, NULL, "output_tokens@1", 520, "P11");
    x.tokens = 0;
    by_number(x, NULL, "output_tokens@1", 512, "P11");
}

/* Where some reached the limit, the sum of all limits is still that of all requests. */
static void p11_of_all_requests(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++) {
        struct act x = plain;
        x.t0 = 10 * i;
        x.first += x.t0;
        x.last += x.t0;
        x.head = x.first;
        x.end = x.last;
        x.max_tokens = 400;
        x.tokens = i < 2 ? 400 : 250;
        scene_add(&a, x);
    }
    scene_figures(&a);
    scene_expect(&a, "output_tokens.sum", 1600, "", "P11", true, false);
    scene_expect(&a, "output_tokens.sum", 1700, "", "P11", false, false);
    audit_free(&a);
}

static void p13_prompt_tokens(void **state)
{
    (void)state;
    struct act x = plain;
    x.prompt = 2000;
    by_number(x, NULL, "rate@1", 2301 / 4.0, "P13");
    by_number(x, NULL, "output_tokens@1", 2301, "P13");
    by_number(x, NULL, "throughput", 2301 / 4.0, "P13");
    by_number(x, NULL, "tpot", 4 / 2301.0, "P13");
    not_named(x, NULL, "rate@1", 2301 / 4.0 * 1.03, "P13");
    x.prompt = 0; /* not stated */
    not_named(x, NULL, "rate@1", 2301 / 4.0, "P13");
}

static void states_with_each(struct request *r)
{
    r->stated_times = 301;
    r->stated_sum = 301 * 302 / 2;
    r->prompt_sum = 301 * 50;
}

static void starts_and_ends(struct request *r) /* Anthropic: a start value, and the total */
{
    r->stated_times = 2;
    r->stated_sum = 301 + 25;
}

static void p14_counts_so_far_added(void **state)
{
    (void)state;
    named(plain, states_with_each, "output_tokens@1", 45451, "P14");
    named(plain, states_with_each, "rate@1", 45451 / 3.0, "P14");
    named(plain, states_with_each, "input_tokens@1", 15050, "P14");
    named(plain, starts_and_ends, "output_tokens@1", 326, "P14");
    not_named(plain, states_with_each, "output_tokens@1", 44000, "P14");
    not_named(plain, NULL, "output_tokens@1", 45451, "P14"); /* stated once */
    not_named(plain, NULL, "input_tokens@1", 15050, "P14");
}

static void states_each_alone(struct request *r)
{
    r->stated_last = 1;
}

static void p15_the_last_of_counts_that_are_no_totals(void **state)
{
    (void)state;
    named(plain, states_each_alone, "output_tokens@1", 1, "P15");
    named(plain, states_each_alone, "output_tps_user@1", 1 / 3.0, "P15");
    not_named(plain, states_each_alone, "output_tokens@1", 3, "P15");
    not_named(plain, NULL, "output_tokens@1", 1, "P15");
}

/* A call of a tool, and the answer; apart: it had not ended when the next was sent. */
static void tool_loop(struct audit *a, bool apart, int64_t more_words)
{
    made_trace(a);
    struct act x = plain;
    struct request *r = scene_add(a, x);
    r->tool_bytes = 200;
    r->asked.prompt_words = 40;
    x.t0 = apart ? 3.0 : 5.0;
    x.head = x.first = x.t0 + 1;
    x.last = x.end = x.t0 + 2;
    x.events = 101;
    x.tokens = 101;
    r = scene_add(a, x);
    r->asked.prompt_words = 40 + more_words;
    scene_figures(a);
}

static void p15_the_last_call_alone(void **state)
{
    (void)state;
    for (int near = 0; near < 3; near++) {
        struct audit a = {0};
        tool_loop(&a, near == 1, near == 2 ? 0 : 60);
        scene_expect(&a, "output_tokens.sum", 101, "", "P15", near == 0, true);
        scene_expect(&a, "throughput", 101 / (near == 1 ? 5.0 : 7.0), "", "P15", near == 0, true);
        audit_free(&a);
    }
}

static void asks_for_four(struct request *r)
{
    r->asked.choices = 4;
    r->choices_seen = 4;
    r->first_choice_events = 78;
}

/* Each of four answers has a first token, or all have one. */
static void several_answers_have_several_firsts(void **state)
{
    (void)state;
    static const double rates[] = {297 / 3.0, 300 / 3.0, 291 / 3.0};
    for (size_t i = 0; i < 3; i++) {
        struct audit a = {0};
        struct audit_options o = audit_defaults;
        char text[64];
        o.tolerance = 0.0005;
        made_trace(&a);
        asks_for_four(scene_add(&a, plain));
        scene_figures(&a);
        snprintf(text, sizeof text, "rate@1=%.6g", rates[i]);
        const struct claim *c = scene_judge(&a, &o, text);
        assert_int_equal(c->verdict, i < 2 ? VERDICT_CONFIRMED : VERDICT_DIFFERS);
        audit_free(&a);
    }
}

static void p16_several_answers(void **state)
{
    (void)state;
    named(plain, asks_for_four, "output_tokens@1", 4 * 301, "P16");
    named(plain, asks_for_four, "output_tokens@1", 301 / 4.0, "P16");
    named(plain, asks_for_four, "output_tokens@1", 78, "P16");
    named(plain, asks_for_four, "throughput", 4 * 301 / 4.0, "P16");
    named(plain, asks_for_four, "input_tokens@1", 200, "P16");
    named(plain, asks_for_four, "requests", 4, "P16");
    named(plain, asks_for_four, "request_tps", 1, "P16");
    not_named(plain, asks_for_four, "output_tokens@1", 3 * 301, "P16");
    not_named(plain, NULL, "output_tokens@1", 4 * 301, "P16");
    not_named(plain, NULL, "input_tokens@1", 200, "P16");
    not_named(plain, NULL, "requests", 4, "P16");
}

static void p17_first_event_packed(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 20;
    x.tokens = 40;
    x.n1 = 10;
    x.end = 4.5;
    named(x, NULL, "output_tps_user@1", 39 / 3.0, "P17");
    named(x, NULL, "output_tps_user@1", 39 / 3.5, "P17");
    not_named(x, NULL, "output_tps_user@1", 36 / 3.0, "P17");
    x.n1 = 1;
    not_named(x, NULL, "output_tps_user@1", 39 / 3.5, "P17");
}

static void p18_fence_post(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 10;
    x.tokens = 10; /* 10 against 9: 11 % */
    by_number(x, NULL, "output_tps_user@1", 10 / 3.0, "P18");
    by_number(x, NULL, "tpot@1", 3 / 10.0, "P18");
    by_number(x, NULL, "e2e_output_tps@1", 9 / 4.0, "P18");
    not_named(x, NULL, "output_tps_user@1", 11 / 3.0, "P18");
    x.events = 200;
    x.tokens = 200; /* one more or less is nothing */
    not_named(x, NULL, "output_tps_user@1", 200 / 3.0 * 1.012, "P18");
}

/* 80 events at a pace of 10 ms, with every fourth gap twice as long: 20 tokens more than events. */
static void holds_back(struct request *r)
{
    int64_t t = r->out.v[0].t_ns;
    for (size_t i = 1; i < r->out.n; i++) {
        t += i % 4 == 0 ? 20 * MS : 10 * MS;
        r->out.v[i].t_ns = t;
    }
    r->z = r->t_end = r->done_ns = t;
}

static void p19_text_held_back(void **state)
{
    (void)state;
    struct act x = plain;
    double span = 0.01 * 60 + 0.02 * 19;
    x.events = 80;
    x.tokens = 100;
    named(x, holds_back, "output_tokens@1", 80, "P19");
    named(x, holds_back, "output_tps_user@1", 79 / span, "P19");
    not_named(x, holds_back, "output_tokens@1", 85, "P19");
    not_named(x, NULL, "output_tokens@1", 80, "P19"); /* an even pace: some held two */
    named(x, NULL, "output_tokens@1", 80, "P01");
    x.tokens = 140; /* the long gaps do not account for those */
    not_named(x, holds_back, "output_tokens@1", 80, "P19");
}

/* --- the prompt --------------------------------------------------------------------------- */

static void called_4096(struct request *r)
{
    r->name = "p4096";
}

static void called_3k(struct request *r)
{
    r->name = "isl 3k";
}

static void called_third(struct request *r)
{
    r->name = "prompt-3";
}

static void of_words(struct request *r)
{
    r->asked.prompt_words = 2700;
}

static void p20_nominal_length(void **state)
{
    (void)state;
    struct act x = plain;
    x.prompt = 3500;
    named(x, called_4096, "input_tokens@1", 4096, "P20");
    named(x, called_3k, "input_tokens@1", 3000, "P20");
    named(x, called_3k, "prompt_rate@1", 3000, "P20");
    by_number(x, NULL, "input_tokens@1", 4096, "P20");
    by_number(x, of_words, "input_tokens@1", 2700, "P20");
    not_named(x, called_third, "input_tokens@1", 3000, "P20");
    not_named(x, NULL, "input_tokens@1", 5000, "P20");
}

static void shows_a_picture(struct request *r)
{
    r->asked.media = 1;
    r->timings.prompt_n = 1;
    r->timings.prompt_ms = 500;
}

static void evaluates_one(struct request *r)
{
    shows_a_picture(r);
    r->asked.media = 0;
}

static void p21_a_picture(void **state)
{
    (void)state;
    struct act x = plain;
    x.prompt = 600;
    named(x, shows_a_picture, "input_tokens@1", 1, "P21");
    named(x, shows_a_picture, "prompt_rate@1", 2, "P21");
    not_named(x, shows_a_picture, "input_tokens@1", 20, "P21");
    not_named(x, evaluates_one, "input_tokens@1", 1, "P21");
}

static void evaluates_the_rest(struct request *r)
{
    r->timings.prompt_n = 600;
}

static void p22_cached_prompt(void **state)
{
    (void)state;
    struct act x = plain;
    x.prompt = 1000;
    x.cached = 400;
    named(x, NULL, "input_tokens@1", 600, "P22");
    not_named(x, NULL, "input_tokens@1", 700, "P22");
    x.cached = 0;
    not_named(x, NULL, "input_tokens@1", 600, "P22");
    by_number(x, evaluates_the_rest, "input_tokens@1", 600, "P22");
    x.prompt = 0;
    named(x, NULL, "input_tokens@1", 0, "P22");
}

static void p22_of_a_run(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++) {
        struct act x = plain;
        x.t0 = 10 * i;
        x.head = x.first = x.t0 + 1;
        x.last = x.end = x.t0 + 4;
        x.prompt = 1000;
        x.cached = i > 0 ? 900 : 0;
        scene_add(&a, x);
    }
    scene_figures(&a);
    scene_expect(&a, "input_tokens.sum", 1300, "", "P22", true, true);
    scene_expect(&a, "input_tokens.sum", 300, "", "P22", false, false);
    audit_free(&a);
}

static void p23_no_count(void **state)
{
    (void)state;
    struct act x = plain;
    x.tokens = 0;
    named(x, NULL, "output_tokens@1", 0, "P23");
    named(x, NULL, "output_tps_user@1", 0, "P23");
    named(x, NULL, "throughput", 0, "P23");
    not_named(x, NULL, "output_tokens@1", 7, "P23");
    by_number(x, NULL, "output_tokens@1", 301, "P01"); /* what there was to go by */
    by_number(x, NULL, "output_tokens@1", 1204, "P06");
    not_named(plain, NULL, "output_tokens@1", 0, "P23");
}

/* --- all of them -------------------------------------------------------------------------- */

/* What divides by next to no time gives any number: a sign does not help it. */
static void a_moment_explains_nothing(void **state)
{
    (void)state;
    struct act x = plain;
    x.t0 = 0.999; /* no silence before */
    x.events = 40;
    x.tokens = 40;
    x.last = x.end = x.first + 0.0005;
    not_named(x, states_with_each, "output_tps_user@1", 45451 / 0.0005, "P14");
    x.last = x.end = x.first + 0.2;
    named(x, states_with_each, "output_tps_user@1", 45451 / 0.2, "P14");
}

/* A figure that is simply wrong is explained by few, and none has a sign. */
static void what_is_wrong_otherwise_draws_no_crowd(void **state)
{
    (void)state;
    static const char *const names[] = {"rate@1",          "tpot@1",         "e2e_output_tps@1",
                                        "output_tokens@1", "input_tokens@1", "throughput"};
    static const double truth[] = {100, 10000, 301 / 4.0, 301, 3500, 301 / 4.0};
    static const double factors[] = {1.37, 0.61, 2.3, 0.43};
    struct act x = plain;
    x.prompt = 3500;
    x.max_tokens = 1000;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
            struct audit a = {0};
            made_trace(&a);
            thinks(scene_add(&a, x));
            scene_figures(&a);
            char text[64];
            snprintf(text, sizeof text, "%s=%.6g%s", names[i], truth[i] * factors[k],
                     is_time(names[i]) ? "us" : "");
            const struct claim *c = scene_judge(&a, &audit_defaults, text);
            size_t numbers = 0;
            for (size_t j = 0; j < c->causes.n; j++)
                numbers += !c->causes.v[j].by_sign;
            if (numbers > 2 || c->causes.n > 3)
                fail_msg("%s: %zu causes, %zu of them by number", text, c->causes.n, numbers);
            audit_free(&a);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p01_events),
        cmocka_unit_test(p02_pieces),
        cmocka_unit_test(p03_a_mark_with_each_piece),
        cmocka_unit_test(p03_one_mark),
        cmocka_unit_test(p04_text_counted_again),
        cmocka_unit_test(p05_a_prefix),
        cmocka_unit_test(p06_characters),
        cmocka_unit_test(p07_a_rule_of_thumb),
        cmocka_unit_test(p08_reasoning_left_out),
        cmocka_unit_test(p09_reasoning_twice),
        cmocka_unit_test(p10_tools_left_out),
        cmocka_unit_test(p11_a_wish),
        cmocka_unit_test(p11_of_all_requests),
        cmocka_unit_test(p13_prompt_tokens),
        cmocka_unit_test(p14_counts_so_far_added),
        cmocka_unit_test(p15_the_last_of_counts_that_are_no_totals),
        cmocka_unit_test(p15_the_last_call_alone),
        cmocka_unit_test(several_answers_have_several_firsts),
        cmocka_unit_test(p16_several_answers),
        cmocka_unit_test(p17_first_event_packed),
        cmocka_unit_test(p18_fence_post),
        cmocka_unit_test(p19_text_held_back),
        cmocka_unit_test(p20_nominal_length),
        cmocka_unit_test(p21_a_picture),
        cmocka_unit_test(p22_cached_prompt),
        cmocka_unit_test(p22_of_a_run),
        cmocka_unit_test(p23_no_count),
        cmocka_unit_test(a_moment_explains_nothing),
        cmocka_unit_test(what_is_wrong_otherwise_draws_no_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
