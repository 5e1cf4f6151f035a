/* Requests that look like those to an LLM: what the replies make of them, and what stays of those
 * without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/findings.h"
#include "analyze/load.h"
#include "tests/support/dialect_trace.h"

#define CHAT "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
#define ASKS                                                                                       \
    "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
#define INPUTS "{\"inputs\":\"x\"}"
#define ANSWER "{\"choices\":[{\"message\":{\"content\":\"ab\"},\"finish_reason\":\"stop\"}]}"
#define LINE(more) "{\"model\":\"m\",\"created_at\":\"x\"," more "}\n"
#define JSON "Content-Type: application/json\r\n"

struct turn {
    const char *target, *request;
    int status; /* 0: the connection is closed without a reply */
    const char *reply;
    const char *dialect; /* NULL: no LLM request */
    enum outcome outcome;
};

static void take_turn(struct socket_recorder *rec, const struct turn *x, unsigned i)
{
    char text[2048];
    struct err e;
    struct sockaddr_in local = dialect_address(40001 + i), remote = dialect_address(8000);
    int64_t t = DIALECT_T0 + (int64_t)i * NS_PER_S;
    struct socket_flow *flow =
        socket_flow_open(rec, (struct sockaddr *)&local, (struct sockaddr *)&remote, true, t, &e);
    assert_non_null(flow);
    snprintf(text, sizeof text,
             "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             x->target, strlen(x->request), x->request);
    assert_int_equal(socket_flow_sent(flow, text, strlen(text), t, &e), TA_OK);
    snprintf(text, sizeof text, "HTTP/1.1 %d X\r\n" JSON "Connection: close\r\n\r\n%s", x->status,
             x->reply);
    if (x->status > 0)
        assert_int_equal(socket_flow_received(flow, text, strlen(text), t + 250 * NS_PER_MS, &e),
                         TA_OK);
    assert_int_equal(socket_flow_closed(flow, false, false, t + 260 * NS_PER_MS, &e), TA_OK);
    assert_int_equal(socket_flow_closed(flow, true, false, t + 261 * NS_PER_MS, &e), TA_OK);
    socket_flow_free(flow);
}

/* A trace of these, read; the caller frees a. */
static void read_turns(struct audit *a, const struct turn *v, unsigned n)
{
    char path[64], *paths[] = {path};
    struct err e;
    size_t used;
    struct writer *w;
    struct writer_origin origin = {.vantage = "socket", .link = LINK_RAW, .snaplen = 262144};
    snprintf(path, sizeof path, "/tmp/tokaudit-test_looks-%ld.pcapng.gz", (long)getpid());
    assert_int_equal(writer_open(&w, path, &origin, &e), TA_OK);
    struct socket_recorder *rec = socket_recorder_new(w);
    for (unsigned i = 0; i < n; i++)
        take_turn(rec, &v[i], i);
    socket_recorder_free(rec);
    assert_int_equal(writer_close(w, &e), TA_OK);
    if (load_trace(a, paths, 1, &used, &e) != TA_OK)
        fail_msg("%s", e.msg);
    unlink(path);
    assert_int_equal(a->requests.n, n);
}

static void expect_turns(struct audit *a, const struct turn *v, unsigned n)
{
    read_turns(a, v, n);
    for (unsigned i = 0; i < n; i++) {
        const struct request *r = &a->requests.v[i];
        const char *name = r->dialect != NULL ? r->dialect->name : "none";
        const char *wanted = v[i].dialect != NULL ? v[i].dialect : "none";
        if (strcmp(name, wanted) != 0 || r->outcome != v[i].outcome)
            fail_msg("%s %s: %s, %s, expected %s, %s", v[i].target, v[i].request, name,
                     outcome_name(r->outcome), wanted, outcome_name(v[i].outcome));
    }
}

#define TURNS(v) (v), (unsigned)(sizeof(v) / sizeof *(v))

/* Each alone in its trace: nothing else tells what is at that path. */
static void the_reply_decides(void **state)
{
    (void)state;
    static const struct turn turns[] = {
        /* what other services answer */
        {"/predict", INPUTS, 200, "[[0.1,0.2]]", NULL, OUTCOME_NOT_LLM},
        {"/embed", INPUTS, 200, "[[0.1,0.2]]", NULL, OUTCOME_NOT_LLM},
        {"/", INPUTS, 200, "[[{\"label\":\"a\",\"score\":0.5}]]", NULL, OUTCOME_NOT_LLM},
        {"/invocations", INPUTS, 200, "{\"label\":\"a\"}", NULL, OUTCOME_NOT_LLM},
        {"/save", CHAT, 200, "{\"saved\":true}", NULL, OUTCOME_NOT_LLM},
        {"/save", CHAT, 200, "saved", NULL, OUTCOME_NOT_LLM},
        {"/save", ASKS, 200, "{\"saved\":true}", NULL, OUTCOME_NOT_LLM},
        {"/save", ASKS, 200, "", NULL, OUTCOME_NOT_LLM},
        {"/api/chat", "{\"messages\":[]}", 200, "0:\"Hi\"\n", NULL, OUTCOME_NOT_LLM},
        {"/api/v1/chat", "{\"message\":\"hi\"}", 200, "{\"response\":\"Hi\"}", NULL,
         OUTCOME_NOT_LLM},
        {"/generate", "{\"text\":\"say it\"}", 200, "{\"audio\":\"UklGRg\"}", NULL,
         OUTCOME_NOT_LLM},
        {"/channels/1/messages", "{\"content\":\"hi\"}", 200, "{\"id\":\"7\"}", NULL,
         OUTCOME_NOT_LLM},
        {"/surveys/1/responses", "{\"answers\":[1]}", 201, "{\"id\":7}", NULL, OUTCOME_NOT_LLM},
        {"/api/chat", ASKS, 200, "data: {\"type\":\"text-delta\",\"delta\":\"Hi\"}\n\n", NULL,
         OUTCOME_NOT_LLM},
        {"/api/chat", ASKS, 200, "0:\"Hi\"\n", NULL, OUTCOME_NOT_LLM},
        {"/generate", INPUTS, 200, "{\"image\":\"iVBOR\"}", NULL, OUTCOME_NOT_LLM},
        /* near misses: the same requests, answered */
        {"/api/chat", CHAT, 200, ANSWER, "openai-chat", OUTCOME_SUCCESS},
        {"/", INPUTS, 200, "[{\"generated_text\":\"ab\"}]", "tgi", OUTCOME_SUCCESS},
        {"/save", CHAT, 200, ANSWER, "openai-chat", OUTCOME_SUCCESS},
        {"/api/chat", "{\"messages\":[]}", 200, ANSWER, "openai-chat", OUTCOME_SUCCESS},
        {"/generate", "{\"text\":\"x\"}", 200,
         "{\"text\":\"ab\",\"meta_info\":{\"finish_reason\":{\"type\":\"stop\"}}}",
         "sglang-generate", OUTCOME_SUCCESS},
        /* what all know to be for something else */
        {"/v1/chat/completions/render", ASKS, 200, "{\"engine_prompts\":[]}", NULL,
         OUTCOME_NOT_LLM},
        {"/pooling", CHAT, 200, "{\"data\":[],\"usage\":{\"prompt_tokens\":3}}", NULL,
         OUTCOME_NOT_LLM},
        {"/utils/token_counter", CHAT, 500, "{\"detail\":\"x\"}", NULL, OUTCOME_NOT_LLM},
        {"/api/chat/completed", CHAT, 200, "{}", NULL, OUTCOME_NOT_LLM},
        {"/v2/chat", ASKS, 429, "{\"message\":\"slow down\"}", NULL, OUTCOME_NOT_LLM},
        {"/v1/threads/t/messages", "{\"role\":\"user\",\"content\":\"x\"}", 400, "{}", NULL,
         OUTCOME_NOT_LLM},
        {"/v1/responses/r/cancel", "{}", 200,
         "{\"object\":\"response\",\"status\":\"cancelled\",\"output\":[]}", NULL, OUTCOME_NOT_LLM},
        {"/v1/chat/completions/chatcmpl-1", "{\"metadata\":{}}", 200, ANSWER, NULL,
         OUTCOME_NOT_LLM},
    };
    for (unsigned i = 0; i < sizeof turns / sizeof *turns; i++) {
        struct audit a = {0};
        expect_turns(&a, &turns[i], 1);
        findings_find(&a, &audit_defaults);
        for (size_t k = 0; turns[i].dialect == NULL && k < a.findings.n; k++) {
            if (strncmp(a.findings.v[k].id, "requests.", 9) == 0)
                fail_msg("%s: %s", turns[i].target, a.findings.v[k].id);
        }
        audit_free(&a);
    }
}

/* Nobody is accused of failing what was none of his; who is asked for text and gives none is. */
static void failures_at_known_paths_stay(void **state)
{
    (void)state;
    static const struct turn alone[] = {
        {"/v1/chat/completions", CHAT, 500, "oops", "openai-chat", OUTCOME_HTTP_ERROR},
        {"/v1/chat/completions", CHAT, 200, "{\"x\":1}", "openai-chat", OUTCOME_NO_FINISH},
        {"/v1/chat/completions", CHAT, 0, "", "openai-chat", OUTCOME_NO_RESPONSE},
        {"/generate", INPUTS, 424, "{\"error\":\"x\"}", "tgi", OUTCOME_HTTP_ERROR},
        {"/api/chat", CHAT, 500, "{\"error\":\"x\"}", "ollama-chat", OUTCOME_HTTP_ERROR},
        {"/api/chat", CHAT, 200, "{\"error\":\"x\"}", "ollama-chat", OUTCOME_ERROR_EVENT},
        {"/api/chat", CHAT, 0, "", "ollama-chat", OUTCOME_NO_RESPONSE},
        {"/v1/messages", CHAT, 529, "{}", "anthropic-messages", OUTCOME_HTTP_ERROR},
        /* a guessed path: only where the request is sure to ask for text */
        {"/ask", ASKS, 503, "busy", "openai-chat", OUTCOME_HTTP_ERROR},
        {"/ask", ASKS, 0, "", "openai-chat", OUTCOME_NO_RESPONSE},
        {"/ask", CHAT, 503, "busy", NULL, OUTCOME_NOT_LLM},
        {"/ask", CHAT, 0, "", NULL, OUTCOME_NOT_LLM},
        {"/predict", INPUTS, 500, "{\"error\":\"x\"}", NULL, OUTCOME_NOT_LLM},
        {"/predict", "{\"inputs\":\"x\",\"parameters\":{\"max_new_tokens\":9}}", 500,
         "{\"error\":\"x\"}", "tgi", OUTCOME_HTTP_ERROR},
    };
    for (unsigned i = 0; i < sizeof alone / sizeof *alone; i++) {
        struct audit a = {0};
        expect_turns(&a, &alone[i], 1);
        audit_free(&a);
    }
}

/* What others got at the same path tells what it is for. */
static void a_path_is_known_by_its_answers(void **state)
{
    (void)state;
    static const struct turn turns[] = {
        {"/ask", CHAT, 503, "busy", "openai-chat", OUTCOME_HTTP_ERROR},
        {"/ask", CHAT, 200, "{\"queued\":true}", "openai-chat", OUTCOME_NO_FINISH},
        {"/ask?k=1", CHAT, 200, ANSWER, "openai-chat", OUTCOME_SUCCESS},
        {"/ask?k=2", CHAT, 0, "", "openai-chat", OUTCOME_NO_RESPONSE},
        {"/asks", CHAT, 503, "busy", NULL, OUTCOME_NOT_LLM}, /* near miss: another path */
        {"/embed", INPUTS, 200, "[[0.1]]", NULL, OUTCOME_NOT_LLM},
    };
    struct audit a = {0};
    expect_turns(&a, TURNS(turns));
    assert_non_null(a.traces.v[0].server);
    audit_free(&a);
}

/* A preload is no generation: not a request, not a failure, and told as what it is. */
static void models_are_loaded_and_unloaded(void **state)
{
    (void)state;
    static const struct turn turns[] = {
        {"/api/generate", "{\"model\":\"m\"}", 200,
         LINE("\"response\":\"\",\"done\":true,\"done_reason\":\"load\""), NULL, OUTCOME_NOT_LLM},
        {"/api/chat", "{\"model\":\"m\",\"messages\":[]}", 200,
         LINE("\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done_reason\":\"load\","
              "\"done\":true"),
         NULL, OUTCOME_NOT_LLM},
        {"/api/generate", "{\"model\":\"m\",\"prompt\":\"\"}", 200,
         LINE("\"response\":\"\",\"done\":true"), NULL, OUTCOME_NOT_LLM}, /* an older one */
        {"/api/generate", "{\"model\":\"m\",\"keep_alive\":0}", 200,
         LINE("\"response\":\"\",\"done\":true,\"done_reason\":\"unload\""), NULL, OUTCOME_NOT_LLM},
        /* near misses: it was asked, and has nothing to say */
        {"/api/generate", "{\"model\":\"m\",\"prompt\":\"x\"}", 200,
         LINE("\"response\":\"\",\"done\":true,\"done_reason\":\"stop\",\"eval_count\":1"),
         "ollama-generate", OUTCOME_SUCCESS},
        {"/api/generate", "{\"model\":\"m\",\"prompt\":\"x\"}", 200,
         LINE("\"response\":\"\",\"done\":true"), "ollama-generate", OUTCOME_SUCCESS},
        {"/api/generate", "{\"model\":\"m\",\"prompt\":\"x\"}", 200,
         LINE("\"response\":\"load\",\"done\":false") LINE("\"response\":\"\",\"done\":true"),
         "ollama-generate", OUTCOME_SUCCESS},
    };
    struct audit a = {0};
    expect_turns(&a, TURNS(turns));
    findings_find(&a, &audit_defaults);
    const struct finding *found = NULL;
    for (size_t i = 0; i < a.findings.n; i++) {
        if (strcmp(a.findings.v[i].id, "requests.loads") == 0)
            found = &a.findings.v[i];
        assert_string_not_equal(a.findings.v[i].id, "requests.failed");
    }
    assert_non_null(found);
    assert_non_null(strstr(found->detail, "4 requests had no prompt: 3 loaded a model and 1 "
                                          "unloaded one; the longest took"));
    assert_true(found->evidence.n > 0);
    audit_free(&a);
    expect_turns(&a, &turns[4], 3);
    findings_find(&a, &audit_defaults);
    for (size_t i = 0; i < a.findings.n; i++)
        assert_string_not_equal(a.findings.v[i].id, "requests.loads");
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reply_decides),
        cmocka_unit_test(failures_at_known_paths_stay),
        cmocka_unit_test(a_path_is_known_by_its_answers),
        cmocka_unit_test(models_are_loaded_and_unloaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
