/* Fuzzes the workload files of other tools: the first byte chooses a format (or none: it is told by
 * content) and the options. What is read gives a plan that can be written and read again; and
 * written for another tool and read back, it has as many requests with the same lengths. */
#include <stdlib.h>
#include <string.h>

#include "replay/export.h"
#include "replay/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 16, MOST_WORDS = 1 << 16 };

static const char *const formats[] = {
    NULL,    "mooncake", "timed_trace", "trace_synthetic", "weka",        "bailian",     "burstgpt",
    "azure", "sharegpt", "single_turn", "multi_turn",      "raw_payload", "inputs_json", "custom",
    NULL,    NULL};
static const char *const units[] = {NULL, "ms", "us", "ns"};

/* As a file of its own size, so that one byte too many is caught. */
static int read_text(struct slice text, const char *format, const struct formats_options *o,
                     struct plan *out)
{
    struct formats *s = NULL;
    struct err e = {0};
    struct buf says;
    buf_init(&says, 1 << 20);
    int rc = formats_open(&s, NULL, text, "f", format, &e);
    if (rc == TA_OK && formats_kind(s) != FORMATS_FOREIGN)
        rc = TA_STOP;
    if (rc == TA_OK)
        rc = formats_read(s, out, o, &says, &e);
    if (rc < 0 && e.msg[0] == '\0')
        abort();
    formats_close(s);
    buf_done(&says);
    return rc;
}

static void check_plan(const struct plan *p)
{
    struct buf lines;
    struct plan back = {0};
    struct err e;
    buf_init(&lines, 256u << 20);
    for (size_t i = 0; i < p->requests.n; i++)
        plan_write_line(p, i, &lines);
    struct slice text = {(const char *)lines.p, lines.n};
    if (plan_read(&back, text, "plan", &e) != TA_OK) {
        fprintf(stderr, "a plan that was written is refused: %s\n", e.msg);
        abort();
    }
    if (back.requests.n != p->requests.n)
        abort();
    for (size_t i = 0; i < p->requests.n; i++) {
        if (strcmp(back.requests.v[i].body_sha256, p->requests.v[i].body_sha256) != 0)
            abort();
    }
    plan_free(&back);
    buf_done(&lines);
}

static int64_t sum(const struct plan *p)
{
    int64_t n = 0;
    for (size_t i = 0; i < p->requests.n; i++)
        n += p->requests.v[i].expect_prompt_tokens;
    return n;
}

static void check_exports(const struct plan *p)
{
    static const char *const names[] = {"mooncake", "raw_payload", "burstgpt", "azure"};
    const struct formats_options o = {
        .max_tokens = -1, .model = "m", .path = "/", .lengths_only = true};
    for (int f = EXPORT_MOONCAKE; f <= EXPORT_AZURE; f++) {
        char *text = NULL;
        size_t n = 0;
        struct err e = {0};
        struct buf says;
        struct plan back = {0};
        FILE *to = open_memstream(&text, &n);
        buf_init(&says, 1 << 20);
        int rc = export_write(p, (enum export_format)f, to, &says, &e);
        fclose(to);
        if (rc == TA_OK) {
            if (read_text((struct slice){text, n}, names[f], &o, &back) != TA_OK ||
                back.requests.n == 0 || back.requests.n > p->requests.n)
                abort();
            if (f != EXPORT_AIPERF && back.requests.n == p->requests.n && sum(&back) != sum(p))
                abort();
        } else if (e.msg[0] == '\0') {
            abort();
        }
        plan_free(&back);
        free(text);
        buf_done(&says);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > MOST_BYTES)
        return 0;
    struct slice text = {(const char *)data + 1, size - 1};
    const char *format = formats[data[0] & 15];
    struct formats_options o = {.time_unit = units[data[0] >> 5 & 3],
                                .barrier_ties = (data[0] & 16) != 0,
                                .max_tokens = -1,
                                .model = "m",
                                .path = (data[0] & 128) != 0 ? "/v1/completions" : "/",
                                .lengths_only = true};
    struct plan p = {0};
    int rc = read_text(text, format, &o, &p);
    bool small = rc == TA_OK && sum(&p) < MOST_WORDS;
    plan_free(&p);
    if (!small)
        return 0;
    o.lengths_only = false;
    if (read_text(text, format, &o, &p) != TA_OK)
        abort();
    check_plan(&p);
    check_exports(&p);
    plan_free(&p);
    return 0;
}
