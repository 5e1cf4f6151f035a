/* OpenAI chat: what each odd sender's chunk says, requests of any size, and replies that read back
 * as written. */
#include "tests/unit/dialects/deltas.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"

static const struct dialect *const d = &dialect_openai_chat;

static void expect(const char *type, const char *data, bool document, const char *expected)
{
    struct buf log;
    buf_init(&log, 1 << 20);
    read_as(d, document ? NULL : type, slice_of(data), &log);
    if (strcmp(buf_text(&log), expected) != 0)
        fail_msg("%s\n  gave      %s\n  expected  %s", data, buf_text(&log), expected);
    buf_done(&log);
}

struct chunk {
    const char *data, *expected;
};

#define C(delta) "{\"choices\":[{\"index\":0,\"delta\":" delta "}]}"

static const struct chunk chunks[] = {
    /* the cloud */
    {C("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}"), "R"},
    {C("{\"content\":\"Hello\"}"), "T0:Hello"},
    {C("{\"content\":\"a\\n\\u00e9\\ud83d\\ude00\\\"\"}"), "T0:a\n\xC3\xA9\xF0\x9F\x98\x80\""},
    {C("{\"content\":\"x\"},\"obfuscation\":\"aBcD\""), "T0:x"},
    {"{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}",
     "F0:stop"},
    {"{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,\"total_tokens\":21,"
     "\"prompt_tokens_details\":{\"cached_tokens\":4,\"audio_tokens\":0},"
     "\"completion_tokens_details\":{\"reasoning_tokens\":5}}}",
     "U:9/12/4/5"},
    {C("{\"refusal\":\"No.\"}"), "N0:No."},
    {" [DONE] ", "D"},
    {"[DONE]\r", "D"},
    /* not finished: null, absent, "" */
    {"{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}", "T0:x"},
    {"{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"\"}]}", "T0:x"},
    /* vllm-mlx: nulls, usage on the finish chunk */
    {"{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}],"
     "\"usage\":null}",
     "R"},
    {"{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_"
     "tokens\":1,"
     "\"completion_tokens\":2,\"total_tokens\":3}}",
     "F0:stop U:1/2/-1/-1"},
    {C("{}"), "0"},
    {C("{\"content\":null,\"reasoning_content\":null,\"tool_calls\":null}"), "0"},
    {"{\"choices\":[]}", "0"},
    {"{}", "0"},
    {"[]", "0"},
    {"null", "0"},
    {"{\"choices\":[{\"index\":0,\"delta\":null}]}", "0"},
    {"{\"choices\":[{\"index\":0}]}", "0"},
    {"{\"choices\":[null,[1],\"x\",3]}", "0"},
    {"{\"choices\":{\"delta\":{\"content\":\"x\"}}}", "0"},
    /* role in every delta (mlx-lm), finish with text in the same event */
    {"{\"choices\":[{\"index\":0,\"finish_reason\":\"length\",\"delta\":{\"role\":\"assistant\","
     "\"content\":\"end\"}}]}",
     "T0:end F0:length"},
    /* omlx: fake chunk, seconds in usage */
    {"{\"id\":\"chatcmpl-keepalive\",\"created\":0,\"model\":\"keepalive\",\"choices\":[{\"index\":"
     "0,"
     "\"delta\":{\"content\":\"\"},\"finish_reason\":null}]}",
     "P"},
    {"{\"id\":\"chatcmpl-7\",\"model\":\"keepalive\",\"choices\":[{\"delta\":{\"role\":"
     "\"assistant\",\"content\":\"\"}}]}",
     "P"},
    {"{\"id\":\"x\",\"created\":0,\"choices\":[{\"delta\":{\"content\":\"\"}}]}", "P"},
    {"{\"id\":\"x\",\"created\":0,\"choices\":[{\"delta\":{\"content\":\"y\"}}]}", "T0:y"},
    {"{\"usage\":{\"cached_tokens\":3,\"total_time\":1.25,\"completion_tokens\":2}}",
     "U:-1/2/3/-1"},
    /* Rapid-MLX: the same thought twice */
    {C("{\"reasoning\":\"so\",\"reasoning_content\":\"so\",\"content\":\"\"}"), "H0:so"},
    {C("{\"reasoning\":\"so\",\"reasoning_content\":\"what\"}"), "H0:so H0:what"},
    {C("{\"reasoning_content\":\"a\\\"b\",\"reasoning\":\"a\\\"b\"}"), "H0:a\"b"},
    {C("{\"thinking\":\"hm\"}"), "H0:hm"},
    /* Mistral: content in parts */
    {C("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
       "{\"type\":\"text\",\"text\":\"so\"}]}"),
     "H0:hm T0:so"},
    /* tools */
    {C("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":"
       "\"get\","
       "\"arguments\":\"\"}}]}"),
     "C0:get"},
    {C("{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"arguments\":\"{\\\"a\\\":\"}},{"
       "\"function\":null},7]}"),
     "C0:{\"a\":"},
    {C("{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]}"),
     "C0:f C0:{\"a\":1}"},
    {C("{\"tool_calls\":[{\"function\":{\"name\":\"\",\"arguments\":{}}}]}"), "0"},
    {C("{\"tool_calls\":[]}"), "0"},
    {C("{\"function_call\":{\"name\":\"f\",\"arguments\":\"x\"}}"), "C0:f C0:x"},
    /* several choices; index after the delta */
    {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"index\":1},{\"index\":0,\"delta\":{"
     "\"content\":\"b\"},"
     "\"finish_reason\":\"stop\"}]}",
     "T1:a T0:b F0:stop"},
    /* llama.cpp */
    {"{\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\","
     "\"content\":null}}]}",
     "R"},
    {"{\"choices\":[],\"usage\":{\"completion_tokens\":8,\"prompt_tokens\":3},\"timings\":{\"cache_"
     "n\":0,\"prompt_n\":3,"
     "\"prompt_ms\":12.5,\"predicted_n\":8,\"predicted_ms\":100,\"predicted_per_second\":80.5}}",
     "U:3/8/-1/-1 M:3/12.5/8/100/80.5"},
    {"{\"timings\":{\"prompt_n\":1}}", "M:1/nan/nan/nan/nan"},
    {"{\"timings\":{\"draft_n\":1}}", "0"},
    {"{\"timings\":{\"prompt_ms\":1},\"choices\":[{\"delta\":{\"content\":\"x\"}}]}",
     "M:nan/1/nan/nan/nan T0:x"},
    /* usage elsewhere: Moonshot's, Groq's; near misses: beside the right one, null, of two choices
     */
    {"{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":19,"
     "\"completion_tokens\":13}}]}",
     "F0:stop U:19/13/-1/-1"},
    {"{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"x_groq\":{\"id\":\"r\",\"usage\":{"
     "\"prompt_tokens\":19,\"completion_tokens\":13}}}",
     "F0:stop U:19/13/-1/-1"},
    {"{\"choices\":[{\"delta\":{},\"usage\":{\"completion_tokens\":13}}],\"usage\":{"
     "\"completion_tokens\":14}}",
     "U:-1/14/-1/-1"},
    {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"usage\":null}],\"usage\":null,\"x_groq\":"
     "null}",
     "T0:a"},
    {"{\"choices\":[{\"message\":{},\"usage\":{\"completion_tokens\":1}},{\"message\":{},\"usage\":"
     "{"
     "\"completion_tokens\":2}}]}",
     "0"},
    /* a message beside the delta: null, empty, the same once more */
    {"{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":null},"
     "\"message\":null,\"finish_reason\":\"\"}]}",
     "T0:a"},
    {"{\"choices\":[{\"message\":null,\"delta\":{\"content\":\"a\"}}]}", "T0:a"},
    {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"message\":{}}]}", "T0:a"},
    {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"message\":{\"role\":\"assistant\","
     "\"content\":\"\"}}]}",
     "T0:a"},
    {"{\"choices\":[{\"message\":{\"content\":\"so far a\"},\"delta\":{\"content\":\"a\"},"
     "\"index\":1}]}",
     "T1:a"},
    {"{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"message\":{"
     "\"content\":\"no\"}}]}",
     "R"},
    {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"delta\":{\"content\":\"b\"}}]}", "T0:b"},
    /* all of it at the end, and streams that have nothing else */
    {"{\"choices\":[{\"delta\":{},\"message\":{\"content\":\"ab\",\"reasoning_content\":\"hm\"},"
     "\"finish_reason\":\"stop\"}]}",
     "m0:ab m0:hm F0:stop"},
    {"{\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"content\":\"ab\"}}]}",
     "m0:ab F0:stop"},
    {"{\"choices\":[{\"delta\":null,\"message\":{\"content\":\"ab\"}}]}", "m0:ab"},
    {"{\"choices\":[{\"message\":{\"content\":\"ab\"}}]}", "m0:ab"},
    /* text by other names, where there is no content */
    {C("{\"text\":\"a\"}"), "T0:a"},
    {C("{\"role\":\"assistant\",\"response\":\"a\"}"), "T0:a"},
    {C("{\"text\":\"no\",\"content\":\"a\",\"response\":\"no\"}"), "T0:a"},
    {C("{\"text\":\"\",\"response\":null}"), "0"},
    /* a finish that is none, and one that is */
    {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"error\"}]}",
     "T0:a E0:error"},
    {"{\"choices\":[{\"delta\":{},\"finish_reason\":\"abort\"}]}", "E0:abort"},
    {"{\"error\":{\"message\":\"gone\"},\"choices\":[{\"delta\":{\"content\":\"\"},"
     "\"finish_reason\":\"error\"}]}",
     "E0:gone"},
    {"{\"choices\":[{\"delta\":{},\"error\":{\"code\":502,\"message\":\"gone\"},"
     "\"finish_reason\":\"stop\"}]}",
     "E0:gone F0:stop"},
    {"{\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}", "F0:content_filter"},
    /* errors that say nothing are none */
    {"{\"error\":{},\"choices\":[{\"delta\":{\"content\":\"a\"}}]}", "T0:a"},
    {"{\"error\":[],\"choices\":[{\"delta\":{\"content\":\"a\"}}]}", "T0:a"},
    {"{\"error\":0,\"choices\":[{\"delta\":{\"content\":\"a\"}}]}", "T0:a"},
    {"{\"error\":{\"code\":0,\"message\":\"\",\"param\":null,\"details\":[]},\"choices\":[]}", "0"},
    {"{\"error\":{\"code\":0,\"message\":\"\",\"type\":\"x\"}}",
     "E0:{\"code\":0,\"message\":\"\",\"type\":\"x\"}"},
    {"{\"error\":[\"x\"]}", "E0:[\"x\"]"},
    {"{\"error\":7}", "E0:7"},
    /* errors after 200 */
    {"{\"error\":{\"message\":\"too \\\"long\\\"\",\"code\":400}}", "E0:too \"long\""},
    {"{\"error\":\"out of memory\"}", "E0:out of memory"},
    {"{\"error\":{\"code\":500}}", "E0:{\"code\":500}"},
    {"{\"error\":null,\"choices\":[{\"delta\":{\"content\":\"x\"}}]}", "T0:x"},
    {"{\"detail\":[{\"loc\":[\"body\"]}]}", "E0:[{\"loc\":[\"body\"]}]"},
    {"{\"detail\":\"Not Found\"}", "E0:Not Found"},
    {"{\"object\":\"error\",\"message\":\"too long\",\"code\":400}", "E0:too long"},
    /* thinking in the total alone */
    {"{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,"
     "\"total_tokens\":51}}",
     "U:9/12/-1/-1=51"},
    /* usage that says nothing, or not in numbers */
    {"{\"usage\":{}}", "0"},
    {"{\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":\"7 \",\"total_tokens\":1}}", "0"},
    {"{\"usage\":{\"prompt_tokens\":\"\",\"completion_tokens\":\"-7\"}}", "0"},
    {"{\"usage\":{\"prompt_tokens\":\"0x9\",\"completion_tokens\":\"12345678901234567\"}}", "0"},
    /* … or in numbers that are texts, or by the names of another API (the old mlx-vlm, 24) */
    {"{\"usage\":{\"prompt_tokens\":\"11\",\"completion_tokens\":\"20\",\"total_tokens\":\"31\"}}",
     "U:11/20/-1/-1"},
    {"{\"usage\":{\"input_tokens\":11,\"output_tokens\":20,\"total_tokens\":31,\"generation_tps\":"
     "50.5}}",
     "U:11/20/-1/-1"},
    {"{\"usage\":{\"input_tokens\":11,\"output_tokens\":20,\"input_tokens_details\":{\"cached_"
     "tokens\":4},\"output_tokens_details\":{\"reasoning_tokens\":7}}}",
     "U:11/20/4/7"},
    {"{\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"prompt_tokens\":11,\"completion_"
     "tokens\":20,\"input_tokens_details\":{\"cached_tokens\":0}}}",
     "U:11/20/-1/-1"}, /* gateways fill both in */
    {"{\"usage\":{\"completion_tokens\":1e300,\"prompt_tokens\":12.0}}", "U:12/-1/-1/-1"},
    {"{\"usage\":[{\"prompt_tokens\":1}]}", "0"},
    /* unknown fields, whatever they are */
    {"{\"x\":[[{\"choices\":[{\"delta\":{\"content\":\"no\"}}]}]],\"choices\":[{\"logprobs\":{"
     "\"content\":[{\"t\":1}]},"
     "\"delta\":{\"z\":{\"content\":\"no\"},\"content\":\"yes\"}}]}",
     "T0:yes"},
    /* no JSON */
    {"", "P"},
    {"{\"choices\":[{\"delta\":{\"content\":\"x\"}}]", "E0:not JSON"},
    {C("{\"content\":\"x\"}") "}", "E0:not JSON"},
    {"hello", "P"},
};

