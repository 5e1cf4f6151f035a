/* The own APIs of llama-server, TGI, SGLang and LM Studio. */
#include "tests/unit/dialects/deltas.h"

static const struct vector llama[] = {
    {"llama-server", "message",
     "{\"index\":0,\"content\":\" Hi\",\"tokens\":[],\"stop\":false,\"id_slot\":-1,"
     "\"tokens_predicted\":1,\"tokens_evaluated\":9}",
     "T0: Hi u:9/1/-1/-1"},
    {"llama-server, return_tokens", "message",
     "{\"content\":\"ab\",\"tokens\":[11,12],\"stop\":false,\"tokens_predicted\":3}",
     "K0:2 T0:ab u:-1/3/-1/-1"},
    {"llama-server, held back", "message",
     "{\"content\":\"\",\"tokens\":[],\"stop\":false,\"id_slot\":0}", "0"},
    {"llama-server, return_progress", "message",
     "{\"content\":\"\",\"stop\":false,\"tokens_predicted\":0,\"tokens_evaluated\":512,"
     "\"prompt_progress\":{\"total\":900,\"cache\":0,\"processed\":512,\"time_ms\":80}}",
     "u:512/-1/-1/-1"},
    {"llama-server, last (19)", "message",
     "{\"index\":0,\"content\":\"\",\"tokens\":[],\"id_slot\":0,\"stop\":true,\"model\":\"m\","
     "\"tokens_predicted\":8,\"tokens_evaluated\":12,\"stop_type\":\"limit\",\"stopping_word\":"
     "\"\","
     "\"tokens_cached\":19,\"timings\":{\"cache_n\":9,\"prompt_n\":3,\"prompt_ms\":12.5,"
     "\"predicted_n\":8,\"predicted_ms\":100,\"predicted_per_second\":80}}",
     "F0:limit U:12/8/9/-1 M:3/12.5/8/100/80 D"},
    {"older llama-server", "message",
     "{\"content\":\"\",\"stop\":true,\"stopped_eos\":false,\"stopped_limit\":true,"
     "\"tokens_predicted\":8,\"tokens_evaluated\":12}",
     "F0:limit U:12/8/-1/-1 D"},
    {"oldest llama-server", "message", "{\"content\":\"\",\"stop\":true}", "F0:stop D"},
    {"llama-server, timings_per_token", "message",
     "{\"content\":\"x\",\"stop\":false,\"timings\":{\"predicted_n\":2,\"predicted_ms\":20,"
     "\"predicted_per_second\":100}}",
     "T0:x M:nan/nan/2/20/100"},
    {"llama-server, whole", NULL,
     "{\"content\":\"Hi\",\"stop\":true,\"stop_type\":\"eos\",\"tokens_predicted\":2,"
     "\"tokens_evaluated\":3}",
     "T0:Hi F0:eos U:3/2/-1/-1 D"},
    {"llama-server, several prompts", NULL,
     "[{\"index\":0,\"content\":\"a\",\"stop\":true,\"stop_type\":\"eos\"},{\"index\":1,"
     "\"content\":"
     "\"b\",\"stop\":true,\"stop_type\":\"limit\"}]",
     "T0:a F0:eos D T1:b F1:limit D"},
    {"llama-server, of one of several prompts", "message",
     "{\"index\":1,\"content\":\"a\",\"tokens\":[],\"stop\":false,\"tokens_predicted\":1,"
     "\"tokens_evaluated\":9}",
     "T1:a u1:9/1/-1/-1"},
    {"llama-server, several prompts, without an index", NULL,
     "[{\"content\":\"a\",\"stop\":true,\"tokens_predicted\":2},{\"content\":\"b\",\"stop\":true,"
     "\"tokens_predicted\":3}]",
     "T0:a F0:stop U:-1/2/-1/-1 D T1:b F1:stop U1:-1/3/-1/-1 D"},
    {"llama-server, after 200", "message",
     "{\"error\":{\"code\":500,\"message\":\"gone\",\"type\":\"server_error\"}}", "E0:gone"},
    {"older llama-server, field error (12)", "error",
     "{\"code\":500,\"message\":\"gone\",\"type\":\"server_error\"}", "E0:gone"},
    {"llama-server, context", NULL,
     "{\"error\":{\"code\":400,\"message\":\"request (9 tokens) exceeds the available context size "
     "(8 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":9,"
     "\"n_ctx\":8}}",
     "E0:request (9 tokens) exceeds the available context size (8 tokens), try increasing it"},
    {"ik_llama.cpp --send-done", "message", "[DONE]", "D"},
    {"whoever", "message", "{\"content\":[1],\"stop\":1,\"index\":-3}", "0"},
    {"whoever", "message", "[[[1]],null]", "0"},
    {"whoever", "message", "x", "P"},
};

