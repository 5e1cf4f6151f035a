/* Replies with several choices, or with the answers to several prompts: whose the counts are. */
#include "tests/unit/analyze/talk.h"

#include <math.h>
#include <stdio.h>

/* --- OpenAI's APIs -------------------------------------------------------------------------- */

enum { NONE = 0 };

/* A chunk of one choice; text NULL: its finish. usage NONE: none is stated. */
static void say_chunk(struct talk *t, int choice, const char *text, int prompt, int n)
{
    char data[320], usage[96] = "";
    const char *chat =
        t->r.dialect == &dialect_openai_chat ? "\"delta\":{\"content\":" : "\"text\":";
    const char *end = t->r.dialect == &dialect_openai_chat ? "}" : "";
    if (n != NONE)
        snprintf(usage, sizeof usage, ",\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}",
                 prompt, n);
    snprintf(data, sizeof data, "{\"choices\":[{\"index\":%d,%s\"%s\"%s%s}]%s}", choice, chat,
             text != NULL ? text : "", end, text == NULL ? ",\"finish_reason\":\"stop\"" : "",
             usage);
    talk_say(t, data);
}

static void say_usage(struct talk *t, int prompt, int n)
{
    char data[128];
    snprintf(data, sizeof data,
             "{\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}", prompt,
             n);
    talk_say(t, data);
}

static void settled(struct talk *t, int64_t prompt, int64_t n)
{
    saying_settle(&t->s);
    assert_int_equal(t->r.usage.prompt, prompt);
    assert_int_equal(t->r.usage.completion, n);
}

static void expect_each(const struct talk *t, int32_t step)
{
    for (size_t k = 0; k < t->r.out.n; k++)
        assert_int_equal(request_stated(&t->r, k), ((int32_t)k + 1) * step);
}

/* vLLM and SGLang, continuous_usage_stats: of the choice that the event is about. The second one
 * begins later, as far behind as 4, 1 or no events. */
static void counts_beside_each_choice(void **state)
{
    (void)state;
    static const int behind[] = {4, 1, 0};
    for (size_t i = 0; i < 3; i++) {
        for (int total = 0; total < 2; total++) {
            struct talk t;
            int n[2] = {0, 0};
            talk_begin(&t, &dialect_openai_chat);
            for (int k = 0; k < 20; k++) {
                say_chunk(&t, 0, "ab ", 11, ++n[0]);
                if (k >= behind[i])
                    say_chunk(&t, 1, "cd ", 11, ++n[1]);
            }
            say_chunk(&t, 0, NULL, 11, n[0]);
            say_chunk(&t, 1, NULL, 11, n[1]);
            if (total)
                say_usage(&t, 11, n[0] + n[1]);
            settled(&t, 11, n[0] + n[1]);
            expect_each(&t, 1);
            assert_int_equal(t.r.n1, 1);
            talk_end(&t);
        }
    }
}

/* One after the other, several tokens an event. */
static void counts_of_choices_in_turn(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    for (int k = 0; k < 12; k++)
        say_chunk(&t, k / 6, "ab ", 11, 3 * (k % 6 + 1));
    settled(&t, 11, 36);
    expect_each(&t, 3);
    talk_end(&t);
}

/* Near misses: all so far; the total of the end in every event; what each event held. */
static void counts_beside_choices_that_are_of_all(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    for (int k = 0; k < 12; k++)
        say_chunk(&t, k % 2, "ab ", 11, k + 1);
    settled(&t, 11, 12);
    expect_each(&t, 1);
    talk_end(&t);
    talk_begin(&t, &dialect_openai_chat);
    for (int k = 0; k < 12; k++)
        say_chunk(&t, k % 2, "ab ", 11, 12);
    settled(&t, 11, 12);
    talk_end(&t);
    talk_begin(&t, &dialect_openai_chat);
    for (int k = 0; k < 12; k++)
        say_chunk(&t, k % 2, "ab ", 11, 2 - k / 2 % 2);
    settled(&t, 11, 18);
    assert_int_equal(t.r.stated_last, 1);
    talk_end(&t);
}

