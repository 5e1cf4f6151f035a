/* Of streamed replies, the events that carry text: not the role, the usage, a ping, an end mark;
 * not what a document says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/text_events.h"

struct reader {
    const struct plan_request *request;
    struct text_events *text;
    uint64_t total;
};

static int on_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct reader *r = ctx;
    r->text = text_events_new(h, r->request, &r->total);
    *body = text_events_input(r->text);
    return TA_OK;
}

static int on_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    (void)ctx, (void)why, (void)complete, (void)last;
    return TA_OK;
}

/* In pieces of every size. */
static void expect(uint64_t n, const char *path, const char *body, const char *type,
                   const char *reply)
{
    struct plan_request request = {.method = "POST", .path = path, .body = slice_of(body)};
    char head[256];
    int head_n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n", type);
    for (size_t step = 1; step < strlen(reply) + 1; step += 1 + step / 4) {
        struct reader r = {.request = &request};
        struct http *http = http_new(HTTP_RESPONSES, (struct http_sink){&r, on_head, on_done},
                                     (struct anomaly_sink){0});
        struct byte_sink in = http_input(http);
        struct mark at = {0};
        in.data(in.ctx, (struct span){(const uint8_t *)head, (size_t)head_n, at});
        for (size_t i = 0; i < strlen(reply); i += step) {
            size_t left = strlen(reply) - i;
            in.data(in.ctx,
                    (struct span){(const uint8_t *)reply + i, left < step ? left : step, at});
        }
        in.end(in.ctx, END_FIN, at);
        text_events_free(r.text);
        http_free(http);
        if (r.total != n)
            fail_msg("%s, pieces of %zu: %llu, expected %llu", path, step,
                     (unsigned long long)r.total, (unsigned long long)n);
    }
}

#define CHUNK(delta)                                                                               \
    "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":" delta       \
    "}]}\n\n"
#define CHAT                                                                                       \
    ": heartbeat\n\n" CHUNK("{\"role\":\"assistant\",\"content\":\"\"}")                           \
        CHUNK("{\"reasoning_content\":\"hm\"}") CHUNK("{\"content\":\"a\"}") CHUNK(                \
            "{\"role\":\"assistant\",\"content\":\"b c\"}") "data: "                               \
                                                            "{\"object\":\"chat.completion."       \
                                                            "chunk\",\"choices\":[],\"usage\":"    \
                                                            "{\"prompt_tokens\":1,\"completion_"   \
                                                            "tokens\":9}}\n\ndata: [DONE]\n\n"

static void events_with_text(void **state)
{
    (void)state;
    expect(3, "/v1/chat/completions", "{\"messages\":[]}", "text/event-stream", CHAT);
    expect(3, "/unheard/of", "", "text/event-stream", CHAT); /* the events tell */
    expect(
        2, "/api/chat", "{\"messages\":[]}", "application/x-ndjson",
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"a\"},\"done\":false}\n"
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"b\"},\"done\":false}\n"
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,"
        "\"eval_count\":9}\n");
    expect(2, "/api/generate", "{}", "application/json",
           "{\"response\":\"a\",\"done\":false}\n{\"response\":\"b\",\"done\":true}\n");
    expect(3, "/v1/chat/completions", "{\"messages\":[]}", "application/json", CHAT);
    expect(
        1, "/v1/messages", "{}", "text/event-stream; charset=utf-8",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":"
        "{\"input_tokens\":3,\"output_tokens\":1}}}\n\n"
        "event: ping\ndata: {\"type\":\"ping\"}\n\n"
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
        "{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

static void none(void **state)
{
    (void)state;
    expect(
        0, "/v1/chat/completions", "{}", "application/json",
        "{\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"all of it\"}}]}");
    expect(
        0, "/v1/chat/completions", "{}", "text/event-stream",
        "{\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"all of it\"}}]}");
    expect(0, "/v1/chat/completions", "{}", "text/event-stream", "data: not JSON\n\ndata: {\n\n");
    expect(0, "/x", "{}", "text/event-stream", "data: {\"content\"");
    expect(0, "/x", "{}", "text/html", "<p>data: </p>\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_with_text),
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
