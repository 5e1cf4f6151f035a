/* Traces of every dialect: what was written at known times is found again, and the faults and
 * oddities of each are what they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/findings.h"
#include "analyze/load.h"
#include "analyze/metrics.h"
#include "analyze/runs.h"
#include "tests/support/dialect_trace.h"

/* --- one reply in each dialect ------------------------------------------------------------ */

static void temporary(char *path, size_t size)
{
    snprintf(path, size, "/tmp/tokaudit-test_dialects-%ld.pcapng.gz", (long)getpid());
}

static void load(struct audit *a, const char *path)
{
    struct err e;
    size_t used;
    char *paths[] = {(char *)(uintptr_t)path};
    if (load_trace(a, paths, 1, &used, &e) != TA_OK)
        fail_msg("%s", e.msg);
    unlink(path);
}

/* What each states besides. */
static const struct {
    const char *name, *finish;
    int64_t n1, cached;
    uint64_t identified;
    bool role, done, timed;
    unsigned usages;
} states[] = {
    {"openai-chat", "length", -1, 8, 0, true, true, true, 1},
    {"openai-completions", "length", -1, 8, 0, false, true, true, 1},
    {"openai-responses", "max_output_tokens", -1, 8, 0, true, true, false, 1},
    {"anthropic-messages", "max_tokens", -1, 8, 0, true, true, false, 1},
    {"ollama-chat", "length", -1, -1, 0, false, true, true, 1},
    {"ollama-generate", "length", -1, -1, 0, false, true, true, 1},
    {"llama-completion", "limit", 1, 8, 0, false, true, true, 11},
    {"tgi", "length", 1, -1, 11, false, true, false, 1},
    {"sglang-generate", "length", 1, 8, 0, false, true, false, 11},
    {"lmstudio-chat", "chat.end", -1, -1, 0, true, true, false, 1},
};

static void check_times(const struct request *r, unsigned i)
{
    int64_t t0 = DIALECT_T0 + (int64_t)i * DIALECT_APART_S * NS_PER_S;
    int64_t first = t0 + DIALECT_FIRST_MS * NS_PER_MS;
    int64_t last = first + (DIALECT_PIECES - 1) * DIALECT_STEP_MS * NS_PER_MS;
    assert_int_equal(r->t0, t0);
    assert_int_equal(r->h, t0 + NS_PER_MS);
    assert_int_equal(r->out.n, DIALECT_PIECES);
    for (int64_t k = 0; k < DIALECT_PIECES; k++)
        assert_int_equal(r->out.v[k].t_ns, first + k * DIALECT_STEP_MS * NS_PER_MS);
    assert_int_equal(r->z, last + DIALECT_LAST_MS * NS_PER_MS);
    bool early = strcmp(r->dialect->name, "openai-chat") == 0 ||
                 strcmp(r->dialect->name, "openai-responses") == 0 ||
                 strcmp(r->dialect->name, "anthropic-messages") == 0 ||
                 strcmp(r->dialect->name, "lmstudio-chat") == 0;
    assert_int_equal(r->c1, early ? t0 + 2 * NS_PER_MS : first);
}

static void check_figures(const struct request *r)
{
    assert_true(fabs(r->metrics[M_TTFT].v - DIALECT_FIRST_MS / 1e3) < 1e-9);
    double window = (DIALECT_PIECES - 1) * DIALECT_STEP_MS / 1e3;
    assert_true(fabs(r->metrics[M_DECODE_WINDOW].v - window) < 1e-9);
    assert_int_equal(r->metrics[M_OUTPUT_TPS_USER].grade, GRADE_WIRE_STATED);
    assert_true(fabs(r->metrics[M_OUTPUT_TPS_USER].v - (DIALECT_PIECES - 1) / window) < 1e-6);
}