static void test_chunks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
        expect("message", chunks[i].data, false, chunks[i].expected);
}

static void test_event_types(void **state)
{
    (void)state;
    expect("error", "{\"error\":{\"message\":\"gone\"}}", false, "E0:gone");
    expect("error", "{\"code\":500,\"message\":\"gone\",\"type\":\"server_error\"}", false,
           "E0:gone");
    expect("error", "out of memory", false, "E0:out of memory");
    expect("error", "{\"code\":500}", false, "E0:{\"code\":500}");
    expect("error", "{}", false, "E0:{}"); /* its name says it */
    expect("ping", "{}", false, "P");
    expect("chat.completion.error",
           "{\"object\":\"chat.completion.error\",\"error\":{\"message\":\"schema\"}}", false,
           "E0:schema");
}

static void test_documents(void **state)
{
    (void)state;
    expect("",
           " \n "
           "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
           "\"assistant\","
           "\"reasoning_content\":\"hm\",\"content\":\"Hi\",\"tool_calls\":[]},\"finish_reason\":"
           "\"stop\"}],"
           "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
           true, "H0:hm T0:Hi F0:stop U:3/2/-1/-1");
    expect("", "{\"error\":{\"message\":\"Prompt too long\",\"type\":\"invalid_request_error\"}}",
           true, "E0:Prompt too long");
    expect("", "<html>", true, "E0:not JSON");
    /* a delta beside the message */
    static const char *const others[] = {"null", "{}", "{\"content\":\"\"}", "{\"content\":\"a\"}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"choices\":[{\"message\":{\"content\":\"ab\"},\"delta\":%s,"
                 "\"finish_reason\":\"stop\"}]}",
                 others[i]);
        expect("", text, true, "T0:ab F0:stop");
        snprintf(text, sizeof text,
                 "{\"choices\":[{\"delta\":%s,\"message\":{\"content\":\"ab\"}}]}", others[i]);
        expect("", text, true, "T0:ab");
    }
    expect("", "{\"choices\":[{\"delta\":{\"content\":\"ab\"},\"message\":null}]}", true, "T0:ab");
}

