/* What each server that imitates OpenAI's chat puts into its chunks, by the server's name. Numbers
 * are those of the list of wire quirks that the dialects were written from. */
#include "tests/unit/dialects/deltas.h"

static const struct dialect *const d = &dialect_openai_chat;

#define C(delta) "{\"choices\":[{\"index\":0,\"delta\":" delta "}]}"

static const struct vector vllm_mlx[] = {
    {"vllm-mlx, role before any compute (1)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}],"
     "\"usage\":null}",
     "R"},
    {"vllm-mlx, nulls (30)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"reasoning_content\":\"hm\","
     "\"tool_calls\":null},\"finish_reason\":null}],\"usage\":null}",
     "H0:hm"},
    {"vllm-mlx, empty delta", "message", C("{}"), "0"},
    {"vllm-mlx, literal think (29)", "message", C("{\"content\":\"<think>\"}"), "T0:<think>"},
    {"vllm-mlx, usage on the finish (22)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_"
     "tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}",
     "F0:stop U:1/2/-1/-1"},
    {"vllm-mlx, and once more (23)", "message",
     "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}",
     "U:1/2/-1/-1"},
    {"vllm-mlx, FastAPI's detail", NULL, "{\"detail\":\"model not loaded\"}",
     "E0:model not loaded"},
};

static const struct vector rapid_mlx[] = {
    {"Rapid-MLX, hand-made, no finish_reason", "message",
     C("{\"reasoning_content\":\"hm\",\"content\":\"\"}"), "H0:hm"},
    {"Rapid-MLX, the same thought twice (29)", "message",
     C("{\"reasoning\":\"hm\",\"reasoning_content\":\"hm\",\"content\":\"\"}"), "H0:hm"},
    {"Rapid-MLX, usage", "message",
     "{\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,\"completion_tokens_"
     "details\":{\"reasoning_tokens\":3},\"prompt_tokens_details\":{\"cached_tokens\":4}}}",
     "U:5/7/4/3"},
    {"Rapid-MLX, after 200", "message",
     "{\"error\":{\"message\":\"Internal error during streaming\",\"type\":\"internal_error\"}}",
     "E0:Internal error during streaming"},
    {"Rapid-MLX, strict schema", "chat.completion.error",
     "{\"object\":\"chat.completion.error\",\"error\":{\"message\":\"schema\"}}", "E0:schema"},
    {"Rapid-MLX, before that", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"json_schema_violation\"}]}",
     "F0:json_schema_violation"},
    {"Rapid-MLX, tool", "message",
     C("{\"content\":\"\",\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\"\"}}"
       "]}"),
     "C0:{\"a\""},
};

static const struct vector omlx[] = {
    {"omlx 0.3.9, fake chunk (6)", "message",
     "{\"id\":\"chatcmpl-keepalive\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":"
     "\"keepalive\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":null}]"
     "}",
     "P"},
    {"omlx after #1479, the real id (6)", "message",
     "{\"id\":\"chatcmpl-1\",\"created\":0,\"model\":\"keepalive\",\"choices\":[{\"index\":0,"
     "\"delta\":{\"content\":\"\"}}]}",
     "P"},
    {"omlx, seconds in usage (41)", "message",
     "{\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,\"cached_tokens\":2,"
     "\"time_to_first_token\":0.05,\"total_time\":0.21,\"generation_tokens_per_second\":43.75}}",
     "U:5/7/2/-1"},
    {"omlx, document behind spaces (9)", NULL,
     "    {\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}",
     "T0:Hi F0:stop"},
    {"omlx, context (17)", NULL,
     "{\"error\":{\"message\":\"Prompt too long: 51587 tokens exceeds max context window of 32768 "
     "tokens\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}",
     "E0:Prompt too long: 51587 tokens exceeds max context window of 32768 tokens"},
};