static const struct vector tgi[] = {
    {"TGI", "message",
     "{\"index\":1,\"token\":{\"id\":4321,\"text\":\" Hi\",\"logprob\":-0.5,\"special\":false},"
     "\"generated_text\":null,\"details\":null}",
     "K0:1 T0: Hi"},
    {"TGI, special token: no text, yet a token (37)", "message",
     "{\"index\":2,\"token\":{\"id\":2,\"text\":\"</s>\",\"logprob\":0,\"special\":true},"
     "\"generated_text\":null,\"details\":null}",
     "K0:1"},
    {"TGI, last", "message",
     "{\"index\":3,\"token\":{\"id\":5,\"text\":\"!\",\"logprob\":0,\"special\":false},"
     "\"generated_text\":\" Hi!\",\"details\":{\"finish_reason\":\"length\",\"generated_tokens\":2,"
     "\"seed\":null,\"input_length\":7}}",
     "K0:1 T0:! F0:length U:7/2/-1/-1 D"},
    {"TGI, last without details", "message",
     "{\"token\":{\"id\":2,\"text\":\"</s>\",\"special\":true},\"generated_text\":\"Hi\","
     "\"details\":null}",
     "K0:1 F0:generated_text D"},
    {"TGI, empty answer", "message",
     "{\"token\":{\"id\":2,\"text\":\"</s>\",\"special\":true},\"generated_text\":\"\"}",
     "K0:1 F0:generated_text D"},
    {"TGI, in a list", "message",
     "[{\"token\":{\"id\":9,\"text\":\"x\",\"special\":false},\"generated_text\":null}]",
     "K0:1 T0:x"},
    {"TGI, whole", NULL,
     "{\"generated_text\":\"Hi\",\"details\":{\"finish_reason\":\"eos_token\",\"generated_tokens\":"
     "3,"
     "\"seed\":null,\"prefill\":[{\"id\":1},{\"id\":2}],\"tokens\":[{\"id\":5,\"text\":\"Hi\"}]}}",
     "T0:Hi F0:eos_token U:2/3/-1/-1 D"},
    {"TGI at /", NULL, "[{\"generated_text\":\"Hi\"}]", "T0:Hi F0:generated_text D"},
    {"TGI, error is a text (16)", "message",
     "{\"error\":\"Request failed during generation\",\"error_type\":\"generation\"}",
     "E0:Request failed during generation"},
    {"TGI, 200 for a refusal (18)", "message",
     "{\"error\":{\"message\":\"Input validation error\",\"http_status_code\":422}}",
     "E0:Input validation error"},
    {"whoever", "message", "{\"token\":7,\"generated_text\":{}}", "0"},
    {"whoever", "message", "[null,[],\"x\"]", "0"},
    {"whoever", "message", "", "P"},
};

#define META(more) "\"meta_info\":{\"id\":\"r\",\"finish_reason\":" more "}"

