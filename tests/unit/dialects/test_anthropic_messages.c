/* Anthropic messages: told by "type"; the start's count is none, the end's is of all so far. */
#include "tests/unit/dialects/deltas.h"

static const struct dialect *const d = &dialect_anthropic_messages;

#define EV(type, more) type, "{\"type\":\"" type "\"" more "}"

static const struct vector vectors[] = {
    {"Anthropic",
     EV("message_start",
        ",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],"
        "\"stop_reason\":null,\"usage\":{\"input_tokens\":20,\"cache_creation_input_tokens\":3,"
        "\"cache_read_input_tokens\":100,\"output_tokens\":1}}"),
     "R S:123/1/100/-1"},
    {"vllm-mlx, input_tokens 0",
     EV("message_start", ",\"message\":{\"role\":\"assistant\",\"usage\":{\"input_tokens\":0,"
                         "\"output_tokens\":0}}"),
     "R S:-1/0/-1/-1"},
    {"Anthropic",
     EV("content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}"),
     "0"},
    {"Anthropic",
     EV("content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"thinking\","
                               "\"thinking\":\"\",\"signature\":\"\"}"),
     "0"},
    {"Anthropic",
     EV("content_block_start", ",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\","
                               "\"name\":\"get_weather\",\"input\":{}}"),
     "C0:get_weather"},
    {"a server that knows the input at the start",
     EV("content_block_start", ",\"content_block\":{\"type\":\"tool_use\",\"name\":\"f\","
                               "\"input\":{\"a\":1}}"),
     "C0:f C0:{\"a\":1}"},
    {"Anthropic",
     EV("content_block_start",
        ",\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"abc\"}"),
     "h"},
    {"Anthropic",
     EV("content_block_delta", ",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}"),
     "T0:Hi"},
    {"Anthropic",
     EV("content_block_delta", ",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}"),
     "H0:hm"},
    {"Anthropic",
     EV("content_block_delta", ",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"xyz\"}"),
     "h"},
    {"llama.cpp",
     EV("content_block_delta", ",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"\"}"),
     "0"},
    {"Anthropic",
     EV("content_block_delta",
        ",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\"}"),
     "C0:{\"a"},
    {"Anthropic, an empty piece is none",
     EV("content_block_delta", ",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}"),
     "0"},
    {"Anthropic",
     EV("content_block_delta", ",\"delta\":{\"type\":\"citations_delta\",\"citation\":{}}"), "0"},
    {"Anthropic", EV("content_block_stop", ",\"index\":0"), "0"},
    {"mlx-omni-server, stop without start", EV("content_block_stop", ",\"index\":7"), "0"},
    {"Anthropic, cumulative (24)",
     EV("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},"
                         "\"usage\":{\"output_tokens\":15}"),
     "F0:end_turn U:-1/15/-1/-1"},
    {"Anthropic, more of it comes",
     EV("message_delta", ",\"delta\":{\"stop_reason\":null},\"usage\":{\"output_tokens\":3}"),
     "u:-1/3/-1/-1"},
    {"Anthropic",
     EV("message_delta", ",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{"
                         "\"input_tokens\":7,\"output_tokens\":8}"),
     "F0:max_tokens U:7/8/-1/-1"},
    {"Anthropic", EV("message_stop", ""), "D"},
    {"vllm-mlx, after an exception: no finish", EV("message_stop", ""), "D"},
    {"Anthropic", EV("ping", ""), "P"},
    {"omlx, as the first event", "ping", "{\"type\": \"ping\"}", "P"},
    {"name left out", "message", "{\"type\":\"ping\"}", "P"},
    {"Anthropic, spaces before the brace", "error",
     "{\"type\":\"error\",\"error\":{\"details\":null,\"type\":\"overloaded_error\",\"message\":"
     "\"Overloaded\"}   }",
     "E0:Overloaded"},
    {"llama-server, its own object", "error",
     "{\"code\":400,\"message\":\"too long\",\"type\":\"exceed_context_size_error\"}",
     "E0:too long"},
    {"llama-server b11434",
     EV("message_start", ",\"message\":{\"role\":\"assistant\",\"content\":[],\"usage\":{\"cache_"
                         "read_input_tokens\":0,\"input_tokens\":32,\"output_tokens\":0}}"),
     "R S:32/0/0/-1"},
    {"no type in the data", "content_block_delta",
     "{\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}", "T0:x"},
    {"Anthropic", NULL,
     "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
     "\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"Hi\"},{"
     "\"type\":\"tool_use\",\"name\":\"f\",\"input\":{\"a\":1}}],\"stop_reason\":\"tool_use\","
     "\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":2,\"output_tokens\":6}}",
     "H0:hm T0:Hi C0:f C0:{\"a\":1} F0:tool_use U:7/6/2/-1"},
    {"Anthropic, thinking left out", NULL,
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
     "\"thinking\":\"\",\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"Hi\"}],"
     "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":5,\"output_tokens\":60}}",
     "h T0:Hi F0:end_turn U:5/60/-1/-1"},
    {"Anthropic", NULL,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad\"}}",
     "E0:bad"},
    {"FastAPI", NULL, "{\"detail\":\"Not Found\"}", "E0:Not Found"},
    {"whoever", "message", "{\"type\":\"new_kind\",\"delta\":{\"text\":\"x\"}}", "0"},
    {"whoever", "message", "{\"type\":\"content_block_delta\",\"delta\":[\"text\"]}", "0"},
    {"whoever", "message", "[DONE]", "D"},
    {"whoever", "message", "", "P"},
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
        slice_of(
            "{\"model\":\"c\",\"system\":[{\"type\":\"text\",\"text\":\"be brief\"}],"
            "\"max_tokens\":1024,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":"
            "\"one two\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"input\":"
            "{\"text\":\"x\"}}]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
            "\"three\"}]}]}"),
        &a, &q));
    assert_int_equal(q.prompt_words, 5);
    assert_int_equal(q.media, 0);
    assert_true(slice_is(q.last_message, "three"));
    assert_int_equal(q.max_tokens, 1024);
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