static void each_dialect_is_found(void **state)
{
    (void)state;
    struct audit a = {0};
    struct err e;
    char path[80];
    temporary(path, sizeof path);
    if (dialect_trace_make(path, &e) != TA_OK)
        fail_msg("%s", e.msg);
    load(&a, path);
    runs_find(&a, &audit_defaults);
    metrics_request_all(&a, &audit_defaults);
    findings_find(&a, &audit_defaults);
    assert_int_equal(a.findings.n, 0);
    assert_int_equal(a.requests.n, sizeof states / sizeof *states);
    for (unsigned i = 0; i < a.requests.n; i++) {
        const struct request *r = &a.requests.v[i];
        assert_non_null(r->dialect);
        assert_string_equal(r->dialect->name, states[i].name);
        if (r->outcome != OUTCOME_SUCCESS)
            fail_msg("%s: %s", states[i].name, outcome_name(r->outcome));
        assert_string_equal(r->finish, states[i].finish);
        assert_int_equal(r->anomalies.n, 0);
        assert_int_equal(r->asked.stream, 1);
        assert_int_equal(r->asked.max_tokens, 10);
        assert_int_equal(r->asked.prompt_words, 3);
        assert_int_equal(request_tokens(r), DIALECT_PIECES);
        assert_int_equal(r->usage.prompt, DIALECT_PROMPT);
        assert_int_equal(r->usage.cached, states[i].cached);
        assert_int_equal(r->usage_events, states[i].usages);
        assert_int_equal(r->n1, states[i].n1);
        assert_int_equal(r->identified, states[i].identified);
        assert_int_equal(r->role_ns >= 0, states[i].role);
        assert_int_equal(r->done_ns >= 0, states[i].done);
        assert_int_equal(!isnan(r->timings.predicted_ms), states[i].timed);
        assert_int_equal(r->text_bytes, strlen("first thinkThen say ten words and stop it."));
        assert_int_equal(r->pings + r->comments > 0, r->dialect->put_ping != NULL);
        check_times(r, i);
        check_figures(r);
    }
    audit_free(&a);
}

/* --- oddities ----------------------------------------------------------------------------- */

struct exchange_text {
    const char *target, *request;
    const char *fields; /* of the reply, with CRLF each */
    const char *body;   /* of the reply; closed by the end of the connection */
};

/* One exchange, read; the caller frees a. */
static const struct request *read_exchange(struct audit *a, const struct exchange_text *x)
{
    struct writer_origin origin = {
        .vantage = "socket", .link = LINK_RAW, .snaplen = 262144, .host = "here"};
    struct dialect_trace m = {0};
    struct sockaddr_in local = dialect_address(40001), remote = dialect_address(8000);
    char path[80];
    struct buf text;
    int64_t t = DIALECT_T0;
    temporary(path, sizeof path);
    buf_init(&text, 1 << 16);
    assert_int_equal(writer_open(&m.w, path, &origin, &m.e), TA_OK);
    m.rec = socket_recorder_new(m.w);
    m.flow = socket_flow_open(m.rec, (struct sockaddr *)&local, (struct sockaddr *)&remote, true, t,
                              &m.e);
    buf_printf(&text, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", x->target,
               strlen(x->request), x->request);
    assert_int_equal(socket_flow_sent(m.flow, text.p, text.n, t, &m.e), TA_OK);
    buf_clear(&text);
    buf_printf(&text, "HTTP/1.1 200 OK\r\nConnection: close\r\n%s\r\n%s", x->fields, x->body);
    dialect_received(&m, text.p, text.n, t + NS_PER_MS);
    assert_int_equal(m.rc, TA_OK);
    assert_int_equal(socket_flow_closed(m.flow, true, false, t + 2 * NS_PER_MS, &m.e), TA_OK);
    assert_int_equal(socket_flow_closed(m.flow, false, false, t + 3 * NS_PER_MS, &m.e), TA_OK);
    socket_flow_free(m.flow);
    socket_recorder_free(m.rec);
    assert_int_equal(writer_close(m.w, &m.e), TA_OK);
    buf_done(&text);
    load(a, path);
    assert_int_equal(a->requests.n, 1);
    return &a->requests.v[0];
}

#define SSE "Content-Type: text/event-stream\r\n"
#define NDJSON "Content-Type: application/x-ndjson\r\n"
#define JSON "Content-Type: application/json\r\n"
#define CHAT "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"content\":\"hi\"}]}"
#define PROMPT "{\"model\":\"m\",\"stream\":true,\"prompt\":\"hi\"}"