static const struct vector sglang[] = {
    {"SGLang, all so far (38)", "message",
     "{\"text\":\" Hi you\"," META("null,\"prompt_tokens\":5,\"completion_tokens\":2,"
                                   "\"cached_tokens\":1") "}",
     "t0: Hi you u:5/2/1/-1"},
    {"SGLang, last", "message",
     "{\"text\":\" Hi you\"," META("{\"type\":\"length\",\"length\":2},\"prompt_tokens\":5,"
                                   "\"completion_tokens\":2") "}",
     "t0: Hi you F0:length U:5/2/-1/-1"},
    {"SGLang, list of prompts (39)", "message", "{\"text\":\"b\",\"index\":1," META("null") "}",
     "t1:b"},
    {"SGLang, list of prompts, whole: no index", NULL,
     "[{\"text\":\"a\"," META(
         "{\"type\":\"stop\"},\"prompt_tokens\":5,\"completion_"
         "tokens\":2") "},"
                       "{\"text\":\"b\"," META("{\"type\":\"stop\"},\"prompt_tokens\":5,"
                                               "\"completion_tokens\":3") "}]",
     "T0:a F0:stop U:5/2/-1/-1 T1:b F1:stop U1:5/3/-1/-1"},
    {"SGLang, without a tokenizer", "message",
     "{\"output_ids\":[7,8,9]," META("null,\"completion_tokens\":3") "}", "k0:3 u:-1/3/-1/-1"},
    {"SGLang, without a tokenizer, whole", NULL, "{\"output_ids\":[7,8,9]," META("null") "}",
     "K0:3"},
    {"SGLang, with one", "message", "{\"text\":\"a\",\"output_ids\":[7]," META("null") "}", "t0:a"},
    {"SGLang, aborted", "message",
     "{\"text\":\"\"," META("{\"type\":\"abort\",\"message\":\"gone\"}") "}", "E0:gone"},
    {"SGLang", "message", "{\"error\":{\"message\":\"too long\"}}", "E0:too long"},
    {"SGLang", "message", "[DONE]", "D"},
    {"SGLang, whole", NULL,
     "{\"text\":\"Hi\"," META("{\"type\":\"stop\",\"matched\":2},\"prompt_tokens\":1,"
                              "\"completion_tokens\":1") "}",
     "T0:Hi F0:stop U:1/1/-1/-1"},
    {"whoever", "message", "{\"text\":7,\"meta_info\":[]}", "0"},
};

#define EV(type, more) type, "{\"type\":\"" type "\"" more "}"
#define STATS                                                                                      \
    "\"stats\":{\"input_tokens\":9,\"total_output_tokens\":4,\"reasoning_output_tokens\":1,"       \
    "\"tokens_per_second\":43.5,\"time_to_first_token_seconds\":0.78}"
#define OUTPUT                                                                                     \
    "\"output\":[{\"type\":\"reasoning\",\"content\":\"hm\"},{\"type\":\"tool_call\",\"tool\":"    \
    "\"f\",\"arguments\":{\"a\":1},\"output\":\"not generated\"},{\"type\":\"message\","           \
    "\"content\":\"Hi\"}]"

static const struct vector lmstudio[] = {
    {"LM Studio", EV("chat.start", ",\"model_instance_id\":\"m\""), "0"},
    {"LM Studio", EV("model_load.progress", ",\"progress\":0.5"), "0"},
    {"LM Studio", EV("prompt_processing.progress", ",\"progress\":0.5"), "0"},
    {"LM Studio", EV("reasoning.delta", ",\"content\":\"hm\""), "H0:hm"},
    {"LM Studio", EV("message.start", ""), "R"},
    {"LM Studio", EV("message.delta", ",\"content\":\"Hi\""), "T0:Hi"},
    {"LM Studio", EV("message.delta", ",\"content\":\"\""), "0"},
    {"LM Studio", EV("tool_call.start", ",\"tool\":\"f\""), "C0:f"},
    {"LM Studio", EV("tool_call.arguments", ",\"tool\":\"f\",\"arguments\":{\"a\":1}"),
     "C0:{\"a\":1}"},
    {"LM Studio", EV("tool_call.success", ",\"tool\":\"f\",\"output\":\"x\""), "0"},
    {"LM Studio", EV("error", ",\"error\":{\"type\":\"internal_error\",\"message\":\"gone\"}"),
     "E0:gone"},
    {"LM Studio, repeats (38)", EV("chat.end", ",\"result\":{" OUTPUT "," STATS "}"),
     "F0:chat.end U:9/4/-1/1 M:nan/nan/nan/nan/43.5 D"},
    {"LM Studio, whole", NULL, "{\"model_instance_id\":\"m\"," OUTPUT "," STATS "}",
     "H0:hm C0:f C0:{\"a\":1} T0:Hi F0:chat.end U:9/4/-1/1 M:nan/nan/nan/nan/43.5 D"},
    {"whoever", "message", "{\"type\":\"message.delta\",\"content\":[1]}", "0"},
};