/* Whatever is cut off: a proper prefix of a chunk is no JSON, and only that is said. */
static void test_every_prefix(void **state)
{
    (void)state;
    struct buf log;
    buf_init(&log, 1 << 20);
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        const char *whole = chunks[i].data;
        size_t n = strlen(whole);
        if (whole[0] != '{' || strcmp(chunks[i].expected, "E0:not JSON") == 0)
            continue;
        for (size_t cut = 1; cut < n; cut++) {
            read_as(d, "message", (struct slice){whole, cut}, &log);
            assert_string_equal(buf_text(&log), "E0:not JSON");
        }
    }
    buf_done(&log);
}

/* Bytes changed at random: always at least one delta, never a crash. */
static void test_damage(void **state)
{
    (void)state;
    struct buf log;
    buf_init(&log, 1 << 20);
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char text[1024];
        const char *whole = chunks[(size_t)round % (sizeof chunks / sizeof *chunks)].data;
        size_t n = strlen(whole);
        memcpy(text, whole, n);
        for (int k = 0; k < 2 && n > 0; k++) {
            seed = seed * 1664525 + 1013904223;
            text[(seed >> 8) % n] = "{}[]\",:\\x0\x80"
                                    "e"[(seed >> 24) % 12];
        }
        read_as(d, "message", (struct slice){text, n}, &log);
        assert_true(log.n > 0);
    }
    buf_done(&log);
}