static const struct vector python_servers[] = {
    {"mlx-openai-server, role in every (4)", "message",
     C("{\"role\":\"assistant\",\"content\":\"Hi\"}"), "T0:Hi"},
    {"mlx-openai-server, code is a text (13, 17)", "message",
     "{\"error\":{\"message\":\"queue full\",\"type\":\"x\",\"param\":null,\"code\":\"429\"}}",
     "E0:queue full"},
    {"mlx-openai-server, usage on the finish", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}],\"usage\":{"
     "\"prompt_tokens\":3,\"completion_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":0}},"
     "\"request_id\":\"r\"}",
     "F0:tool_calls U:3/4/0/-1"},
    {"mlx-omni-server, usage with choices (26)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
     "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}",
     "R F0:stop U:3/4/-1/-1"},
    {"mlx-dspark, usage with choices (26)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}],\"usage\":{"
     "\"completion_tokens\":4}}",
     "U:-1/4/-1/-1"},
    {"mlx-lm, finish with text (31)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"end\"},"
     "\"finish_reason\":\"length\"}]}",
     "T0:end F0:length"},
    {"mlx-lm, key reasoning (29)", "message", C("{\"role\":\"assistant\",\"reasoning\":\"hm\"}"),
     "H0:hm"},
    {"mlx-lm, usage's object (35)", "message",
     "{\"object\":\"chat.completion\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_"
     "tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":1}}}",
     "U:3/4/1/-1"},
    {"mlx-lm, error is a text (16)", NULL, "{\"error\":\"Model not found\"}", "E0:Model not found"},
    {"mlx-vlm, timings in every chunk", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\","
     "\"reasoning\":"
     "null,\"tool_calls\":null}}],\"timings\":{\"predicted_per_second\":61.5}}",
     "T0:Hi M:nan/nan/nan/nan/61.5"},
    {"mlx-vlm, after 200", "message", "{\"error\":\"out of memory\"}", "E0:out of memory"},
    {"vLLM, role on the first output (2)", "message",
     C("{\"role\":\"assistant\",\"content\":\"\"}"), "R"},
    {"vLLM, stop_reason null", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\","
     "\"stop_reason\":null}]}",
     "F0:stop"},
    {"vLLM, continuous usage (24)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":3,"
     "\"total_tokens\":5,\"completion_tokens\":2}}",
     "T0:a U:3/2/-1/-1"},
    {"vLLM, n 2 (39)", "message", "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}",
     "T1:b"},
    {"vLLM, return_token_ids", "message",
     "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"ab\"},\"token_ids\":[5,6,7]}],"
     "\"prompt_token_ids\":null}",
     "T1:ab K1:3"},
    {"vLLM, ids of nothing", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"},\"token_ids\":null}]}", "T0:ab"},
    {"vLLM, after 200", "message",
     "{\"error\":{\"message\":\"dead\",\"type\":\"BadRequestError\",\"param\":null,\"code\":500}}",
     "E0:dead"},
    {"vLLM, older", "message", "{\"object\":\"error\",\"message\":\"too long\",\"code\":400}",
     "E0:too long"},
    {"SGLang, nulls", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"role\":null,\"content\":\"a\",\"reasoning_content\":"
     "null,\"tool_calls\":null},\"logprobs\":null,\"finish_reason\":null,\"matched_stop\":null}],"
     "\"usage\":null}",
     "T0:a"},
    {"SGLang, finish", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\",\"matched_stop\":151645}]"
     "}",
     "F0:stop"},
    {"SGLang, sglext (26)", "message", "{\"choices\":[],\"sglext\":{\"cached\":1}}", "0"},
    {"SGLang, after 200", "message",
     "{\"error\":{\"object\":\"error\",\"message\":\"x\",\"type\":\"y\",\"param\":null,\"code\":"
     "400}}",
     "E0:x"},
    {"trtllm-serve, role and a space behind (11)", "message", C("{\"role\":\"assistant\"}") " ",
     "R"},
    {"trtllm-serve, iterations", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"avg_decoded_tokens_per_iter\":1.5,"
     "\"stop_reason\":null}]}",
     "T0:a"},
    {"Triton, role before inference", "message", C("{\"role\":\"assistant\",\"content\":\"\"}"),
     "R"},
    {"Triton, refused", NULL, "{\"detail\":\"n must be 1\"}", "E0:n must be 1"},
};

