/* What replies say beside their tokens: text in other units, content apart from the rest, counts
 * that are stated again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/unit/analyze/talk.h"

/* The speaker is named in every delta of some servers, in that of the finish too: no event of the
 * role, and one behind the text is no first one. */
static void role_behind_the_text(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    talk_say(&t,
             "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a\"}}]}");
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},"
                 "\"finish_reason\":\"stop\"}]}");
    assert_int_equal(t.r.role_ns, -1);
    assert_string_equal(t.r.finish, "stop");
    talk_end(&t);
    talk_begin(&t, &dialect_openai_chat);
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}");
    talk_say(&t,
             "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a\"}}]}");
    assert_int_equal(t.r.role_ns, talk_at(0));
    talk_end(&t);
}

/* Some repeat the whole message behind its pieces (MiniMax), and some stream nothing but messages.
 */
static void a_message_repeats_what_deltas_said(void **state)
{
    (void)state;
    static const char whole[] =
        "{\"choices\":[{\"index\":0,\"delta\":{},\"message\":{\"content\":"
        "\"ab\",\"reasoning_content\":\"hm\"},\"finish_reason\":\"stop\"}]}";
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    talk_say(&t, "{\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"},\"message\":null}]}");
    talk_say(&t, "{\"choices\":[{\"delta\":{\"content\":\"a\"},\"message\":null}]}");
    talk_say(&t, "{\"choices\":[{\"delta\":{\"content\":\"b\"},\"message\":{}}]}");
    talk_say(&t, whole);
    assert_int_equal(t.r.out.n, 3);
    assert_int_equal(t.r.text_bytes, 4);
    assert_string_equal(t.r.finish, "stop");
    talk_end(&t);
    talk_begin(&t, &dialect_openai_chat); /* nothing was said before */
    talk_say(&t,
             "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}");
    talk_say(&t, whole);
    assert_int_equal(t.r.out.n, 1);
    assert_int_equal(t.r.text_bytes, 4);
    talk_end(&t);
    talk_begin(&t, &dialect_openai_chat); /* near miss: its pieces are messages */
    talk_say(&t, "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}");
    talk_say(&t, "{\"choices\":[{\"message\":{\"content\":\"b\"}}]}");
    talk_say(&t, "{\"choices\":[{\"message\":{\"content\":\"c\"},\"finish_reason\":\"stop\"}]}");
    assert_int_equal(t.r.out.n, 3);
    assert_int_equal(t.r.text_bytes, 3);
    talk_end(&t);
}

/* Without a tokenizer SGLang sends ids, all so far in each event. */
static void ids_so_far_are_counted_once(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_sglang_generate);
    talk_say(&t, "{\"output_ids\":[7],\"meta_info\":{}}");
    talk_say(&t, "{\"output_ids\":[7,8],\"meta_info\":{}}");
    talk_say(&t, "{\"output_ids\":[7,8,9],\"meta_info\":{\"finish_reason\":{\"type\":\"stop\"}}}");
    assert_int_equal(t.r.identified, 3);
    assert_int_equal(t.r.out.n, 0);
    talk_end(&t);
    talk_begin(&t, &dialect_openai_completions); /* vLLM's are those of the event alone */
    talk_say(&t, "{\"choices\":[{\"text\":\"a\",\"token_ids\":[7]}]}");
    talk_say(&t, "{\"choices\":[{\"text\":\"b\",\"token_ids\":[8,9]}]}");
    assert_int_equal(t.r.identified, 3);
    talk_end(&t);
}

static void text_in_other_units(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    talk_say(&t,
             "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}");
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"so it\"}}]}");
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"na\xC3\xAFve wo\"}}]}");
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"rd \xF0\x9F\x98\x80\"}}]}");
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
                 "\"name\":\"f\"}}]}}]}");
    assert_int_equal(t.r.text.chars, 5 + 8 + 4 + 1);
    assert_int_equal(t.r.text.utf16, 5 + 8 + 5 + 1);
    assert_int_equal(t.r.text.words, 4); /* "wo" and "rd" are one */
    assert_int_equal(t.r.text_bytes, 5 + 9 + 7 + 1);
    assert_int_equal(t.r.reasoning_bytes, 5);
    assert_int_equal(t.r.tool_bytes, 1);
    assert_int_equal(t.r.out.n, 4);
    assert_int_equal(t.r.content_events, 2);
    assert_int_equal(t.r.content_ns, talk_at(2));
    talk_end(&t);
}

static void answers_apart(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 6; i++)
        talk_say(&t, i % 3 == 0 ? "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}"
                                : "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}");
    assert_int_equal(t.r.out.n, 6);
    assert_int_equal(t.r.first_choice_events, 2);
    assert_int_equal(t.r.choices_seen, 2);
    talk_end(&t);
}

