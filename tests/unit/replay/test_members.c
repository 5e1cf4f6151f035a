/* How simulated servers differ in what their events have in them: members that are null, missing or
 * named otherwise, ids and times, over real sockets. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "tests/support/served.h"
#include "traces/base/clock.h"

#define STREAM ",\"stream\":true,\"max_tokens\":4"
#define ASKED ",\"stream_options\":{\"include_usage\":true}"

static void post(int fd, const char *path, const char *body)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "POST %s HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", path,
                     strlen(body), body);
    send_all(fd, text, (size_t)n);
}

/* Bytes of one reply, with what must stand in them how often. */
struct shown {
    const char *bytes;
    size_t times;
};

static void expect_bytes(const struct profile *p, const char *path, const char *body,
                         const char *until, const struct shown *shown)
{
    struct fixture f;
    start(&f, *p, 0);
    int fd = dial(&f);
    post(fd, path, body);
    char *response = receive(fd, until);
    for (; shown->bytes != NULL; shown++) {
        if (count(response, shown->bytes) != shown->times)
            fail_msg("%zu times \"%s\", expected %zu, in\n%s", count(response, shown->bytes),
                     shown->bytes, shown->times, response);
    }
    free(response);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

/* Members that some servers leave out, fill with null or name otherwise (wire dialects, quirks 22,
 * 30, 35, 41, 42). */
static void test_members(void **state)
{
    (void)state;
    static const char chat[] = "/v1/chat/completions";
    struct profile p = quick_profile();
    p.role_alone = p.finish_absent = true;
    expect_bytes(&p, chat, ASK(STREAM), END,
                 (struct shown[]){{"\"delta\":{\"role\":\"assistant\"}}", 1},
                                  {"finish_reason", 1},
                                  {"\"finish_reason\":\"length\"", 1},
                                  {NULL, 0}});
    p = quick_profile();
    p.role_event = ROLE_IN_EVERY;
    p.delta_nulls = true;
    p.thinking_tokens = 1;
    p.thinking = "reasoning";
    p.usage = USAGE_ALWAYS;
    p.usage_details = DETAILS_CACHED;
    p.usage_object = "chat.completion";
    p.event_stream = "text/event-stream";
    expect_bytes(&p, chat, ASK(STREAM), END,
                 (struct shown[]){{"Content-Type: text/event-stream\r\n", 1},
                                  {"\"content\":null", 2}, /* thinking, finish */
                                  {"\"reasoning\":null", 4},
                                  {"\"tool_calls\":null", 5},
                                  {"\"role\":\"assistant\"", 5},
                                  {"\"object\":\"chat.completion\",", 1},
                                  {"\"prompt_tokens_details\":{\"cached_tokens\":0}", 1},
                                  {"reasoning_tokens", 0},
                                  {NULL, 0}});
    p = quick_profile();
    p.usage = USAGE_ALWAYS;
    p.usage_seconds = true;
    p.usage_details = DETAILS_CACHED;
    p.prefill_tps = 100; /* four words: 40 ms */
    p.decode_tps = 50;   /* three steps: 60 ms */
    expect_bytes(&p, chat, ASK(STREAM), END,
                 (struct shown[]){{"\"total_tokens\":8,\"cached_tokens\":0,"
                                   "\"model_load_duration\":0,\"time_to_first_token\":0.04,"
                                   "\"total_time\":0.1,\"prompt_eval_duration\":0.04,"
                                   "\"generation_duration\":0.06,\"prompt_tokens_per_second\":100,"
                                   "\"generation_tokens_per_second\":66.67}",
                                   1},
                                  {"timings", 0},
                                  {NULL, 0}});
    expect_bytes(
        &p, chat, ASK(",\"max_tokens\":4"), "}}",
        (struct shown[]){{"cached_tokens", 0}, {"\"generation_duration\":0.06", 1}, {NULL, 0}});
    p.usage_seconds = false;
    p.timings = true;
    p.timings_names = TIMINGS_MLX_SERVE;
    p.usage_details = DETAILS_BOTH;
    expect_bytes(&p, chat, ASK(STREAM), END,
                 (struct shown[]){{"\"cached_n\":0,", 1},
                                  {"cache_n", 0},
                                  {"per_token_ms", 0},
                                  {"\"tokenize_ms\":0", 1},
                                  {"\"reasoning_tokens\":0", 1},
                                  {NULL, 0}});
}

/* … and what is so in one of OpenAI's other APIs, or in Anthropic's. */
static void test_other_apis(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    p.dialects[0] = &dialect_openai_completions;
    p.usage = USAGE_WITH_FINISH_AND_ASKED;
    p.completions_object = "text_completion.chunk";
    p.completions_new_ids = p.completions_one_usage = true;
    static const char ask[] = "{\"prompt\":\"a b\",\"stream\":true,\"max_tokens\":4" ASKED "}";
    expect_bytes(&p, "/v1/completions", ask, END,
                 (struct shown[]){{"\"object\":\"text_completion.chunk\"", 5},
                                  {"\"id\":\"cmpl-", 5},
                                  {"\"usage\":{", 1},
                                  {"\"choices\":[]", 0},
                                  {NULL, 0}});
    struct fixture f;
    start(&f, p, 0);
    int fd = dial(&f);
    post(fd, "/v1/completions", ask);
    char *response = receive(fd, END);
    for (const char *at = strstr(response, "\"id\""); at != NULL; at = strstr(at + 1, "\"id\"")) {
        char id[20];
        snprintf(id, sizeof id, "%.19s", at);
        assert_int_equal(count(response, id), 1); /* never twice */
    }
    free(response);
    close(fd);
    stop(&f);
    free(f.truth_text);

    p = quick_profile();
    p.dialects[0] = &dialect_anthropic_messages;
    p.anthropic_output_only = p.anthropic_says_stop = true;
    expect_bytes(&p, "/v1/messages", ASK(STREAM), END,
                 (struct shown[]){{"\"usage\":{\"input_tokens\":0,", 1},
                                  {"input_tokens\":0", 2}, /* of the cache's, too */
                                  {"\"usage\":{\"output_tokens\":4}", 1},
                                  {"max_tokens", 0},
                                  {"\"end_turn\"", 1},
                                  {NULL, 0}});
    p = quick_profile();
    p.dialects[0] = &dialect_openai_responses;
    p.role_event = ROLE_AT_ONCE;
    p.keepalive = ": k";
    p.keepalive_ns = 30000000;
    p.prefill_tps = 20; /* two words: 100 ms, three keep-alives */
    static const char input[] = "{\"input\":\"a b\",\"stream\":true,\"max_output_tokens\":4}";
    expect_bytes(&p, "/v1/responses", input, "0\r\n\r\n",
                 (struct shown[]){{"event: response.in_progress\n", 1}, {"[DONE]", 0}, {NULL, 0}});
    p.responses_done = p.responses_heartbeat = true;
    expect_bytes(&p, "/v1/responses", input, "0\r\n\r\n",
                 (struct shown[]){{": k\n", 0},
                                  {"\"sequence_number\":2,\"response\":", 1}, /* the first again */
                                  {"data: [DONE]\n\n", 1},
                                  {NULL, 0}});
}

/* Ollama's lines say when each token was made, to the nanosecond: as the truth has it, though all
 * of a collected reply leave later. */
static void test_created(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    p.dialects[0] = &dialect_ollama_chat;
    p.delivery = DELIVERY_COLLECT;
    p.decode_tps = 100;
    start(&f, p, 0);
    int fd = dial(&f);
    static const char ask[] = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
                              "\"a\"}],\"options\":{\"num_predict\":4}}";
    post(fd, "/api/chat", ask);
    char *response = receive(fd, "0\r\n\r\n");
    close(fd);
    stop(&f);
    struct told t[8];
    assert_int_equal(tokens_told(f.truth_text, t, 8), 4);
    const char *at = response;
    for (size_t i = 0; i < 4; i++) {
        char expected[64];
        time_t s = (time_t)(t[i].made_ns / NS_PER_S);
        struct tm tm;
        size_t k = strftime(expected, sizeof expected, "\"created_at\":\"%Y-%m-%dT%H:%M:%S",
                            gmtime_r(&s, &tm));
        snprintf(expected + k, sizeof expected - k, ".%09dZ\"", (int)(t[i].made_ns % NS_PER_S));
        at = strstr(at + 1, "\"created_at\"");
        assert_non_null(at);
        if (strncmp(at, expected, strlen(expected)) != 0)
            fail_msg("token %zu: %.50s, expected %s", i, at, expected);
    }
    assert_int_equal(count(response, "\"created_at\""), 5); /* and the last line */
    free(response);
    free(f.truth_text);
}

/* OpenAI's "created" is the request's, or that of each event; four tokens last 1.2 s. */
static void test_created_per_event(void **state)
{
    (void)state;
    for (int each = 0; each <= 1; each++) {
        struct profile p = quick_profile();
        struct fixture f;
        p.decode_tps = 2.5;
        p.created_per_event = each == 1;
        start(&f, p, 0);
        int fd = dial(&f);
        send_chat(fd, ASK(STREAM));
        char *response = receive(fd, END);
        char first[24];
        const char *at = strstr(response, "\"created\":");
        assert_non_null(at);
        snprintf(first, sizeof first, "%.20s", at);
        size_t same = count(response, first), all = count(response, "\"created\":");
        assert_int_equal(all, 6); /* role, four pieces, finish */
        assert_true(each == 1 ? same < all : same == all);
        free(response);
        close(fd);
        stop(&f);
        free(f.truth_text);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_other_apis),
        cmocka_unit_test(test_created),
        cmocka_unit_test(test_created_per_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