/* Two prompts of five and nine tokens, two answers to each: 0 and 1 are those to the first. */
static void prompts_of_a_list_are_added(void **state)
{
    (void)state;
    for (int n = 1; n <= 2; n++) {
        struct talk t;
        talk_begin(&t, &dialect_openai_completions);
        t.r.asked.choices = n;
        for (int k = 0; k < 6; k++) {
            for (int c = 0; c < 2 * n; c++)
                say_chunk(&t, c, "ab ", c < n ? 5 : 9, k + 1);
        }
        settled(&t, 14, 12 * n);
        talk_end(&t);
    }
}

/* --- counts behind a finish ----------------------------------------------------------------- */

static const struct {
    const char *server;
    int texts[2], counts[2]; /* counts[1] NONE: one behind both finishes */
    int64_t n;
} finishes[] = {
    {"llama-server: of each choice", {8, 8}, {8, 8}, 16},
    {"llama-server: of unlike ones", {9, 5}, {9, 5}, 14},
    {"near miss: one for both", {8, 8}, {16, NONE}, 16},
    {"near miss: all so far, each time", {8, 8}, {15, 16}, 16},
    {"several tokens an event: nobody knows", {8, 8}, {32, 32}, -1},
};

static void say_finishes(struct talk *t, const int *texts, const int *counts)
{
    for (int k = 0; k < 9; k++) {
        for (int c = 0; c < 2; c++) {
            if (k < texts[c])
                say_chunk(t, c, "ab ", 0, NONE);
        }
    }
    for (int c = 0; c < 2; c++) {
        say_chunk(t, c, NULL, 0, NONE);
        if (counts[1] != NONE)
            say_usage(t, 11, counts[c]);
    }
    if (counts[1] == NONE)
        say_usage(t, 11, counts[0]);
}

static void counts_behind_finishes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof finishes / sizeof *finishes; i++) {
        struct talk t;
        talk_begin(&t, &dialect_openai_chat);
        say_finishes(&t, finishes[i].texts, finishes[i].counts);
        saying_settle(&t.s);
        if (t.r.usage.completion != finishes[i].n)
            fail_msg("%s: %lld", finishes[i].server, (long long)t.r.usage.completion);
        assert_int_equal(t.r.usage.prompt, 11);
        assert_int_equal(t.r.n1, -1);
        talk_end(&t);
    }
}

/* Old vLLM: in the event with the finish. */
static void counts_in_finishes(void **state)
{
    (void)state;
    static const int counts[3] = {6, 12, 30}; /* of each; of both; who knows */
    static const int64_t n[3] = {12, 12, -1};
    for (size_t i = 0; i < 3; i++) {
        struct talk t;
        talk_begin(&t, &dialect_openai_chat);
        for (int k = 0; k < 12; k++)
            say_chunk(&t, k % 2, "ab ", 0, NONE);
        say_chunk(&t, 0, NULL, 11, counts[i]);
        say_chunk(&t, 1, NULL, 11, counts[i]);
        settled(&t, 11, n[i]);
        talk_end(&t);
    }
}

/* The other choice never ended: of which the count is, or of both, is open. */
static void one_of_two_finishes(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_openai_chat);
    for (int k = 0; k < 12; k++)
        say_chunk(&t, k % 2, "ab ", 0, NONE);
    say_chunk(&t, 0, NULL, 0, NONE);
    say_usage(&t, 11, 6);
    settled(&t, 11, -1);
    assert_true(request_counts_open(&t.r));
    talk_end(&t);
}

/* --- by the dialect's own word -------------------------------------------------------------- */

