/* What replies say beside their tokens: text in other units, content apart from the rest, counts
 * that are stated again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "analyze/saying.h"

/* A reply under way; its n-th event comes n ms after 1 s, each in a packet of its own. */
struct talk {
    struct request r;
    struct saying s;
    struct arena texts;
    struct buf scratch;
    uint32_t n;
};

static void begin(struct talk *t, const struct dialect *d)
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

static int64_t at(uint32_t n)
{
    return 1000000000 + (int64_t)n * 1000000;
}

static void say(struct talk *t, const char *data)
{
    struct mark last = {.t_ready = at(t->n), .rel = 100 + t->n};
    struct event ev = {
        .kind = EVENT_DATA, .type = slice_of("message"), .data = slice_of(data), .last = last};
    ev.index = t->n++;
    assert_int_equal(saying_event(&t->s, &ev, last, &t->scratch), TA_OK);
}

static void end(struct talk *t)
{
    const char *why;
    saying_settle(&t->s);
    recount_done(&t->s.recount, &why);
    saying_done(&t->s);
    buf_done(&t->scratch);
    VEC_FREE(&t->r.out);
    arena_free(&t->texts);
}

/* The speaker is named in every delta of some servers, in that of the finish too: no event of the
 * role, and one behind the text is no first one. */
static void role_behind_the_text(void **state)
{
    (void)state;
    struct talk t;
    begin(&t, &dialect_openai_chat);
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a\"}}]}");
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},"
            "\"finish_reason\":\"stop\"}]}");
    assert_int_equal(t.r.role_ns, -1);
    assert_string_equal(t.r.finish, "stop");
    end(&t);
    begin(&t, &dialect_openai_chat);
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}");
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a\"}}]}");
    assert_int_equal(t.r.role_ns, at(0));
    end(&t);
}

static void text_in_other_units(void **state)
{
    (void)state;
    struct talk t;
    begin(&t, &dialect_openai_chat);
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}");
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"so it\"}}]}");
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"na\xC3\xAFve wo\"}}]}");
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"rd \xF0\x9F\x98\x80\"}}]}");
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
            "\"name\":\"f\"}}]}}]}");
    assert_int_equal(t.r.text.chars, 5 + 8 + 4 + 1);
    assert_int_equal(t.r.text.utf16, 5 + 8 + 5 + 1);
    assert_int_equal(t.r.text.words, 4); /* "wo" and "rd" are one */
    assert_int_equal(t.r.text_bytes, 5 + 9 + 7 + 1);
    assert_int_equal(t.r.reasoning_bytes, 5);
    assert_int_equal(t.r.tool_bytes, 1);
    assert_int_equal(t.r.out.n, 4);
    assert_int_equal(t.r.content_events, 2);
    assert_int_equal(t.r.content_ns, at(2));
    end(&t);
}

static void answers_apart(void **state)
{
    (void)state;
    struct talk t;
    begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 6; i++)
        say(&t, i % 3 == 0 ? "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}"
                           : "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}");
    assert_int_equal(t.r.out.n, 6);
    assert_int_equal(t.r.first_choice_events, 2);
    assert_int_equal(t.r.choices_seen, 2);
    end(&t);
}

static void say_counted(struct talk *t, int prompt, int n)
{
    char data[256];
    snprintf(data, sizeof data,
             "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}],\"usage\":{"
             "\"prompt_tokens\":%d,\"completion_tokens\":%d}}",
             prompt, n);
    say(t, data);
}

static void counts_so_far_stay_what_they_are(void **state)
{
    (void)state;
    struct talk t;
    begin(&t, &dialect_openai_chat);
    for (int i = 1; i <= 5; i++)
        say_counted(&t, 7, i);
    assert_int_equal(t.r.stated_times, 5);
    assert_int_equal(t.r.stated_sum, 15);
    assert_int_equal(t.r.prompt_sum, 35);
    end(&t);
    assert_int_equal(t.r.usage.completion, 5);
    assert_int_equal(t.r.stated_last, -1);
}

static void say_native(struct talk *t, int index, const char *text, int n)
{
    char data[256];
    snprintf(data, sizeof data,
             "{\"text\":\"%s\",\"index\":%d,\"meta_info\":{\"prompt_tokens\":4,"
             "\"completion_tokens\":%d,\"finish_reason\":null}}",
             text, index, n);
    say(t, data);
}

/* SGLang's server repeats the text so far, or (--incremental-streaming-output) does not. */
static void text_so_far_and_text_anew(void **state)
{
    (void)state;
    static const char *const so_far[] = {"a", "a b", "a b", "a b c"};
    static const char *const anew[] = {"one ", "two ", "three ", "on"};
    struct talk t;
    begin(&t, &dialect_sglang_generate);
    for (int i = 0; i < 4; i++)
        say_native(&t, 0, so_far[i], i + 1);
    assert_int_equal(t.r.text_bytes, 5);
    assert_int_equal(t.r.out.n, 3); /* one said nothing new */
    end(&t);
    begin(&t, &dialect_sglang_generate);
    for (int i = 0; i < 4; i++)
        say_native(&t, 0, anew[i], i + 1);
    assert_int_equal(t.r.text_bytes, 4 + 4 + 6 + 2);
    assert_int_equal(t.r.out.n, 4);
    end(&t);
    assert_int_equal(t.r.usage.completion, 4);
}