static void say_counted(struct talk *t, int prompt, int n)
{
    char data[256];
    snprintf(data, sizeof data,
             "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}],\"usage\":{"
             "\"prompt_tokens\":%d,\"completion_tokens\":%d}}",
             prompt, n);
    talk_say(t, data);
}

static void counts_so_far_stay_what_they_are(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    for (int i = 1; i <= 5; i++)
        say_counted(&t, 7, i);
    assert_int_equal(t.r.stated_times, 5);
    assert_int_equal(t.r.stated_sum, 15);
    assert_int_equal(t.r.prompt_sum, 35);
    talk_end(&t);
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
    talk_say(t, data);
}

/* SGLang's server repeats the text so far, or (--incremental-streaming-output) does not. */
static void text_so_far_and_text_anew(void **state)
{
    (void)state;
    static const char *const so_far[] = {"a", "a b", "a b", "a b c"};
    static const char *const anew[] = {"one ", "two ", "three ", "on"};
    struct talk t;
    talk_begin(&t, &dialect_sglang_generate);
    for (int i = 0; i < 4; i++)
        say_native(&t, 0, so_far[i], i + 1);
    assert_int_equal(t.r.text_bytes, 5);
    assert_int_equal(t.r.out.n, 3); /* one said nothing new */
    talk_end(&t);
    talk_begin(&t, &dialect_sglang_generate);
    for (int i = 0; i < 4; i++)
        say_native(&t, 0, anew[i], i + 1);
    assert_int_equal(t.r.text_bytes, 4 + 4 + 6 + 2);
    assert_int_equal(t.r.out.n, 4);
    talk_end(&t);
    assert_int_equal(t.r.usage.completion, 4);
}

/* A list of prompts: each states what it has so far, and together they have the sum. */
static void counts_of_several_prompts_are_added(void **state)
{
    (void)state;
    static const char *const texts[] = {"a", "a b", "a b c"};
    struct talk t;
    talk_begin(&t, &dialect_sglang_generate);
    for (int i = 0; i < 6; i++)
        say_native(&t, i % 2, texts[i / 2], i / 2 + 1);
    saying_settle(&t.s);
    assert_int_equal(t.r.usage.completion, 6);
    assert_int_equal(t.r.usage.prompt, 8);
    assert_int_equal(request_stated(&t.r, 2), 3);
    assert_int_equal(t.r.choices_seen, 2);
    t.r.asked.max_tokens = 3;
    assert_int_equal(request_token_limit(&t.r), 6);
    assert_true(request_interleaves(&t.r));
    talk_end(&t);
}

/* An all-zero usage at the end, behind a count that was none. */
static void zeros_take_nothing_back(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    say_counted(&t, 7, 5);
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}");
    talk_say(&t, "{\"choices\":[],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}");
    assert_int_equal(t.r.usage.completion, 5);
    assert_int_equal(t.r.usage.prompt, 7);
    talk_end(&t);
}

/* What a total has beside its parts is of the statement that it stands in. */
static void a_total_goes_with_its_count(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}],\"usage\":{"
                 "\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":40}}");
    assert_int_equal(t.r.total_stated, 40);
    say_counted(&t, 7, 9);
    assert_int_equal(t.r.total_stated, 0);
    talk_end(&t);
}

static const char *const early[] = {"\"completion_tokens\":0", "\"completion_tokens\":1",
                                    "\"completion_tokens\":3"};

/* vLLM states 0 in its first event, which has a role and no text; others 1. What came later is not
 * in it: neither n_1, nor what the events behind it held. */
static void a_count_from_before_the_text_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct talk t;
        char data[256];
        snprintf(data, sizeof data,
                 "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],"
                 "\"usage\":{\"prompt_tokens\":7,%s}}",
                 early[i]);
        talk_begin(&t, &dialect_openai_chat);
        talk_say(&t, data);
        for (int k = 0; k < 3; k++)
            talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}]}");
        assert_int_equal(t.r.n1, -1);
        talk_say(&t, "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}");
        saying_settle(&t.s);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(request_stated(&t.r, k), -1);
        assert_int_equal(t.r.n1, -1);
        assert_int_equal(t.r.usage.completion, 3);
        talk_end(&t);
    }
}

/* Nothing else is stated: less than there are events with text is what a server begins with. As
 * many may be all that it generated, before it sent any of it. */
static void an_early_count_alone(void **state)
{
    (void)state;
    static const int64_t n[] = {-1, -1, 3};
    for (size_t i = 0; i < 3; i++) {
        struct talk t;
        char data[256];
        snprintf(data, sizeof data,
                 "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}],"
                 "\"usage\":{\"prompt_tokens\":7,%s}}",
                 early[i]);
        talk_begin(&t, &dialect_openai_chat);
        talk_say(&t, data);
        for (int k = 0; k < 3; k++)
            talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}]}");
        saying_settle(&t.s);
        assert_int_equal(t.r.usage.completion, n[i]);
        assert_int_equal(t.r.usage.prompt, 7);
        assert_int_equal(t.r.n1, -1);
        talk_end(&t);
    }
}