static void say_llama(struct talk *t, int choice, const char *text, int n)
{
    char data[256];
    snprintf(data, sizeof data,
             "{\"index\":%d,\"content\":\"%s\",\"tokens\":[],\"stop\":%s,\"tokens_predicted\":%d,"
             "\"tokens_evaluated\":11,\"timings\":{\"predicted_n\":%d,\"predicted_ms\":100}}",
             choice, text, text[0] == '\0' ? "true" : "false", n, n);
    talk_say(t, data);
}

static void llama_answers_to_two_prompts(void **state)
{
    (void)state;
    for (int prompts = 1; prompts <= 2; prompts++) {
        struct talk t;
        talk_begin(&t, &dialect_llama_completion);
        for (int k = 0; k < 20; k++) {
            for (int c = 0; c < prompts; c++)
                say_llama(&t, c, "ab ", k + 1);
        }
        for (int c = 0; c < prompts; c++)
            say_llama(&t, c, "", 20);
        settled(&t, 11 * prompts, 20 * prompts);
        expect_each(&t, 1);
        assert_int_equal(t.r.n1, 1);
        assert_int_equal(isnan(t.r.timings.predicted_n), prompts > 1); /* of one of them */
        talk_end(&t);
    }
}

/* Older builds state it with the last event alone, here with that of one of two. */
static void a_choice_without_a_count(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_llama_completion);
    for (int c = 0; c < 2; c++)
        talk_say(&t, c == 0 ? "{\"index\":0,\"content\":\"ab\",\"stop\":false}"
                            : "{\"index\":1,\"content\":\"ab\",\"stop\":false}");
    say_llama(&t, 0, "", 20);
    settled(&t, -1, -1);
    talk_end(&t);
}

/* A list that is a document has no index in SGLang's answers: their place is it. */
static void answers_of_a_document(void **state)
{
    (void)state;
#define ANSWER(text, n)                                                                            \
    "{\"text\":\"" text                                                                            \
    "\",\"meta_info\":{\"finish_reason\":{\"type\":\"stop\"},\"prompt_tokens\":"                   \
    "11,\"completion_tokens\":" n "}}"
    static const char body[] = "[" ANSWER("ab", "20") "," ANSWER("cd", "16") "]";
    for (int n = 1; n <= 2; n++) {
        struct talk t;
        struct mark last = {.t_ready = 5, .rel = 7};
        talk_begin(&t, &dialect_sglang_generate);
        t.r.asked.choices = n;
        assert_int_equal(saying_document(&t.s, slice_of(body), last, &t.scratch), TA_OK);
        settled(&t, n == 1 ? 22 : 11, 36);
        assert_int_equal(t.r.choices_seen, 2);
        talk_end(&t);
    }
}

/* Sums of what nobody can have generated stay in range, and are none. */
static void counts_beyond_all_reason(void **state)
{
    (void)state;
    struct talk t;
    talk_begin(&t, &dialect_sglang_generate);
    for (int k = 0; k < 4; k++) {
        char data[200];
        snprintf(data, sizeof data,
                 "{\"text\":\"a\",\"index\":%d,\"meta_info\":{\"completion_tokens\":"
                 "9007199254740992}}",
                 k == 3 ? 4095 : k);
        talk_say(&t, data);
    }
    saying_settle(&t.s);
    assert_true(t.r.usage.completion > INT32_MAX);
    assert_int_equal(request_tokens(&t.r), -1);
    talk_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_beside_each_choice),
        cmocka_unit_test(counts_of_choices_in_turn),
        cmocka_unit_test(counts_beside_choices_that_are_of_all),
        cmocka_unit_test(prompts_of_a_list_are_added),
        cmocka_unit_test(counts_behind_finishes),
        cmocka_unit_test(counts_in_finishes),
        cmocka_unit_test(one_of_two_finishes),
        cmocka_unit_test(llama_answers_to_two_prompts),
        cmocka_unit_test(a_choice_without_a_count),
        cmocka_unit_test(answers_of_a_document),
        cmocka_unit_test(counts_beyond_all_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