static const struct vector compiled_servers[] = {
    {"higgs, null finish, role at once", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}]}",
     "R"},
    {"higgs, code null (17)", NULL,
     "{\"error\":{\"message\":\"x\",\"type\":\"model_not_found\",\"code\":null}}", "E0:x"},
    {"mlx-serve, role with empty content", "message",
     "{\"id\":\"chatcmpl-7\",\"system_fingerprint\":\"mlx-serve\",\"choices\":[{\"index\":0,"
     "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"usage\":null}",
     "R"},
    {"mlx-serve, cached_n (42)", "message",
     "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,\"prompt_tokens_"
     "details\":{\"cached_tokens\":6}},\"timings\":{\"prompt_n\":3,\"cached_n\":6,\"prompt_ms\":30,"
     "\"predicted_n\":4,\"predicted_ms\":80,\"predicted_per_second\":50}}",
     "U:9/4/6/-1 M:3/30/4/80/50"},
    {"mlx-serve, after 200", "message",
     "{\"error\":{\"message\":\"Internal server error: X\",\"type\":\"server_error\"}}",
     "E0:Internal server error: X"},
    {"llama-server, role with null (3)", "message",
     "{\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\","
     "\"content\":null}}],\"system_fingerprint\":\"b6097-1a2b3c4\"}",
     "R"},
    {"llama-server, progress", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],"
     "\"prompt_progress\":{\"total\":9,\"cache\":0,\"processed\":4,\"time_ms\":3}}",
     "R"},
    {"llama-server b6097, usage and timings on the finish (22)", "message",
     "{\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}}],\"usage\":{\"completion_"
     "tokens\":8,\"prompt_tokens\":3},\"timings\":{\"prompt_n\":3,\"prompt_ms\":12.5,"
     "\"predicted_n\":8,\"predicted_ms\":100,\"predicted_per_second\":80}}",
     "F0:stop U:3/8/-1/-1 M:3/12.5/8/100/80"},
    {"older llama-server, field error (12)", "error",
     "{\"code\":500,\"message\":\"gone\",\"type\":\"server_error\"}", "E0:gone"},
    {"llama-server, loading", NULL,
     "{\"error\":{\"message\":\"Loading model\",\"type\":\"unavailable_error\",\"code\":503}}",
     "E0:Loading model"},
    {"Ollama /v1, role with the first content", "message",
     "{\"created\":1,\"model\":\"m\",\"system_fingerprint\":\"fp_ollama\",\"choices\":[{\"index\":"
     "0,"
     "\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}",
     "T0:Hi"},
    {"Ollama /v1, reasoning (29)", "message",
     C("{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"hm\"}"), "H0:hm"},
    {"Ollama /v1, mistral in 2024 (30)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"\"}]}", "T0:a"},
    {"Ollama /v1, an error as nothing (15)", "message",
     "{\"model\":\"\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":"
     "null}]}",
     "0"},
    {"TGI, id empty (34), special token", "message",
     "{\"object\":\"chat.completion.chunk\",\"id\":\"\",\"created\":1,\"choices\":[{\"index\":0,"
     "\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":"
     "\"stop\"}],\"usage\":null}",
     "R F0:stop"},
    {"TGI, a refusal with 200 (18)", "message",
     "{\"error\":{\"message\":\"Input validation error\",\"http_status_code\":422}}",
     "E0:Input validation error"},
    {"LM Studio, after 200", "message", "{\"error\":{\"message\":\"x\"}}", "E0:x"},
    {"OpenAI, obfuscation (50)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"obfuscation\":\"QmFzZTY0\"}",
     "T0:a"},
    {"OpenAI, usage null (30)", "message",
     "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":null}", "T0:a"},
};

static void test_servers(void **state)
{
    (void)state;
    expect_vectors(d, vllm_mlx, sizeof vllm_mlx / sizeof *vllm_mlx);
    expect_vectors(d, rapid_mlx, sizeof rapid_mlx / sizeof *rapid_mlx);
    expect_vectors(d, omlx, sizeof omlx / sizeof *omlx);
    expect_vectors(d, python_servers, sizeof python_servers / sizeof *python_servers);
    expect_vectors(d, compiled_servers, sizeof compiled_servers / sizeof *compiled_servers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