static const struct {
    const char *what;
    struct exchange_text x;
    const char *dialect;
    enum outcome outcome;
    size_t events;  /* with output */
    int64_t tokens; /* -1: not stated */
    uint64_t bytes;
} oddities[] = {
    {"Ollama /v1/completions: zeros first, the real usage last",
     {"/v1/completions", PROMPT, SSE,
      "data: "
      "{\"choices\":[{\"text\":\"ab\"}],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}"
      "\n\ndata: {\"choices\":[{\"text\":\"c\",\"finish_reason\":\"stop\"}],\"usage\":{"
      "\"prompt_tokens\":4,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n"},
     "openai-completions",
     OUTCOME_SUCCESS,
     2,
     2,
     3},
    {"vLLM: token ids alone",
     {"/v1/completions", PROMPT, SSE,
      "data: {\"choices\":[{\"text\":\"ab\",\"token_ids\":[1,2]}]}\n\n"
      "data: {\"choices\":[{\"text\":\"c\",\"token_ids\":[3],\"finish_reason\":\"stop\"}]}\n\n"},
     "openai-completions",
     OUTCOME_SUCCESS,
     2,
     3,
     3},
    {"mlx-openai-server: an error, then a normal finish",
     {"/v1/completions", PROMPT, SSE,
      "data: {\"error\":{\"message\":\"queue full\",\"code\":\"429\"}}\n\n"
      "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"},
     "openai-completions",
     OUTCOME_ERROR_EVENT,
     0,
     -1,
     0},
    {"vllm-mlx, /v1/messages after an exception: a bare message_stop",
     {"/v1/messages", CHAT, SSE,
      "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\","
      "\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n"
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":"
      "\"text_delta\",\"text\":\"ab\"}}\n\n"
      "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
     "anthropic-messages",
     OUTCOME_NO_FINISH,
     1,
     -1,
     2},
    {"Anthropic: overloaded in the middle",
     {"/v1/messages", CHAT, SSE,
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":"
      "\"ab\"}}\n\nevent: error\ndata: "
      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
      "\"message\":\"Overloaded\"}}\n\n"},
     "anthropic-messages",
     OUTCOME_ERROR_EVENT,
     1,
     -1,
     2},
    {"Responses: failed",
     {"/v1/responses", "{\"input\":\"hi\"}", SSE,
      "data: {\"type\":\"response.output_text.delta\",\"delta\":\"ab\"}\n\n"
      "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{"
      "\"message\":\"x\"}}}\n\n"},
     "openai-responses",
     OUTCOME_ERROR_EVENT,
     1,
     -1,
     2},
    {"Ollama: an error line after 200",
     {"/api/chat", CHAT, NDJSON,
      "{\"message\":{\"content\":\"ab\"},\"done\":false}\n{\"error\":\"out of memory\"}\n"},
     "ollama-chat",
     OUTCOME_ERROR_EVENT,
     1,
     -1,
     2},
    {"Ollama: a last line without its LF",
     {"/api/generate", PROMPT, NDJSON,
      "{\"response\":\"ab\",\"done\":false}\n{\"response\":\"\",\"done\":true,\"eval_count\":1}"},
     "ollama-generate",
     OUTCOME_SUCCESS,
     1,
     1,
     2},
    {"Ollama: cut in a line",
     {"/api/generate", PROMPT, NDJSON, "{\"response\":\"ab\",\"done\":false}\n{\"respon"},
     "ollama-generate",
     OUTCOME_CUT_SHORT,
     1,
     -1,
     2},
    {"llama-server: ends without its last event",
     {"/completion", PROMPT, SSE, "data: {\"content\":\"ab\",\"stop\":false}\n\n"},
     "llama-completion",
     OUTCOME_NO_FINISH,
     1,
     -1,
     2},
    {"SGLang: text so far is counted once",
     {"/generate", "{\"text\":\"hi\",\"sampling_params\":{},\"stream\":true}", SSE,
      "data: {\"text\":\"ab\",\"meta_info\":{\"completion_tokens\":1}}\n\n"
      "data: {\"text\":\"abcd\",\"meta_info\":{\"completion_tokens\":2}}\n\n"
      "data: {\"text\":\"abcd\",\"meta_info\":{\"completion_tokens\":2,\"finish_reason\":{\"type\":"
      "\"stop\"}}}\n\ndata: [DONE]\n\n"},
     "sglang-generate",
     OUTCOME_SUCCESS,
     2,
     2,
     4},
    {"SGLang: a stop string that is cut off again is no text",
     {"/generate", "{\"text\":\"hi\",\"sampling_params\":{},\"stream\":true}", SSE,
      "data: {\"text\":\"ab\",\"meta_info\":{\"completion_tokens\":1}}\n\n"
      "data: {\"text\":\"abcd<s\",\"meta_info\":{\"completion_tokens\":2}}\n\n"
      "data: {\"text\":\"abcd\",\"meta_info\":{\"completion_tokens\":3,\"finish_reason\":{\"type\":"
      "\"stop\",\"matched\":\"<stop>\"}}}\n\ndata: [DONE]\n\n"},
     "sglang-generate",
     OUTCOME_SUCCESS,
     2,
     3,
     6},
    {"SGLang: two answers in a document",
     {"/generate", "{\"text\":[\"hi\",\"ho\"],\"sampling_params\":{}}", JSON,
      "[{\"text\":\"ab\",\"meta_info\":{\"completion_tokens\":2,\"finish_reason\":{\"type\":"
      "\"stop\"}}},{\"text\":\"abc\",\"meta_info\":{\"completion_tokens\":3,\"finish_reason\":{"
      "\"type\":\"stop\"}}}]"},
     "sglang-generate",
     OUTCOME_SUCCESS,
     1,
     5,
     5},
    {"llama-server: two prompts' answers between each other",
     {"/completion", "{\"prompt\":[\"a\",\"b\"],\"n_predict\":3,\"stream\":true}", SSE,
      "data: {\"index\":0,\"content\":\"a\",\"stop\":false,\"tokens_predicted\":1}\n\n"
      "data: {\"index\":1,\"content\":\"b\",\"stop\":false,\"tokens_predicted\":1}\n\n"
      "data: {\"index\":0,\"content\":\"a\",\"stop\":false,\"tokens_predicted\":2}\n\n"
      "data: {\"index\":1,\"content\":\"b\",\"stop\":false,\"tokens_predicted\":2}\n\n"
      "data: {\"index\":0,\"content\":\"\",\"stop\":true,\"tokens_predicted\":2}\n\n"
      "data: {\"index\":1,\"content\":\"\",\"stop\":true,\"tokens_predicted\":2}\n\n"},
     "llama-completion",
     OUTCOME_SUCCESS,
     4,
     4,
     4},
    {"TGI: counts in the head",
     {"/generate", "{\"inputs\":\"hi\"}", JSON "x-generated-tokens: 7\r\nx-prompt-tokens: 3\r\n",
      "{\"generated_text\":\"abc\"}"},
     "tgi",
     OUTCOME_SUCCESS,
     1,
     7,
     3},
    {"a path nobody knows: chat by its events",
     {"/ask", "{\"q\":\"hi\"}", SSE,
      "data: {\"status\":\"thinking\"}\n\n"
      "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{\"content\":\"ab\"}}]}"
      "\n\ndata: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{},"
      "\"finish_reason\":\"stop\"}]}\n\n"},
     "openai-chat",
     OUTCOME_SUCCESS,
     1,
     -1,
     2},
    {"a path nobody knows: Anthropic by its document",
     {"/ask", "{\"q\":\"hi\"}", JSON,
      "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"ab\"}],\"stop_reason\":"
      "\"end_turn\",\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}"},
     "anthropic-messages",
     OUTCOME_SUCCESS,
     1,
     2,
     2},
    {"a path nobody knows, a body like chat: Anthropic by its events",
     {"/x", CHAT, SSE,
      "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\","
      "\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n"
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{"
      "\"type\":\"text_delta\",\"text\":\"ab\"}}\n\n"
      "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
      "\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n"
      "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
     "anthropic-messages",
     OUTCOME_SUCCESS,
     1,
     2,
     2},
    {"a path nobody knows, a body like chat, and chat it is",
     {"/x", CHAT, SSE,
      "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{\"content\":\"ab\"}}]}"
      "\n\ndata: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{},"
      "\"finish_reason\":\"stop\"}]}\n\n"},
     "openai-chat",
     OUTCOME_SUCCESS,
     1,
     -1,
     2},
    {"Ollama's lines, said to be JSON",
     {"/api/chat", CHAT, JSON,
      "{\"message\":{\"content\":\"ab\"},\"done\":false}\n"
      "{\"message\":{\"content\":\"c\"},\"done\":false}\n"
      "{\"message\":{\"content\":\"\"},\"done\":true,\"eval_count\":2}\n"},
     "ollama-chat",
     OUTCOME_SUCCESS,
     2,
     2,
     3},
    {"Ollama's lines of no type, cut",
     {"/api/generate", PROMPT, "",
      "{\"response\":\"ab\",\"done\":false}\n{\"response\":\"c\",\"done\":false}\n{\"resp"},
     "ollama-generate",
     OUTCOME_CUT_SHORT,
     2,
     -1,
     3},
    {"Ollama's one text",
     {"/api/generate", "{\"prompt\":\"hi\",\"stream\":false}", JSON,
      "{\"response\":\"abc\",\"done\":true,\"eval_count\":2}\n"},
     "ollama-generate",
     OUTCOME_SUCCESS,
     1,
     2,
     3},
    {"a reply that is one text, said to be events",
     {"/v1/chat/completions", CHAT, SSE,
      "{\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"ab\"},"
      "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}"},
     "openai-chat",
     OUTCOME_SUCCESS,
     1,
     2,
     2},
    {"the same with its line end, on several lines",
     {"/v1/messages", CHAT, SSE,
      "{\"type\":\"message\",\n\"content\":[{\"type\":\"text\",\"text\":\"ab\"}],\n"
      "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}\n"},
     "anthropic-messages",
     OUTCOME_SUCCESS,
     1,
     2,
     2},
    {"an error said to be events",
     {"/v1/chat/completions", CHAT, SSE, "{\"error\":{\"message\":\"no such model\"}}\n"},
     "openai-chat",
     OUTCOME_ERROR_EVENT,
     0,
     -1,
     0},
    {"events said to be JSON",
     {"/v1/chat/completions", CHAT, JSON,
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n"
      "data: [DONE]\n\n"},
     "openai-chat",
     OUTCOME_SUCCESS,
     2,
     -1,
     2},
    {"events said to be a download",
     {"/v1/chat/completions", CHAT, "Content-Type: application/octet-stream\r\n",
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n"},
     "openai-chat",
     OUTCOME_SUCCESS,
     2,
     -1,
     2},
    {"a download that is one",
     {"/v1/chat/completions", CHAT, "Content-Type: application/octet-stream\r\n", "\x01 7"},
     "openai-chat",
     OUTCOME_ERROR_EVENT,
     0,
     -1,
     0},
    {"events said to be a page",
     {"/v1/chat/completions", CHAT, "Content-Type: text/html; charset=utf-8\r\n",
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n"},
     "openai-chat",
     OUTCOME_SUCCESS,
     2,
     -1,
     2},
    {"keys and words with escapes",
     {"/v1/chat/completions",
      "{\"model\":\"m\",\"\\u0073tream\":true,\"m\\u0065ssages\":[{\"content\":\"hi\"}]}", SSE,
      "data: {\"\\u0063hoices\":[{\"delta\":{\"con\\u0074ent\":\"a\"}}]}\n\n"
      "data: {\"choices\":[{\"d\\u0065lta\":{\"\\u0063ontent\":\"b\"},\"finish\\u005freason\":"
      "\"stop\"}],\"us\\u0061ge\":{\"prompt_tokens\":3,\"completion\\u005Ftokens\":2}}\n\n"},
     "openai-chat",
     OUTCOME_SUCCESS,
     2,
     2,
     2},
    {"no model at all",
     {"/upload", "{\"q\":\"hi\"}", JSON, "{\"content\":\"saved\",\"id\":7}"},
     NULL,
     OUTCOME_NOT_LLM,
     0,
     -1,
     0},
    {"no model at all, as a stream",
     {"/watch", "{\"q\":\"hi\"}", SSE, "data: {\"type\":\"tick\"}\n\ndata: 7\n\n"},
     NULL,
     OUTCOME_NOT_LLM,
     0,
     -1,
     0},
};

static bool has_finding(const struct audit *a, const char *id)
{
    for (size_t i = 0; i < a->findings.n; i++) {
        if (strcmp(a->findings.v[i].id, id) == 0)
            return true;
    }
    return false;
}

static void oddities_are_what_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof oddities / sizeof *oddities; i++) {
        struct audit a = {0};
        const struct request *r = read_exchange(&a, &oddities[i].x);
        const char *name = r->dialect != NULL ? r->dialect->name : "none";
        const char *wanted = oddities[i].dialect != NULL ? oddities[i].dialect : "none";
        if (strcmp(name, wanted) != 0 || r->outcome != oddities[i].outcome ||
            r->out.n != oddities[i].events || request_tokens(r) != oddities[i].tokens ||
            r->text_bytes != oddities[i].bytes)
            fail_msg("%s: %s, %s, %zu events, %lld tokens, %llu bytes", oddities[i].what, name,
                     outcome_name(r->outcome), r->out.n, (long long)request_tokens(r),
                     (unsigned long long)r->text_bytes);
        findings_find(&a, &audit_defaults);
        assert_int_equal(r->guessed, strcmp(oddities[i].x.target, "/ask") == 0 ||
                                         strstr(oddities[i].what, "like chat: ") != NULL);
        assert_int_equal(has_finding(&a, "requests.api-guessed"), r->guessed);
        audit_free(&a);
    }
}

/* A stream was asked for: what its type says does not hide that it was not given, nor that it was.
 */
static void a_stream_is_one_by_its_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *body;
        bool stream;
    } cases[] = {
        {SSE, "{\"choices\":[{\"message\":{\"content\":\"ab\"},\"finish_reason\":\"stop\"}]}",
         false},
        {SSE, "{\"choices\":[{\"message\":{\"content\":\"ab\"},\"finish_reason\":\"stop\"}]}\n",
         false},
        {JSON, "{\"choices\":[{\"message\":{\"content\":\"ab\"},\"finish_reason\":\"stop\"}]}",
         false},
        {JSON,
         "data: {\"choices\":[{\"delta\":{\"content\":\"ab\"},\"finish_reason\":\"stop\"}]}\n\n",
         true},
        {SSE,
         "data: {\"choices\":[{\"delta\":{\"content\":\"ab\"},\"finish_reason\":\"stop\"}]}\n\n",
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct exchange_text x = {"/v1/chat/completions", CHAT, cases[i].fields,
                                        cases[i].body};
        struct audit a = {0};
        const struct request *r = read_exchange(&a, &x);
        assert_int_equal(r->outcome, OUTCOME_SUCCESS);
        assert_int_equal(r->out.n, 1);
        assert_int_equal(r->truncated_events, 0);
        assert_int_equal(r->stream_reply, cases[i].stream);
        audit_free(&a);
    }
}

/* Zeros that are filled in are no count of the first read. */
static void filled_in_zeros_are_no_count(void **state)
{
    (void)state;
    struct audit a = {0};
    const struct request *r = read_exchange(&a, &oddities[0].x);
    assert_int_equal(request_stated(r, 0), -1);
    assert_int_equal(r->usage.prompt, 4);
    audit_free(&a);
}

/* Its data is read by every client that goes by lines: what came before it is whole. Near miss: an
 * event that broke off. */
static void an_end_mark_may_lack_its_blank_line(void **state)
{
    (void)state;
#define PIECES                                                                                     \
    "data: {\"choices\":[{\"delta\":{\"content\":\"ab\"}}]}\n\n"                                   \
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    static const struct {
        const char *body;
        uint32_t cut;
    } cases[] = {
        {PIECES "data: [DONE]\n\n", 0},
        {PIECES "data: [DONE]\n", 0},
        {PIECES "data: [DONE]", 0},
        {PIECES "data: [DON", 1},
        {PIECES "data: {\"choices\":[]}\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct exchange_text x = {"/v1/chat/completions", CHAT, SSE, cases[i].body};
        struct audit a = {0};
        const struct request *r = read_exchange(&a, &x);
        assert_int_equal(r->outcome, OUTCOME_SUCCESS);
        assert_int_equal(r->truncated_events, cases[i].cut);
        audit_free(&a);
    }
}

static void a_dialect_can_be_forced(void **state)
{
    (void)state;
    static const struct exchange_text x = {"/v1/chat/completions", "{\"q\":\"hi\"}", NDJSON,
                                           "{\"response\":\"ab\",\"done\":false}\n{\"response\":"
                                           "\"\",\"done\":true,\"eval_count\":1}\n"};
    struct audit a = {.forced = dialect_named("ollama-generate")};
    const struct request *r = read_exchange(&a, &x);
    assert_ptr_equal(r->dialect, &dialect_ollama_generate);
    assert_int_equal(r->outcome, OUTCOME_SUCCESS);
    assert_int_equal(request_tokens(r), 1);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_dialect_is_found),
        cmocka_unit_test(oddities_are_what_they_are),
        cmocka_unit_test(a_stream_is_one_by_its_bytes),
        cmocka_unit_test(filled_in_zeros_are_no_count),
        cmocka_unit_test(an_end_mark_may_lack_its_blank_line),
        cmocka_unit_test(a_dialect_can_be_forced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
