/* OpenAI responses: only deltas are new text, the last event has the usage, and no end mark is
 * needed. */
#include "tests/unit/dialects/deltas.h"

static const struct dialect *const d = &dialect_openai_responses;

#define EV(type, more) "response." type, "{\"type\":\"response." type "\"" more "}"
#define WHOLE                                                                                      \
    "\"output\":[{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}" \
    "]},"                                                                                          \
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","         \
    "\"text\":"                                                                                    \
    "\"Hi\"},{\"type\":\"refusal\",\"refusal\":\"No\"}]},{\"type\":\"function_call\",\"name\":"    \
    "\"f\",\"arguments\":\"{}\"}]"
#define USAGE                                                                                      \
    "\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":4},"                \
    "\"output_tokens\":12,\"output_tokens_details\":{\"reasoning_tokens\":5},\"total_tokens\":21}"

static const struct vector vectors[] = {
    {"OpenAI",
     EV("created", ",\"sequence_number\":0,\"response\":{\"status\":\"in_progress\","
                   "\"output\":[],\"usage\":null,\"error\":null}"),
     "0"},
    {"OpenAI", EV("in_progress", ",\"sequence_number\":1,\"response\":{}"), "0"},
    {"Rapid-MLX, heartbeat (8)", EV("in_progress", ",\"sequence_number\":17,\"response\":{}"), "P"},
    {"Rapid-MLX, heartbeat (8)", EV("in_progress", ",\"response\":{}"), "P"},
    {"OpenAI",
     EV("output_item.added", ",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\","
                             "\"role\":\"assistant\",\"content\":[]}"),
     "R"},
    {"OpenAI",
     EV("output_item.added", ",\"item\":{\"type\":\"function_call\",\"name\":\"get\","
                             "\"arguments\":\"\"}"),
     "C0:get"},
    {"OpenAI", EV("output_item.added", ",\"item\":{\"type\":\"reasoning\",\"summary\":[]}"), "0"},
    {"OpenAI", EV("content_part.added", ",\"part\":{\"type\":\"output_text\",\"text\":\"\"}"), "0"},
    {"OpenAI", EV("output_text.delta", ",\"delta\":\"a \\\"b\\\"\",\"obfuscation\":\"xyz\""),
     "T0:a \"b\""},
    {"OpenAI", EV("output_text.delta", ",\"delta\":\"\""), "0"},
    {"OpenAI", EV("refusal.delta", ",\"delta\":\"No\""), "N0:No"},
    {"OpenAI", EV("reasoning_text.delta", ",\"delta\":\"hm\""), "H0:hm"},
    {"OpenAI", EV("reasoning_summary_text.delta", ",\"delta\":\"so\""), "H0:so"},
    {"Agents, delta as object", EV("reasoning.delta", ",\"delta\":{\"text\":\"so\"}"), "H0:so"},
    {"OpenAI", EV("function_call_arguments.delta", ",\"delta\":\"{\\\"a\\\":\""), "C0:{\"a\":"},
    {"OpenAI", EV("custom_tool_call_input.delta", ",\"delta\":\"x\""), "C0:x"},
    {"OpenAI, repeats (38)", EV("output_text.done", ",\"text\":\"all of it\""), "0"},
    {"OpenAI, repeats (38)", EV("function_call_arguments.done", ",\"arguments\":\"{}\""), "0"},
    {"OpenAI, repeats (38)",
     EV("output_item.done", ",\"item\":{\"type\":\"function_call\",\"name\":\"get\"}"), "0"},
    {"OpenAI, repeats (38)",
     EV("completed",
        ",\"response\":{\"object\":\"response\",\"status\":\"completed\"," WHOLE "," USAGE "}"),
     "F0:completed U:9/12/4/5 D"},
    {"OpenAI",
     EV("incomplete", ",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{"
                      "\"reason\":\"max_output_tokens\"}," USAGE "}"),
     "F0:max_output_tokens U:9/12/4/5 D"},
    {"OpenAI",
     EV("failed", ",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\","
                  "\"message\":\"gone\"},\"usage\":null}"),
     "E0:gone D"},
    {"llama-server b11434",
     EV("completed", ",\"response\":{\"object\":\"response\",\"status\":\"completed\",\"usage\":{"
                     "\"input_tokens\":32,\"output_tokens\":12,\"input_tokens_details\":{\"cached_"
                     "tokens\":31}}},\"timings\":{\"cache_n\":31,\"prompt_n\":1,\"prompt_ms\":29.5,"
                     "\"predicted_n\":12,\"predicted_ms\":240,\"predicted_per_second\":50}"),
     "F0:completed U:32/12/31/-1 M:1/29.5/12/240/50 D"},
    {"whoever", EV("failed", ",\"response\":{}"), "E0:failed D"},
    {"whoever", EV("completed", ""), "F0:completed D"},
    {"OpenAI", "error", "{\"type\":\"error\",\"code\":\"x\",\"message\":\"gone\",\"param\":null}",
     "E0:gone"},
    {"LM Studio", "error", "{\"type\":\"error\",\"error\":{\"type\":\"t\",\"message\":\"gone\"}}",
     "E0:gone"},
    {"mlx-serve, end mark (20)", "message", "[DONE]", "D"},
    {"name of the event alone", "response.output_text.delta", "{\"delta\":\"x\"}", "T0:x"},
    {"no name of the event", "message", "{\"type\":\"response.output_text.delta\",\"delta\":\"x\"}",
     "T0:x"},
    {"OpenAI", NULL, "{\"object\":\"response\",\"status\":\"completed\"," WHOLE "," USAGE "}",
     "H0:hm T0:Hi N0:No C0:f C0:{} F0:completed U:9/12/4/5"},
    {"OpenAI", NULL,
     "{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"message\":\"gone\"},\"output\":[]"
     "}",
     "E0:gone"},
    {"OpenAI", NULL, "{\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}", "0"},
    {"OpenAI", NULL, "{\"error\":{\"message\":\"bad\",\"type\":\"invalid_request_error\"}}",
     "E0:bad"},
    {"FastAPI", NULL, "{\"detail\":\"Not Found\"}", "E0:Not Found"},
    {"whoever", "message", "{\"type\":\"response.new.kind\",\"delta\":\"x\"}", "0"},
    {"whoever", "message", "{\"type\":7,\"delta\":{\"text\":[]},\"response\":[]}", "0"},
    {"whoever", "message", "nothing", "E0:not JSON"},
};

static void test_vectors(void **state)
{
    (void)state;
    expect_vectors(d, vectors, sizeof vectors / sizeof *vectors);
}

static void test_request(void **state)
{
    (void)state;
    struct arena a = {0};
    struct dialect_request q;
    assert_true(d->request(
        slice_of("{\"model\":\"m\",\"instructions\":\"be brief\",\"input\":[{\"role\":\"user\","
                 "\"content\":[{\"type\":\"input_text\",\"text\":\"see this\"},{\"type\":"
                 "\"input_image\",\"image_url\":\"a b c\"}]}],\"max_output_tokens\":7,"
                 "\"stream\":true}"),
        &a, &q));
    assert_int_equal(q.prompt_words, 4);
    assert_true(slice_is(q.last_message, "see this"));
    assert_int_equal(q.max_tokens, 7);
    assert_int_equal(q.stream, 1);
    assert_true(d->request(slice_of("{\"input\":\"just text\"}"), &a, &q));
    assert_int_equal(q.prompt_words, 2);
    assert_int_equal(q.stream, -1);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
