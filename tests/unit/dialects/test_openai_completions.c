/* OpenAI completions: what each server's chunk says. Quirk numbers are those of the list of wire
 * quirks that the dialects were written from. */
#include "tests/unit/dialects/deltas.h"

static const struct dialect *const d = &dialect_openai_completions;

#define T(choice) "{\"object\":\"text_completion\",\"choices\":[" choice "]}"

static const struct vector vectors[] = {
    {"OpenAI", "message",
     T("{\"index\":0,\"text\":\" Hi\",\"logprobs\":null,\"finish_reason\":null}"), "T0: Hi"},
    {"OpenAI", "message", T("{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\"}"), "F0:stop"},
    {"OpenAI", "message",
     "{\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,\"total_tokens\":12,"
     "\"prompt_tokens_details\":{\"cached_tokens\":4}}}",
     "U:5/7/4/-1"},
    {"OpenAI", "message", " [DONE]", "D"},
    {"OpenAI", NULL,
     T("{\"index\":0,\"text\":\"a\\nb\",\"finish_reason\":\"length\"},{\"index\":1,\"text\":\"c\","
       "\"finish_reason\":\"stop\"}"),
     "T0:a\nb F0:length T1:c F1:stop"},
    {"OpenAI, n 2", "message", T("{\"text\":\"x\",\"index\":1},{\"text\":\"y\",\"index\":0}"),
     "T1:x T0:y"},
    {"vLLM, return_token_ids", "message",
     T("{\"index\":0,\"text\":\"ab\",\"logprobs\":null,\"finish_reason\":null,\"stop_reason\":null,"
       "\"token_ids\":[11,12,13]}"),
     "K0:3 T0:ab"},
    {"vLLM, tokens without text", "message", T("{\"index\":0,\"text\":\"\",\"token_ids\":[9]}"),
     "K0:1"},
    {"vLLM, continuous_usage_stats (24)", "message",
     "{\"choices\":[{\"index\":0,\"text\":\"a\"}],\"usage\":{\"prompt_tokens\":3,"
     "\"completion_tokens\":2,\"total_tokens\":5}}",
     "T0:a U:3/2/-1/-1"},
    {"vLLM, old error (17)", "message",
     "{\"object\":\"error\",\"message\":\"too long\",\"type\":\"BadRequestError\",\"code\":400}",
     "E0:too long"},
    {"vLLM", "message", "{\"error\":{\"message\":\"dead\",\"type\":\"x\",\"code\":500}}",
     "E0:dead"},
    {"Ollama, zeros first (25)", "message",
     "{\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"choices\":[{\"text\":\"x\",\"index\":0,"
     "\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,"
     "\"total_tokens\":0}}",
     "T0:x U:0/0/-1/-1"},
    {"vLLM, given up", "message", T("{\"index\":0,\"text\":\"x\",\"finish_reason\":\"abort\"}"),
     "T0:x E0:abort"},
    {"vLLM, its part is gone", NULL, T("{\"index\":0,\"text\":\"\",\"finish_reason\":\"error\"}"),
     "E0:error"},
    {"whoever, no error (near miss)", "message",
     "{\"error\":{},\"choices\":[{\"text\":\"x\",\"finish_reason\":\"aborted by word\"}]}",
     "T0:x F0:aborted by word"},
    {"TGI, empty finish (30)", "message",
     T("{\"index\":0,\"text\":\"x\",\"logprobs\":null,\"finish_reason\":\"\"}"), "T0:x"},
    {"vllm-mlx, id per chunk (34), usage on the last (22)", "message",
     "{\"id\":\"cmpl-0a1b2c3d\",\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\"}"
     "],"
     "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}",
     "F0:stop U:1/2/-1/-1"},
    {"mlx-serve, its own object (35)", "message",
     "{\"object\":\"text_completion.chunk\",\"choices\":[{\"index\":0,\"text\":\"x\"}],"
     "\"usage\":null}",
     "T0:x"},
    {"llama-server, timings on the last", "message",
     "{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"length\"}],\"usage\":{"
     "\"completion_tokens\":4,\"prompt_tokens\":3},\"timings\":{\"prompt_n\":3,\"prompt_ms\":1.5,"
     "\"predicted_n\":4,\"predicted_ms\":40,\"predicted_per_second\":100}}",
     "F0:length U:3/4/-1/-1 M:3/1.5/4/40/100"},
    {"mlx-vlm, error is a text (16)", "message", "{\"error\":\"out of memory\"}",
     "E0:out of memory"},
    {"FastAPI", NULL, "{\"detail\":[{\"loc\":[\"body\"]}]}", "E0:[{\"loc\":[\"body\"]}]"},
    {"omlx, spaces before (9)", NULL, "   \n {\"choices\":[{\"text\":\"x\"}]}  ", "T0:x"},
    {"trtllm-serve, space behind (11)", "message", "{\"choices\":[{\"text\":\"x\"}]} ", "T0:x"},
    {"SGLang, sglext without usage (26)", "message", "{\"choices\":[],\"sglext\":{\"a\":1}}", "0"},
    {"older llama-server, field error (12)", "error", "{\"code\":500,\"message\":\"gone\"}",
     "E0:gone"},
    {"whoever", "ping", "{}", "P"},
    {"whoever", "message", "{\"choices\":[null,3,[{\"text\":\"no\"}],\"x\"],\"z\":[[{}]]}", "0"},
    {"whoever", "message", "{\"choices\":{\"text\":\"x\"}}", "0"},
    {"whoever", "message", "[]", "0"},
    {"whoever", "message", "hello", "P"},
    {"whoever", "error", "out of memory", "E0:out of memory"},
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
            "{\"model\":\"m\",\"prompt\":\"two words\",\"max_tokens\":9,\"stream\":true,\"n\":2,"
            "\"echo\":true,\"stream_options\":{\"include_usage\":true}}"),
        &a, &q));
    assert_true(slice_is(q.model, "m"));
    assert_true(slice_is(q.last_message, "two words"));
    assert_int_equal(q.prompt_words, 2);
    assert_int_equal(q.max_tokens, 9);
    assert_int_equal(q.choices, 2);
    assert_int_equal(q.candidates, 0);
    assert_int_equal(q.stream, 1);
    assert_true(q.echo && q.usage_asked);
    assert_true(d->request(slice_of("{\"prompt\":[[1,2,3],[4]],\"echo\":false}"), &a, &q));
    assert_int_equal(q.prompt_words, 4); /* token ids */
    assert_false(q.echo);
    assert_true(d->request(slice_of("{\"prompt\":[\"a b\",\"c\"]}"), &a, &q));
    assert_int_equal(q.prompt_words, 3);
    assert_true(d->request(slice_of("{\"prompt\":\"a\",\"n\":1,\"best_of\":4}"), &a, &q));
    assert_int_equal(q.choices, 1);
    assert_int_equal(q.candidates, 4);
    assert_false(d->request(slice_of("{\"prompt\":[\"a b\""), &a, &q));
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
