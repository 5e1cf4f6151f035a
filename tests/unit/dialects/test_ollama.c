/* Ollama's own API: lines, nanoseconds, and zeros that are left out. */
#include "tests/unit/dialects/deltas.h"

#define LINE(more) "{\"model\":\"m\",\"created_at\":\"2026-08-21T10:00:00.123456789Z\"," more "}"

static const struct vector vectors[] = {
    {"Ollama chat", "message",
     LINE("\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false"), "T0:Hi"},
    {"Ollama chat, held back", "message",
     LINE("\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false"), "0"},
    {"Ollama chat, thinking (29)", "message",
     LINE("\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"hm\"},\"done\":"
          "false"),
     "H0:hm"},
    {"Ollama chat, both", "message",
     LINE("\"message\":{\"content\":\"a\",\"thinking\":\"hm\"},\"done\":false"), "H0:hm T0:a"},
    {"Ollama chat, tool whole", "message",
     LINE("\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{"
          "\"name\":\"f\",\"arguments\":{\"city\":\"X\"}}},{\"function\":{\"index\":1,\"name\":"
          "\"g\","
          "\"arguments\":{}}}]},\"done\":false"),
     "C0:f C0:{\"city\":\"X\"} C0:g"},
    {"Ollama chat, last: nanoseconds (41)", "message",
     LINE("\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":"
          "\"stop\",\"total_duration\":4883583458,\"load_duration\":1334875,\"prompt_eval_count\":"
          "26,"
          "\"prompt_eval_duration\":342546000,\"eval_count\":282,\"eval_duration\":4535599000"),
     "F0:stop U:26/282/-1/-1 M:26/342.546/282/4535.6/62.1748+1.33488/4883.58 D"},
    {"Ollama chat, prompt from the cache (43)", "message",
     LINE(
         "\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"length\",\"eval_count\":4,"
         "\"eval_duration\":100000000"),
     "F0:length U:-1/4/-1/-1 M:0/nan/4/100/40 D"},
    {"Ollama chat, nothing generated (43)", "message",
     LINE("\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\","
          "\"prompt_eval_count\":3,\"prompt_eval_duration\":5000000"),
     "F0:stop U:3/0/-1/-1 M:3/5/0/nan/nan D"},
    {"Ollama chat, load", NULL,
     LINE("\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done_reason\":\"load\","
          "\"done\":true"),
     "L0:load F0:load U:-1/0/-1/-1 D"},
    {"Ollama generate, unload", NULL,
     LINE("\"response\":\"\",\"done\":true,\"done_reason\":\"unload\""),
     "L0:unload F0:unload U:-1/0/-1/-1 D"},
    {"older Ollama, load", NULL, LINE("\"response\":\"\",\"done\":true"),
     "L F0:done U:-1/0/-1/-1 D"},
    {"Ollama generate, whole and of that word", NULL,
     LINE("\"response\":\"load\",\"done\":true,\"done_reason\":\"load\""),
     "T0:load F0:load U:-1/0/-1/-1 D"},
    {"older Ollama, no done_reason", "message",
     LINE("\"response\":\"\",\"done\":true,\"context\":[1,2,3],\"eval_count\":7,"
          "\"eval_duration\":1000000000"),
     "F0:done U:-1/7/-1/-1 M:0/nan/7/1000/7 D"},
    {"Ollama generate", "message", LINE("\"response\":\" x\",\"done\":false"), "T0: x"},
    {"Ollama generate, thinking", "message",
     LINE("\"response\":\"\",\"thinking\":\"hm\",\"done\":false"), "H0:hm"},
    {"Ollama generate, whole", NULL,
     LINE("\"response\":\"Hi\",\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2,"
          "\"prompt_eval_count\":5"),
     "T0:Hi F0:stop U:5/2/-1/-1 D"},
    {"Ollama, after 200", "message", "{\"error\":\"an error was encountered\"}",
     "E0:an error was encountered"},
    {"Ollama, before", NULL, "{\"error\":\"model 'x' not found\"}", "E0:model 'x' not found"},
    {"mlx-serve's clone", "message",
     "{\"model\":\"m\",\"created_at\":\"x\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"}"
     ","
     "\"done\":false}",
     "T0:Hi"},
    {"whoever", "message", "{\"done\":\"true\",\"message\":[1],\"response\":{},\"eval_count\":-1}",
     "0"},
    {"whoever", "message", "{\"done\":tru", "E0:not JSON"},
};

static void test_vectors(void **state)
{
    (void)state;
    expect_vectors(&dialect_ollama_chat, vectors, sizeof vectors / sizeof *vectors);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        expect_vector(&dialect_ollama_generate, &vectors[i]);
}

static void test_request(void **state)
{
    (void)state;
    struct arena a = {0};
    struct dialect_request q;
    const struct dialect *d = &dialect_ollama_chat;
    assert_true(d->request(
        slice_of(
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"why so\",\"images\":"
            "[\"aGk=\"]}],\"options\":{\"num_predict\":12,\"num_ctx\":4096},\"think\":true}"),
        &a, &q));
    assert_int_equal(q.prompt_words, 2);
    assert_int_equal(q.media, 1);
    assert_int_equal(q.max_tokens, 12);
    assert_int_equal(q.stream, -1);
    assert_true(dialect_streams(d, slice_of("/api/chat"), &q)); /* without being asked (40) */
    assert_true(d->request(slice_of("{\"stream\":false,\"prompt\":\"a\",\"system\":\"b c\","
                                    "\"options\":{\"num_predict\":-1}}"),
                           &a, &q));
    assert_int_equal(q.prompt_words, 3);
    assert_int_equal(q.media, 0);
    assert_int_equal(q.max_tokens, -1); /* no limit */
    assert_false(dialect_streams(d, slice_of("/api/generate"), &q));
    assert_true(d->request(slice_of("{\"prompt\":\"a\",\"images\":[\"aGk=\",\"aGk=\"]}"), &a, &q));
    assert_int_equal(q.media, 2);
    assert_true(d->request(slice_of("{\"messages\":[{\"content\":\"a\",\"images\":null},"
                                    "{\"content\":\"b\",\"images\":[]}]}"),
                           &a, &q));
    assert_int_equal(q.media, 0); /* as its own client sends them */
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