static int stop_at_once(void *ctx, const struct delta *x)
{
    (void)x;
    ++*(int *)ctx;
    return TA_STOP;
}

static void test_sink_stops(void **state)
{
    (void)state;
    struct buf scratch;
    buf_init(&scratch, 1024);
    int calls = 0;
    struct event ev = {.type = slice_of("message"),
                       .data = slice_of(C("{\"content\":\"a\",\"reasoning\":\"b\"}"))};
    assert_int_equal(d->event(&ev, &scratch, (struct delta_sink){&calls, stop_at_once}), TA_STOP);
    assert_int_equal(calls, 1);
    buf_done(&scratch);
}

/* --- requests ----------------------------------------------------------------------------- */

static bool ask(const char *body, struct arena *a, struct dialect_request *q)
{
    return d->request(slice_of(body), a, q);
}

static void test_request(void **state)
{
    (void)state;
    struct arena a = {0};
    struct dialect_request q;
    assert_true(
        ask("{\"model\":\"m\\u00e9\",\"stream\":true,\"stream_options\":{\"x\":[1],\"include_"
            "usage\":true},"
            "\"max_tokens\":5,\"max_completion_tokens\":7,\"n\":2,\"messages\":[{\"role\":"
            "\"system\",\"content\":"
            "\"be  brief\\nplease\"},{\"content\":[{\"type\":\"text\",\"text\":\"see \\\"it\\\"\"},"
            "{\"type\":\"image_url\",\"image_url\":{\"url\":\"a b "
            "c\"}},{\"type\":\"text\",\"text\":\"now\"}],"
            "\"role\":\"user\"}],\"tools\":[{}]}",
            &a, &q));
    assert_true(slice_is(q.model, "m\xC3\xA9"));
    assert_int_equal(q.stream, 1);
    assert_true(q.usage_asked);
    assert_int_equal(q.max_tokens, 7);
    assert_int_equal(q.choices, 2);
    assert_true(slice_is(q.last_message, "see \"it\" now"));
    assert_int_equal(q.prompt_words, 6);
    assert_int_equal(q.media, 1);

    assert_true(
        ask("{\"stream\":false,\"max_tokens\":null,\"messages\":null,\"stream_options\":null}", &a,
            &q));
    assert_null(q.model.p);
    assert_int_equal(q.stream, 0);
    assert_false(q.usage_asked);
    assert_int_equal(q.max_tokens, -1);
    assert_int_equal(q.choices, 1);
    assert_int_equal(q.prompt_words, 0);

    assert_true(ask("{\"stream\":\"yes\",\"max_tokens\":12}", &a, &q));
    assert_int_equal(q.stream, -1);
    assert_int_equal(q.max_tokens, 12);
    static const char *const broken[] = {"", "[]", "{\"messages\":[", "{} x", "model=m", "\"{}\""};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_false(ask(broken[i], &a, &q));
    arena_free(&a);
}

