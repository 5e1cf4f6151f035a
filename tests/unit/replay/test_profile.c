/* Profiles: what is shipped reads, and every fault names file and field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/profile.h"

static const char whole[] =
    "{\"name\":\"n\",\"about\":\"a\",\"model\":\"m\",\"dialects\":[\"openai-chat\"],\"prefill_"
    "tps\":"
    "1000,"
    "\"decode_tps\":50.5,\"batching\":{\"kind\":\"continuous\"},\"delivery\":{\"kind\":\"stream\"},"
    "\"role_event\":\"at-once\",\"usage\":\"always\"}";

static char path[] = "/tmp/tokaudit-profile-XXXXXX.json";

static int read_text(const char *text, struct profile *p, struct err *e)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return profile_read(path, p, e);
}

/* whole with the first `from` replaced. */
static void expect_fault(const char *from, const char *to, const char *said)
{
    char text[2048];
    const char *at = strstr(whole, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    struct profile p;
    struct err e;
    assert_int_equal(read_text(text, &p, &e), TA_EFORMAT);
    if (strstr(e.msg, said) == NULL || strstr(e.msg, path) == NULL)
        fail_msg("%s -> %s\n  said      %s\n  expected  %s and %s", from, to, e.msg, path, said);
    profile_done(&p);
}

static void test_defaults(void **state)
{
    (void)state;
    struct profile p;
    struct err e;
    assert_int_equal(read_text(whole, &p, &e), TA_OK);
    assert_string_equal(p.name, "n");
    assert_string_equal(p.model, "m");
    assert_ptr_equal(p.dialects[0], &dialect_openai_chat);
    assert_null(p.dialects[1]);
    assert_true(p.decode_tps == 50.5 && p.prefill_tps == 1000);
    assert_int_equal(p.batching, BATCHING_CONTINUOUS);
    assert_int_equal(p.max_batch, 256);
    assert_int_equal(p.delivery, DELIVERY_STREAM);
    assert_int_equal(p.role_event, ROLE_AT_ONCE);
    assert_int_equal(p.usage, USAGE_ALWAYS);
    assert_int_equal(p.keepalive_ns, 0);
    assert_null(p.keepalive);
    assert_int_equal(p.leftover_mb, 0);
    assert_false(p.blocks || p.timings || p.says_stop || p.role_in_every || p.blank_document);
    assert_false(p.timings_in_every || p.usage_null || p.usage_repeats);
    assert_false(p.role_alone || p.finish_absent || p.delta_nulls || p.usage_seconds);
    assert_false(p.created_per_event || p.completions_new_ids || p.completions_one_usage);
    assert_false(p.anthropic_output_only || p.anthropic_says_stop || p.responses_done);
    assert_int_equal(p.usage_details, DETAILS_REASONING);
    assert_int_equal(p.timings_names, TIMINGS_LLAMA);
    assert_null(p.usage_object);
    assert_null(p.completions_object);
    assert_int_equal(p.context_limit, 0);
    profile_done(&p);
}

static void test_all_fields(void **state)
{
    (void)state;
    struct profile p;
    struct err e;
    int rc = read_text(
        "{\"name\":\"n-1\",\"about\":\"a\",\"model\":\"m\",\"dialects\":[\"openai-chat\","
        "\"ollama-generate\"],\"prefill_tps\":1,\"prefill_quadratic_ns\":632.4,\"decode_tps\":790,"
        "\"batching\":{\"kind\":\"serial\",\"slowdown\":-0.25,\"workers\":2},"
        "\"stalls\":{\"every_s\":20,\"for_s\":0.5,\"tps\":3.5},"
        "\"delivery\":{\"kind\":\"collect-then-replay\",\"event_cost_us\":71.5,"
        "\"tokens_per_event\":4},\"head\":\"at-once\",\"role_event\":\"none\","
        "\"role_in_every\":true,\"usage\":\"with-finish-and-asked\",\"says_stop\":true,"
        "\"usage_null\":true,\"usage_repeats_finish\":true,\"timings_in_every\":true,"
        "\"role_alone\":true,\"finish_absent\":true,\"delta_nulls\":true,"
        "\"usage_details\":\"both\",\"usage_object\":\"o\",\"created_per_event\":true,"
        "\"timings_names\":\"mlx-serve\","
        "\"completions\":{\"object\":\"t\",\"new_ids\":true,\"one_usage\":true},"
        "\"anthropic\":{\"output_only\":true,\"says_stop\":true},"
        "\"responses\":{\"done\":true,\"heartbeat\":true},"
        "\"timings\":true,\"thinking\":{\"tokens\":3,\"member\":\"reasoning\"},"
        "\"http\":{\"framing\":\"http-1.0\",\"event_stream\":\"text/"
        "event-stream\",\"fields\":[\"X-A: b\",\"X-C: d\"],"
        "\"blank_document\":true},"
        "\"keepalive\":{\"line\":\": k\",\"every_s\":0.25,\"start\":\"second\"},"
        "\"context\":{\"limit\":32768,\"error\":\"{prompt} > {limit}\",\"error_type\":\"t\"},"
        "\"errors\":\"detail\",\"leftover\":{\"mb\":64},\"jitter\":0.1}",
        &p, &e);
    if (rc != TA_OK)
        fail_msg("%s", e.msg);
    assert_ptr_equal(p.dialects[1], &dialect_ollama_generate);
    assert_null(p.dialects[2]);
    assert_true(p.prefill_quadratic_ns == 632.4 && p.slowdown == -0.25 && p.stall_tps == 3.5);
    assert_int_equal(p.max_batch, 1);
    assert_int_equal(p.workers, 2);
    assert_int_equal(p.stall_every_ns, INT64_C(20000000000));
    assert_int_equal(p.stall_for_ns, 500000000);
    assert_int_equal(p.delivery, DELIVERY_COLLECT);
    assert_int_equal(p.event_cost_ns, 71500);
    assert_int_equal(p.tokens_per_event, 4);
    assert_int_equal(p.head, HEAD_AT_ONCE);
    assert_int_equal(p.role_event, ROLE_IN_EVERY);
    assert_int_equal(p.usage, USAGE_WITH_FINISH_AND_ASKED);
    assert_true(p.role_in_every && p.says_stop && p.timings && p.blank_document);
    assert_true(p.usage_null && p.usage_repeats && p.timings_in_every);
    assert_true(p.role_alone && p.finish_absent && p.delta_nulls && p.created_per_event);
    assert_int_equal(p.usage_details, DETAILS_BOTH);
    assert_int_equal(p.timings_names, TIMINGS_MLX_SERVE);
    assert_string_equal(p.usage_object, "o");
    assert_string_equal(p.completions_object, "t");
    assert_true(p.completions_new_ids && p.completions_one_usage);
    assert_true(p.anthropic_output_only && p.anthropic_says_stop);
    assert_true(p.responses_done && p.responses_heartbeat);
    assert_int_equal(p.thinking_tokens, 3);
    assert_string_equal(p.thinking, "reasoning");
    assert_int_equal(p.framing, FRAMING_HTTP_1_0);
    assert_string_equal(p.event_stream, "text/event-stream");
    assert_string_equal(p.fields, "X-A: b\r\nX-C: d\r\n");
    assert_string_equal(p.keepalive, ": k");
    assert_int_equal(p.keepalive_ns, 250000000);
    assert_int_equal(p.keepalive_start, KEEPALIVE_SECOND);
    assert_int_equal(p.context_limit, 32768);
    assert_string_equal(p.context_error, "{prompt} > {limit}");
    assert_string_equal(p.context_error_type, "t");
    assert_int_equal(p.error_shape, ERROR_DETAIL);
    assert_int_equal(p.leftover_mb, 64);
    assert_int_equal(p.leftover_for_ns, INT64_C(60000000000)); /* if it does not say */
    assert_true(p.jitter == 0.1);
    profile_done(&p);
}

/* A member more at the root. */
static void expect_fault_with(const char *member, const char *said)
{
    char more[512];
    snprintf(more, sizeof more, "\"name\":\"n\",%s", member);
    expect_fault("\"name\":\"n\"", more, said);
}

/* Texts that would be bytes on the wire, and fields that contradict one another. */
static void test_contradictions(void **state)
{
    (void)state;
    expect_fault("[\"openai-chat\"]", "[]",
                 "dialects: expected a list of 1 to 15 of openai-chat, ");
    expect_fault("[\"openai-chat\"]", "[\"openai-chat\",\"cobol\"]", "dialects: expected a list");
    expect_fault("[\"openai-chat\"]", "\"openai-chat\"", "dialects: expected a list");
    expect_fault_with("\"http\":{\"fields\":[\"X: a\\r\\nY: b\"]}", "fields: expected a list");
    expect_fault_with("\"http\":{\"event_stream\":\"text/plain\"}", "http: event_stream: expected");
    expect_fault_with("\"http\":{\"fields\":[\"X\"]}", "fields: expected a list");
    expect_fault_with("\"http\":{\"fields\":[\"content-LENGTH: 1\"]}", "fields: expected a list");
    expect_fault_with("\"http\":{\"fields\":\"X: a\"}", "fields: expected a list");
    expect_fault_with("\"keepalive\":{\"line\":\"ping\"}", "keepalive: line: expected a comment");
    expect_fault_with("\"keepalive\":{\"line\":\":\\n\"}", "line: expected a text of one line");
    expect_fault_with("\"keepalive\":{}", "no field \"line\" in keepalive");
    expect_fault_with("\"stalls\":{\"every_s\":1,\"for_s\":1,\"tps\":51}", "at most decode_tps");
    expect_fault_with("\"stalls\":{\"every_s\":1,\"for_s\":1}", "no field \"tps\" in stalls");
    expect_fault_with("\"head\":\"admitted\"", "head: \"admitted\"");
    expect_fault_with("\"head\":\"never\"",
                      "head: expected \"with-role\", \"at-once\" or \"admitted\"");
    expect_fault_with("\"timings\":true,\"usage_seconds\":true", "usage_seconds: its clock");
    expect_fault_with("\"completions\":{\"ids\":true}", "\"ids\" in completions");
    expect_fault_with("\"usage_details\":\"all\"",
                      "usage_details: expected \"reasoning\", \"cached\", \"both\" or \"none\"");
    expect_fault_with("\"timings\":1", "timings: expected true or false");
    expect_fault_with("\"leftover\":{\"mb\":0}", "mb: expected a whole number from 1");
    expect_fault("\"stream\"", "\"pairs\",\"tokens_per_event\":2", "tokens_per_event");
    expect_fault("\"continuous\"}", "\"continuous\",\"slowdown\":-1}", "slowdown: expected");
    expect_fault("\"continuous\"}", "\"continuous\",\"workers\":65}", "workers: expected");
    expect_fault("\"continuous\"},\"delivery\":{\"kind\":\"stream\"",
                 "\"continuous\",\"workers\":2},\"delivery\":{\"kind\":\"pairs\",\"blocks\":true",
                 "delivery: blocks");
}

static void test_faults(void **state)
{
    (void)state;
    expect_fault("\"about\"", "\"abuot\"", "unknown field \"abuot\"");
    expect_fault("\"kind\":\"stream\"", "\"kind\":\"stream\",\"event_cost\":1",
                 "\"event_cost\" in delivery");
    expect_fault("\"about\"", "\"a\\u001b[1m\"", "unknown field");
    expect_fault("\"model\":\"m\",", "", "no field \"model\"");
    expect_fault("{\"kind\":\"continuous\"}", "{}", "no field \"kind\" in batching");
    expect_fault("{\"kind\":\"continuous\"}", "\"serial\"", "batching: expected an object");
    expect_fault("{\"kind\":\"continuous\"}", "{\"kind\":\"serial\",\"max\":2}", "batching");
    expect_fault("{\"kind\":\"continuous\"}", "{\"kind\":\"continuous\",\"max\":1.5}",
                 "whole number");
    expect_fault("\"stream\"", "\"burst\"", "expected \"stream\", \"collect-then-replay\", ");
    expect_fault("{\"kind\":\"stream\"}", "{\"kind\":\"stream\",\"event_cost_us\":71}",
                 "event_cost_us");
    expect_fault("50.5", "0", "decode_tps: expected a number");
    expect_fault("50.5", "\"50\"", "decode_tps: expected a number");
    expect_fault("\"n\"", "\"a\\r\\nb\"", "name: expected a text of one line");
    expect_fault("\"n\"", "\"a b\"", "name: expected at most 64 letters");
    expect_fault("\"m\"", "7", "model: expected a text");
    expect_fault("\"openai-chat\"", "7", "dialects: expected a list");
    expect_fault("always", "sometimes", "usage: expected \"asked\", \"always\", ");
}

static void test_not_a_profile(void **state)
{
    (void)state;
    struct profile p;
    struct err e;
    assert_int_equal(read_text("[]", &p, &e), TA_EFORMAT);
    profile_done(&p);
    assert_int_equal(read_text("{", &p, &e), TA_EFORMAT);
    profile_done(&p);
    assert_int_equal(profile_read("/nonexistent/x.json", &p, &e), TA_EFORMAT);
    assert_non_null(strstr(e.msg, "/nonexistent/x.json"));
    profile_done(&p);
    assert_int_equal(profile_read("no-such-profile", &p, &e), TA_EFORMAT);
    assert_non_null(strstr(e.msg, "no-such-profile"));
    profile_done(&p);
}

static void test_shipped(void **state)
{
    (void)state;
    static const char *const names[] = {"ideal",
                                        "superlinear-batching",
                                        "degrading-batching",
                                        "collect-then-replay",
                                        "not-streamed",
                                        "context-32768",
                                        "cyclic-stalls",
                                        "quadratic-prefill",
                                        "leftover",
                                        "one-write",
                                        "pairs",
                                        "one-piece"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[256];
        struct profile p;
        struct err e;
        snprintf(file, sizeof file, TESTS_DIR "/../replay/profiles/%s.json", names[i]);
        if (profile_read(file, &p, &e) != TA_OK)
            fail_msg("%s", e.msg);
        assert_string_equal(p.name, names[i]);
        profile_done(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_not_a_profile),
        cmocka_unit_test(test_shipped),  cmocka_unit_test(test_contradictions),
    };
    int fd = mkstemps(path, 5);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