/* Beside the first text, or behind it in the same read, it is n_1. */
static void a_count_with_the_first_text_is_n1(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    say_counted(&t, 7, 3);
    assert_int_equal(t.r.n1, 3);
    assert_int_equal(request_stated(&t.r, 0), 3);
    talk_end(&t);
    talk_begin(&t, &dialect_openai_chat);
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}]}");
    t.n--; /* the same packet */
    talk_say(&t, "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}");
    assert_int_equal(t.r.n1, 2);
    talk_end(&t);
}

/* A server may begin to count late, and claim more than anybody can say. */
static void events_before_the_first_count_have_none(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}]}");
    say_counted(&t, 7, 2);
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}]}");
    talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}],\"usage\":{"
                 "\"completion_tokens\":99999999999}}");
    static const int32_t stated[] = {-1, 2, 2, INT32_MAX, -1};
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(request_stated(&t.r, k), stated[k]);
    talk_end(&t);
}

/* Each event states what it held alone: their sum is the count, and it grows from event to event.
 */
static void counts_of_one_event_each_are_added(void **state)
{
    (void)state;
    static const int held[] = {2, 1, 3, 1, 2, 1};
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    for (size_t i = 0; i < 6; i++)
        say_counted(&t, 7, held[i]);
    saying_settle(&t.s);
    assert_int_equal(t.r.usage.completion, 10);
    assert_int_equal(t.r.stated_last, 1);
    assert_int_equal(t.r.n1, 2);
    assert_int_equal(request_stated(&t.r, 2), 6);
    assert_int_equal(request_stated(&t.r, 5), 10);
    talk_end(&t);
}

/* A total at the end, below the number of events, is what the server says: no proof of anything. */
static void one_count_is_no_proof(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 7; i++)
        talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}");
    say_counted(&t, 7, 2);
    talk_end(&t);
    assert_int_equal(t.r.usage.completion, 2);
    assert_int_equal(t.r.stated_last, -1);
}

static void a_start_value_counts_as_stated(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_anthropic_messages);
    talk_say(&t, "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,"
                 "\"output_tokens\":8}}}");
    talk_say(&t, "{\"type\":\"ping\"}");
    talk_say(&t, "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
                 "\"text\":\"a\"}}");
    talk_say(&t, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
                 "\"output_tokens\":20}}");
    assert_int_equal(t.r.usage.completion, 20);
    assert_int_equal(t.r.stated_times, 2);
    assert_int_equal(t.r.stated_sum, 28);
    assert_int_equal(t.r.keepalive_ns, talk_at(1));
    talk_end(&t);
}

/* Pieces of text equal to one up to four before them. */
static void repetitions_are_counted(void **state)
{
    (void)state;
    struct talk t;
    static const char *const cycle[] = {"a", " b", " c"};
    char data[96];
    talk_begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 30; i++) {
        snprintf(data, sizeof data, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}",
                 cycle[i % 3]);
        talk_say(&t, data);
    }
    assert_int_equal(t.r.repeated, 27);
    talk_end(&t);
    talk_begin(&t, &dialect_openai_chat);
    for (int i = 0; i < 30; i++) { /* 0, 1, 2, … */
        snprintf(data, sizeof data, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d\"}}]}",
                 i);
        talk_say(&t, data);
        talk_say(&t, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\", \"}}]}");
    }
    assert_int_equal(t.r.repeated, 29); /* of 60 */
    talk_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(role_behind_the_text),
        cmocka_unit_test(a_message_repeats_what_deltas_said),
        cmocka_unit_test(ids_so_far_are_counted_once),
        cmocka_unit_test(text_in_other_units),
        cmocka_unit_test(answers_apart),
        cmocka_unit_test(counts_so_far_stay_what_they_are),
        cmocka_unit_test(text_so_far_and_text_anew),
        cmocka_unit_test(counts_of_several_prompts_are_added),
        cmocka_unit_test(zeros_take_nothing_back),
        cmocka_unit_test(a_total_goes_with_its_count),
        cmocka_unit_test(a_count_from_before_the_text_is_none),
        cmocka_unit_test(an_early_count_alone),
        cmocka_unit_test(a_count_with_the_first_text_is_n1),
        cmocka_unit_test(events_before_the_first_count_have_none),
        cmocka_unit_test(counts_of_one_event_each_are_added),
        cmocka_unit_test(one_count_is_no_proof),
        cmocka_unit_test(a_start_value_counts_as_stated),
        cmocka_unit_test(repetitions_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
