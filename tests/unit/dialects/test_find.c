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
        struct buf spelled;
        buf_init(&spelled, 1 << 16);
        spell_out(slice_of(cases[i].body), &spelled);
        if (dialect_find(slice_of(cases[i].method), slice_of(cases[i].target),
                         (struct slice){(const char *)spelled.p, spelled.n}) != found)
            fail_msg("%s: not %s any more", buf_text(&spelled), name);
        buf_done(&spelled);
    }
}

static void test_trust(void **state)
{
    (void)state;
    static const struct {
        const char *target, *body;
        enum dialect_trust trust;
    } cases[] = {
        {"/v1/chat/completions", "", DIALECT_SURE},
        {"/v1/completions", "{}", DIALECT_SURE},
        {"/v1/responses", "{\"prompt\":{\"id\":\"p\"}}", DIALECT_SURE},
        {"/surveys/1/responses", "{\"answers\":[]}", DIALECT_LOOKS},
        {"/v1/messages", "overwritten", DIALECT_SURE},
        {"/channels/1/messages", "{\"content\":\"x\"}", DIALECT_LOOKS},
        {"/api/chat", MESSAGES, DIALECT_LIKELY},
        {"/api/chat", "{\"messages\":[]}", DIALECT_LOOKS},
        {"/api/generate", "", DIALECT_SURE},
        {"/api/v1/chat", "{\"model\":\"m\",\"input\":\"x\"}", DIALECT_SURE},
        {"/api/v1/chat", "{\"message\":\"x\"}", DIALECT_LOOKS},
        {"/generate", INPUTS, DIALECT_LIKELY},
        {"/v1/messages", MESSAGES, DIALECT_SURE},
        {"/api/messages", MESSAGES, DIALECT_LIKELY},
        {"/", INPUTS, DIALECT_LOOKS},
        {"/invocations", INPUTS, DIALECT_LOOKS},
        {"/predict", INPUTS, DIALECT_LOOKS},
        {"/generate", "{\"text\":\"x\",\"sampling_params\":{}}", DIALECT_SURE},
        {"/generate", "{\"text\":\"x\"}", DIALECT_LOOKS},
        {"/ask", MESSAGES, DIALECT_LOOKS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice post = slice_of("POST"), target = slice_of(cases[i].target),
                     body = slice_of(cases[i].body);
        const struct dialect *d = dialect_find(post, target, body);
        if (d == NULL || dialect_trust(d, post, target, body) != cases[i].trust)
            fail_msg("%s %s: %s", cases[i].target, cases[i].body, d == NULL ? "none" : d->name);
    }
}

static void test_what_generates_nothing(void **state)
{
    (void)state;
    static const char *const aside[] = {
        "/v1/embeddings",
        "/embed",
        "/v1/chat/completions/render",
        "/v1/completions/render",
        "/pooling",
        "/utils/token_counter",
        "/api/chat/completed",
        "/v1/threads/t/messages",
        "/v1/responses/r/cancel",
        "/v1/chat/completions/chatcmpl-1",
        "/v1/messages/count_tokens?a",
    };
    static const char *const others[] = {
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/messages",
        "/api/chat",
        "/v2/chat",
        "/ask",
        "/chat/completions/stream",
        "/cancelled",
    };
    for (size_t i = 0; i < sizeof aside / sizeof *aside; i++) {
        if (dialect_generates(slice_of(aside[i])) ||
            dialect_find(slice_of("POST"), slice_of(aside[i]), slice_of(MESSAGES)) != NULL)
            fail_msg("%s", aside[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!dialect_generates(slice_of(others[i])))
            fail_msg("%s", others[i]);
    }
    assert_null(dialect_find(slice_of("POST"), slice_of("/v2/chat"), slice_of(MESSAGES)));
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
        struct buf spelled;
        buf_init(&spelled, 1 << 16);
        spell_out(slice_of(cases[i].data), &spelled);
        if (dialect_guess((struct slice){(const char *)spelled.p, spelled.n}) != found)
            fail_msg("%s: not %s any more", buf_text(&spelled), name);
        buf_done(&spelled);
    }
}

/* What a request asks for, however it is spelled. */
static void test_spelling(void **state)
{
    (void)state;
    static const char body[] =
        "{\"model\":\"m 1\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"n\":2,"
        "\"max_tokens\":9,\"num_predict\":9,\"n_predict\":9,\"max_output_tokens\":9,\"options\":"
        "{\"num_predict\":9},\"parameters\":{\"max_new_tokens\":9},\"sampling_params\":"
        "{\"max_new_tokens\":9},\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"one two\"},{\"type\":\"image_url\",\"image_url\":{}}]}],\"prompt\":\"one "
        "two\",\"input\":\"one\\u000Atwo\",\"inputs\":\"one two\",\"text\":\"one two\"}";
    struct buf spelled;
    struct arena a = {0};
    buf_init(&spelled, 1 << 16);
    spell_out(slice_of(body), &spelled);
    for (size_t i = 0; dialect_all[i] != NULL; i++) {
        struct dialect_request plain, same;
        assert_true(dialect_all[i]->request(slice_of(body), &a, &plain));
        assert_true(
            dialect_all[i]->request((struct slice){(const char *)spelled.p, spelled.n}, &a, &same));
        assert_true(slice_is(plain.model, "m 1") && slice_is(same.model, "m 1"));
        assert_int_equal(plain.stream, same.stream);
        assert_int_equal(plain.usage_asked, same.usage_asked);
        assert_int_equal(plain.max_tokens, same.max_tokens);
        assert_int_equal(plain.choices, same.choices);
        assert_int_equal(plain.prompt_words, same.prompt_words);
        assert_int_equal(plain.media, same.media);
        assert_int_equal(plain.last_message.n, same.last_message.n);
        assert_memory_equal(plain.last_message.p, same.last_message.p, same.last_message.n);
    }
    buf_done(&spelled);
    arena_free(&a);
}

static void test_names(void **state)
{
    (void)state;
    size_t n = 0;
    for (; dialect_all[n] != NULL; n++) {
        const struct dialect *d = dialect_all[n];
        assert_ptr_equal(dialect_named(d->name), d);
        assert_true(
            dialect_find(
                slice_of("POST"), slice_of(d->path),
                slice_of("{\"model\":\"m\",\"inputs\":\"x\",\"input\":\"x\",\"input_ids\":[1]}")) ==
                d ||
            d == &dialect_sglang_generate);
    }
    assert_int_equal(n, 10);
    assert_null(dialect_named("openai"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_what_generates_nothing),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_spelling),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