static void test_lmstudio(void **state)
{
    (void)state;
    expect_vectors(&dialect_lmstudio_chat, lmstudio, sizeof lmstudio / sizeof *lmstudio);
}

static void test_llama(void **state)
{
    (void)state;
    expect_vectors(&dialect_llama_completion, llama, sizeof llama / sizeof *llama);
}

static void test_tgi(void **state)
{
    (void)state;
    expect_vectors(&dialect_tgi, tgi, sizeof tgi / sizeof *tgi);
}

static void test_sglang(void **state)
{
    (void)state;
    expect_vectors(&dialect_sglang_generate, sglang, sizeof sglang / sizeof *sglang);
}

static void expect_asked(const struct dialect *d, const char *body, int64_t words, int64_t limit)
{
    struct arena a = {0};
    struct dialect_request q;
    assert_true(d->request(slice_of(body), &a, &q));
    assert_int_equal(q.prompt_words, words);
    assert_int_equal(q.max_tokens, limit);
    arena_free(&a);
}

static void test_requests(void **state)
{
    (void)state;
    expect_asked(&dialect_llama_completion,
                 "{\"prompt\":\"a b\",\"n_predict\":16,\"max_tokens\":3}", 2, 16);
    expect_asked(&dialect_llama_completion, "{\"prompt\":[1,2,\"three\"],\"n_predict\":-1}", 3, -1);
    expect_asked(&dialect_tgi,
                 "{\"inputs\":\"a b c\",\"parameters\":{\"max_new_tokens\":20,\"details\":true}}",
                 3, 20);
    expect_asked(&dialect_sglang_generate,
                 "{\"text\":\"a\",\"sampling_params\":{\"max_new_tokens\":4},\"stream\":true}", 1,
                 4);
}

static void expect_choices(const struct dialect *d, const char *body, int64_t n)
{
    struct arena a = {0};
    struct dialect_request q;
    assert_true(d->request(slice_of(body), &a, &q));
    assert_int_equal(q.choices, n);
    arena_free(&a);
}

/* What several answers are to: one prompt, or each to its own. */
static void test_choices(void **state)
{
    (void)state;
    expect_choices(&dialect_llama_completion, "{\"prompt\":[\"a\",\"b\"]}", 1);
    expect_choices(&dialect_llama_completion, "{\"prompt\":\"a\",\"n_cmpl\":3}", 3);
    expect_choices(&dialect_llama_completion, "{\"prompt\":\"a\",\"n\":2}", 2);
    expect_choices(&dialect_sglang_generate,
                   "{\"text\":\"a\",\"sampling_params\":{\"n\":2,\"top_p\":1}}", 2);
    expect_choices(&dialect_sglang_generate, "{\"text\":\"a\",\"other\":{\"n\":2}}", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama),    cmocka_unit_test(test_tgi),
        cmocka_unit_test(test_sglang),   cmocka_unit_test(test_lmstudio),
        cmocka_unit_test(test_requests), cmocka_unit_test(test_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
