/* Fuzzes the grammar of claims and their verdicts over one small trace: a claim a line. A claim
 * that is taken has a name, a finite interval around its number, and a verdict with its reason. */
#include <math.h>

#include "tests/fuzz/audit.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS = 12, MOST_CLAIMS = 32 };

static void say(struct script *s, uint8_t what, uint8_t units, const char *text)
{
    script_step(s, what, units, slice_of(text));
}

/* Two requests together and one alone, with tokens stated. */
static void make_trace(struct script *s)
{
    static const char request[] = "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 44\r\n\r\n"
                                  "{\"model\":\"m\",\"stream\":true,\"messages\":[     ]}";
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    script_begin(s);
    for (uint8_t conn = 0; conn < 24; conn = (uint8_t)(conn + 8)) {
        say(s, conn | SCRIPT_REQUEST | SCRIPT_SLOW, conn == 16 ? 60 : 0, request);
        say(s, conn | SCRIPT_REPLY | SCRIPT_SLOW, 5, head);
        for (int i = 0; i < EVENTS; i++)
            say(s, conn | SCRIPT_EVENT | SCRIPT_SLOW, 2,
                "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}");
        say(s, conn | SCRIPT_EVENT, 9,
            "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],"
            "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":12}}");
        say(s, conn | SCRIPT_REPLY, 0, "0\r\n\r\n");
    }
}

static void add(struct audit *a, struct slice line)
{
    struct err e = {0};
    char *text = mem_strndup(line.p, line.n);
    size_t before = a->claims.n;
    int rc = claims_add(a, text, &e);
    free(text);
    if (rc != TA_OK) {
        if (rc != TA_EUSAGE || e.msg[0] == '\0' || a->claims.n != before)
            abort();
        return;
    }
    const struct claim *c = &a->claims.v[before];
    if (a->claims.n != before + 1 || claim_name_find(c->metric) == NULL || !isfinite(c->claimed) ||
        !(c->claimed_interval.lo <= c->claimed && c->claimed <= c->claimed_interval.hi))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct script trace;
    struct audit a = {0};
    if (trace.file.n == 0)
        make_trace(&trace);
    for (size_t i = 0; size > 0 && i < MOST_CLAIMS; i++) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size;
        add(&a, (struct slice){(const char *)data, n});
        n += end != NULL;
        data += n;
        size -= n;
    }
    if (a.claims.n > 0) {
        if (!audit_load(&a, trace.file.p, trace.file.n) || a.requests.n != 3)
            abort();
        audit_judge(&a, &audit_defaults);
        for (size_t i = 0; i < a.claims.n; i++) {
            if (a.claims.v[i].reason == NULL || a.claims.v[i].reason[0] == '\0')
                abort();
        }
        audit_check_text(&a);
        audit_check_json(&a);
    }
    audit_free(&a);
    return 0;
}