/* The shown text is cut at 200 bytes, never inside a character, for every offset of a 4-byte one.
 */
static void test_cut(void **state)
{
    (void)state;
    for (size_t lead = 0; lead < 8; lead++) {
        for (int escaped = 0; escaped < 2; escaped++) {
            struct arena a = {0};
            struct dialect_request q;
            struct buf body;
            buf_init(&body, 1 << 20);
            buf_printf(&body, "{\"messages\":[{\"content\":\"%.*s", (int)lead, "aaaaaaaa");
            for (int i = 0; i < 300; i++)
                buf_puts(&body, escaped ? "\\ud83d\\ude00" : "\xF0\x9F\x98\x80");
            buf_puts(&body, "\"}]}");
            assert_true(d->request((struct slice){(char *)body.p, body.n}, &a, &q));
            assert_int_equal(q.last_message.n, lead + (200 - lead) / 4 * 4);
            assert_memory_equal(q.last_message.p + q.last_message.n - 4, "\xF0\x9F\x98\x80", 4);
            arena_free(&a);
            buf_done(&body);
        }
    }
}

static void test_large_request(void **state)
{
    (void)state;
    enum { WORDS = 1700000 };
    struct arena a = {0};
    struct dialect_request q;
    struct buf body;
    buf_init(&body, 32u << 20);
    buf_puts(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(buf_add(&body, "word\\n ", 7), TA_OK);
    buf_puts(&body, "\"}],\"model\":\"m\",\"stream\":true}");
    assert_true(d->request((struct slice){(char *)body.p, body.n}, &a, &q));
    assert_int_equal(q.prompt_words, WORDS);
    assert_int_equal(q.last_message.n, 200);
    assert_int_equal(q.stream, 1);
    assert_true(a.bytes < 4096);
    arena_free(&a);
    buf_done(&body);
}

static void test_claims(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target, *body;
        bool ours;
    } cases[] = {
        {"POST", "/v1/chat/completions", "{\"messages\":[]}", true},
        {"POST", "/openai/deployments/d/chat/completions?api-version=1", "", true},
        {"POST", "http://h:1/v1/chat/completions/", "junk", true},
        {"POST", "/generate", "{\"model\":\"m\",\"messages\":[{}]}", true},
        {"POST", "/generate", "{\"messages\":\"x\"}", false},
        {"POST", "/v1/messages", "{\"messages\":[{}]}", false},
        {"POST", "/api/chat", "{\"messages\":[{}]}", false},
        {"POST", "/v1/completions", "{\"prompt\":\"x\"}", false},
        {"GET", "/v1/chat/completions", "", false},
        {"GET", "/v1/models", "", false},
        {"POST", "", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct dialect *found = dialect_find(
            slice_of(cases[i].method), slice_of(cases[i].target), slice_of(cases[i].body));
        if ((found == d) != cases[i].ours)
            fail_msg("%s %s %s", cases[i].method, cases[i].target, cases[i].body);
    }
    assert_true(d->claims(slice_of("POST"), slice_of("/x/chat/completions"),
                          slice_of("{\"messages\":[]}")) >
                d->claims(slice_of("POST"), slice_of("/x"), slice_of("{\"messages\":[]}")));
}

/* --- replies written ---------------------------------------------------------------------- */

static const struct dialect_reply reply = {
    .id = "chatcmpl-1",
    .model = "m \"q\"",
    .fingerprint = "fp",
    .created_s = 1790000000,
    .usage = {7, 3, -1, -1},
    .finish = "length",
};

/* Checks the framing of one event, its JSON against cJSON, and what reading it back says. */
static void expect_written(struct buf *out, const char *expected)
{
    const char *text = buf_text(out);
    assert_true(out->n > 8 && memcmp(text, "data: ", 6) == 0 &&
                memcmp(text + out->n - 2, "\n\n", 2) == 0);
    assert_null(memchr(text, '\n', out->n - 2));
    struct slice data = {text + 6, out->n - 8};
    if (!slice_is(data, "[DONE]")) {
        struct err e;
        struct json *tree = json_parse(data.p, data.n, &e);
        assert_non_null(tree);
        assert_string_equal(json_string(tree, "object"), "chat.completion.chunk");
        assert_string_equal(json_string(tree, "model"), "m \"q\"");
        json_free(tree);
    }
    struct buf log;
    buf_init(&log, 1 << 16);
    read_as(d, "message", data, &log);
    assert_string_equal(buf_text(&log), expected);
    buf_done(&log);
    buf_clear(out);
}

static void test_written_chunks(void **state)
{
    (void)state;
    struct buf out;
    struct dialect_writing w;
    buf_init(&out, 1 << 16);
    d->put_begin(&out, &reply, &w);
    expect_written(&out, "R");
    d->put_piece(&out, &reply, &w,
                 (struct dialect_part){DELTA_TEXT, slice_of(" a\n\"\\\x01\xC3\xA9")});
    expect_written(&out, "T0: a\n\"\\\x01\xC3\xA9");
    d->put_finish(&out, &reply, &w);
    expect_written(&out, "F0:length");
    d->put_usage(&out, &reply, &w);
    expect_written(&out, "U:7/3/-1/-1");
    struct dialect_reply cached = reply;
    cached.usage = (struct usage){7, 3, 2, 1};
    d->put_usage(&out, &cached, &w);
    expect_written(&out, "U:7/3/2/1");
    d->put_done(&out, &reply, &w);
    expect_written(&out, "D");
    dialect_writing_done(&w);
    buf_done(&out);
}

/* How servers of this dialect differ. */
static void test_written_manners(void **state)
{
    (void)state;
    struct buf out;
    struct dialect_writing w;
    struct dialect_reply r = reply;
    buf_init(&out, 1 << 16);
    r.usage_with_finish = r.role_in_every = true;
    r.reasoning = "reasoning";
    r.timings = (struct server_timings){7, 14, 3, 50, 60, NAN, NAN};
    d->put_begin(&out, &r, &w);
    assert_int_equal(out.n, 0);
    d->put_piece(&out, &r, &w, (struct dialect_part){DELTA_REASONING, slice_of("hm")});
    assert_non_null(strstr(buf_text(&out), "\"role\":\"assistant\",\"reasoning\":\"hm\""));
    expect_written(&out, "H0:hm");
    d->put_finish(&out, &r, &w);
    expect_written(&out, "F0:length U:7/3/-1/-1 M:7/14/3/50/60");
    dialect_writing_done(&w);
    buf_done(&out);
}

static void test_written_documents(void **state)
{
    (void)state;
    struct buf out;
    struct dialect_part part = {DELTA_TEXT, slice_of("Hi there")};
    buf_init(&out, 1 << 16);
    d->put_document(&out, &reply, &part, 1);
    expect("", buf_text(&out), true, "T0:Hi there F0:length U:7/3/-1/-1");
    buf_clear(&out);
    d->put_error(&out, 404, "no \"such\" path", "not_found_error");
    expect("", buf_text(&out), true, "E0:no \"such\" path");
    struct err e;
    struct json *tree = json_parse(buf_text(&out), out.n, &e);
    int64_t code = 0;
    assert_true(json_int(json_get(tree, "error"), "code", &code));
    assert_int_equal(code, 404);
    json_free(tree);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_event_types),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_sink_stops),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_large_request),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_written_chunks),
        cmocka_unit_test(test_written_manners),
        cmocka_unit_test(test_written_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