/* A list of prompts: each states what it has so far, and together they have the sum. */
static void counts_of_several_prompts_are_added(void **state)
{
    (void)state;
    static const char *const texts[] = {"a", "a b", "a b c"};
    struct talk t;
    begin(&t, &dialect_sglang_generate);
    for (int i = 0; i < 6; i++)
        say_native(&t, i % 2, texts[i / 2], i / 2 + 1);
    assert_int_equal(t.r.usage.completion, 6);
    assert_int_equal(t.r.usage.prompt, 8);
    assert_int_equal(t.r.out.v[2].stated, 3);
    assert_int_equal(t.r.choices_seen, 2);
    t.r.asked.max_tokens = 3;
    assert_int_equal(request_token_limit(&t.r), 6);
    assert_true(request_interleaves(&t.r));
    end(&t);
}

/* An all-zero usage at the end, behind a count that was none. */
static void zeros_take_nothing_back(void **state)
{
    (void)state;
    struct talk t;
    begin(&t, &dialect_openai_chat);
    say_counted(&t, 7, 5);
    say(&t, "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}");
    say(&t, "{\"choices\":[],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}");
    assert_int_equal(t.r.usage.completion, 5);
    assert_int_equal(t.r.usage.prompt, 7);
    end(&t);
}

/* Each event states what it held alone: their sum is the count, and it grows from event to event.
 */
static void counts_of_one_event_each_are_added(void **state)
{
    (void)state;
    static const int held[] = {2, 1, 3, 1, 2, 1};
    struct talk t;
    begin(&t, &dialect_openai_chat);
    for (size_t i = 0; i < 6; i++)
        say_counted(&t, 7, held[i]);
    saying_settle(&t.s);
    assert_int_equal(t.r.usage.completion, 10);
    assert_int_equal(t.r.stated_last, 1);
    assert_int_equal(t.r.n1, 2);
    assert_int_equal(t.r.out.v[2].stated, 6);
    assert_int_equal(t.r.out.v[5].stated, 10);
    end(&t);
}

/* A total at the end, below the number of events, is what the server says: no proof of anything. */
static void one_count_is_no_proof(void **state)
{
    (void)state;
    struct talk t;
    begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 7; i++)
        say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}");
    say_counted(&t, 7, 2);
    end(&t);
    assert_int_equal(t.r.usage.completion, 2);
    assert_int_equal(t.r.stated_last, -1);
}

static void a_start_value_counts_as_stated(void **state)
{
    (void)state;
    struct talk t;
    begin(&t, &dialect_anthropic_messages);
    say(&t, "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,"
            "\"output_tokens\":8}}}");
    say(&t, "{\"type\":\"ping\"}");
    say(&t, "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
            "\"text\":\"a\"}}");
    say(&t, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
            "\"output_tokens\":20}}");
    assert_int_equal(t.r.usage.completion, 20);
    assert_int_equal(t.r.stated_times, 2);
    assert_int_equal(t.r.stated_sum, 28);
    assert_int_equal(t.r.keepalive_ns, at(1));
    end(&t);
}

/* Pieces of text equal to one up to four before them. */
static void repetitions_are_counted(void **state)
{
    (void)state;
    struct talk t;
    static const char *const cycle[] = {"a", " b", " c"};
    char data[96];
    begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 30; i++) {
        snprintf(data, sizeof data, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}",
                 cycle[i % 3]);
        say(&t, data);
    }
    assert_int_equal(t.r.repeated, 27);
    end(&t);
    begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 30; i++) { /* 0, 1, 2, … */
        snprintf(data, sizeof data, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d\"}}]}",
                 i);
        say(&t, data);
        say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\", \"}}]}");
    }
    assert_int_equal(t.r.repeated, 29); /* of 60 */
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(role_behind_the_text),
        cmocka_unit_test(text_in_other_units),
        cmocka_unit_test(answers_apart),
        cmocka_unit_test(counts_so_far_stay_what_they_are),
        cmocka_unit_test(text_so_far_and_text_anew),
        cmocka_unit_test(counts_of_several_prompts_are_added),
        cmocka_unit_test(zeros_take_nothing_back),
        cmocka_unit_test(counts_of_one_event_each_are_added),
        cmocka_unit_test(one_count_is_no_proof),
        cmocka_unit_test(a_start_value_counts_as_stated),
        cmocka_unit_test(repetitions_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
