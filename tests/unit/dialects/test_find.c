/* Which dialect is it? By path and shape of a request; by the reply where that does not tell. */
#include "tests/unit/dialects/deltas.h"

#define MESSAGES "{\"model\":\"m\",\"messages\":[{}]}"
#define PROMPT "{\"model\":\"m\",\"prompt\":\"x\"}"
#define INPUTS "{\"inputs\":\"x\"}"

static void test_requests(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target, *body, *name;
    } cases[] = {
        {"POST", "/v1/chat/completions", MESSAGES, "openai-chat"},
        {"POST", "/openai/v1/chat/completions", MESSAGES, "openai-chat"},
        {"POST", "/v1beta/openai/chat/completions?key=1", "", "openai-chat"},
        {"POST", "/api/v0/chat/completions", MESSAGES, "openai-chat"},
        {"POST", "/ask", MESSAGES, "openai-chat"},
        {"POST", "/v1/completions", PROMPT, "openai-completions"},
        {"POST", "/openai/deployments/d/completions?api-version=1", PROMPT, "openai-completions"},
        {"POST", "/v1/completions", "", "openai-completions"},
        {"POST", "/completions", PROMPT, "openai-completions"},
        {"POST", "/completions", "{\"prompt\":\"x\"}", "llama-completion"},
        {"POST", "/completions", "{\"model\":\"m\",\"prompt\":\"x\",\"n_predict\":1}",
         "llama-completion"},
        {"POST", "/completion", "{\"prompt\":\"x\"}", "llama-completion"},
        {"POST", "/llama/completion", "junk", "llama-completion"},
        {"POST", "/v1/responses", "{\"input\":\"x\"}", "openai-responses"},
        {"POST", "/responses", "", "openai-responses"},
        {"POST", "/v1/messages", MESSAGES, "anthropic-messages"},
        {"POST", "/anthropic/v1/messages?beta=true", MESSAGES, "anthropic-messages"},
        {"POST", "/model/x/invoke", "{\"anthropic_version\":\"b\",\"messages\":[]}",
         "anthropic-messages"},
        {"POST", "/v1/messages/count_tokens", MESSAGES, NULL},
        {"POST", "/v1/messages/batches", "{\"requests\":[]}", NULL},
        {"POST", "/api/chat", MESSAGES, "ollama-chat"},
        {"POST", "/ollama/api/chat/", "", "ollama-chat"},
        {"POST", "/api/generate", PROMPT, "ollama-generate"},
        {"POST", "/api/v1/chat", "{\"model\":\"m\",\"input\":\"x\"}", "lmstudio-chat"},
        {"POST", "/api/show", "{\"model\":\"m\"}", NULL},
        {"POST", "/generate_stream", INPUTS, "tgi"},
        {"POST", "/generate", INPUTS, "tgi"},
        {"POST", "/", INPUTS, "tgi"},
        {"POST", "/invocations", INPUTS, "tgi"},
        {"POST", "/generate", "{\"text\":\"x\",\"sampling_params\":{}}", "sglang-generate"},
        {"POST", "/generate", "{\"input_ids\":[1]}", "sglang-generate"},
        {"POST", "/generate", "{}", NULL},
        {"POST", "/v1/embeddings", "{\"input\":\"x\"}", NULL},
        {"POST", "/tokenize", PROMPT, NULL},
        {"POST", "/apply-template", MESSAGES, NULL},
        {"GET", "/v1/chat/completions", MESSAGES, NULL},
        {"GET", "/api/tags", "", NULL},
        {"POST", "", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct dialect *found = dialect_find(
            slice_of(cases[i].method), slice_of(cases[i].target), slice_of(cases[i].body));
        const char *name = found != NULL ? found->name : "none";
        if (strcmp(name, cases[i].name != NULL ? cases[i].name : "none") != 0)
            fail_msg("%s %s %s: %s", cases[i].method, cases[i].target, cases[i].body, name);
    }
}

static void test_replies(void **state)
{
    (void)state;
    static const struct {
        const char *data, *name;
    } cases[] = {
        {"{\"object\":\"chat.completion.chunk\",\"choices\":[]}", "openai-chat"},
        {"{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}", "openai-chat"},
        {"{\"object\":\"chat.completion\",\"choices\":[{\"message\":{}}]}", "openai-chat"},
        {"{\"object\":\"text_completion\",\"choices\":[{\"text\":\"\"}]}", "openai-completions"},
        {"{\"choices\":[{\"text\":\"x\",\"index\":0}]}", "openai-completions"},
        {"{\"type\":\"response.created\",\"response\":{}}", "openai-responses"},
        {"{\"object\":\"response\",\"output\":[]}", "openai-responses"},
        {"{\"type\":\"message_start\",\"message\":{}}", "anthropic-messages"},
        {"{\"type\":\"message\",\"content\":[],\"stop_reason\":\"end_turn\"}",
         "anthropic-messages"},
        {"{\"model\":\"m\",\"created_at\":\"x\",\"message\":{},\"done\":false}", "ollama-chat"},
        {"{\"model\":\"m\",\"created_at\":\"x\",\"response\":\"\",\"done\":false}",
         "ollama-generate"},
        {"{\"content\":\"x\",\"stop\":false,\"tokens_predicted\":1}", "llama-completion"},
        {"{\"token\":{\"id\":1},\"generated_text\":null}", "tgi"},
        {"[{\"generated_text\":\"x\"}]", "tgi"},
        {"{\"text\":\"x\",\"meta_info\":{\"id\":\"r\"}}", "sglang-generate"},
        {"{\"type\":\"chat.start\",\"model_instance_id\":\"m\"}", "lmstudio-chat"},
        {"{\"model_instance_id\":\"m\",\"output\":[],\"stats\":{\"input_tokens\":1}}",
         "lmstudio-chat"},
        {"{\"error\":{\"message\":\"x\"}}", NULL},
        {"{\"type\":\"ping\"}", NULL},
        {"{\"id\":7,\"text\":\"x\"}", NULL},
        {"[1,2,3]", NULL},
        {"{\"choices\":[\"a\",\"b\"]}", NULL}, /* of a poll, say */
        {"{\"object\":\"chat.completion.chunk\",\"choices\":[]", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct dialect *found = dialect_guess(slice_of(cases[i].data));
        const char *name = found != NULL ? found->name : "none";
        if (strcmp(name, cases[i].name != NULL ? cases[i].name : "none") != 0)
            fail_msg("%s: %s", cases[i].data, name);
    }
}

static void test_names(void **state)
{
    (void)state;
    size_t n = 0;
    for (; dialect_all[n] != NULL; n++) {
        const struct dialect *d = dialect_all[n];
        assert_ptr_equal(dialect_named(d->name), d);
        assert_true(dialect_find(slice_of("POST"), slice_of(d->path),
                                 slice_of("{\"inputs\":\"x\",\"input_ids\":[1]}")) == d ||
                    d == &dialect_sglang_generate);
    }
    assert_int_equal(n, 10);
    assert_null(dialect_named("openai"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
