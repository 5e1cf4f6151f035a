/* Fuzzes what replay and serve read: the first byte chooses a plan (JSON lines), a workload spec or
 * a server's profile. What a plan or spec gives is written as a plan, and read again it is the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "replay/modes.h"
#include "replay/profile.h"
#include "replay/workload.h"
#include "tests/fuzz/stdin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_REQUESTS = 512, MOST_TEXT = 1 << 20 };

static void write_lines(const struct plan *p, struct buf *out)
{
    buf_clear(out);
    plan_write_head(p, out);
    for (size_t i = 0; i < p->requests.n; i++)
        plan_write_line(p, i, out);
}

static void check_plan(const struct plan *p)
{
    struct buf lines, again;
    struct plan back = {0};
    struct err e;
    buf_init(&lines, 256u << 20);
    buf_init(&again, 256u << 20);
    write_lines(p, &lines);
    struct slice text = {(const char *)lines.p, lines.n};
    if (!plan_claims(text) || plan_read(&back, text, "plan", &e) != TA_OK) {
        fprintf(stderr, "a plan that was written is refused: %s\n", e.msg);
        abort();
    }
    write_lines(&back, &again);
    if (back.requests.n != p->requests.n || again.n != lines.n ||
        memcmp(again.p, lines.p, lines.n) != 0)
        abort();
    plan_free(&back);
    buf_done(&lines);
    buf_done(&again);
}

/* In another mode it is a plan as well. */
static void change_mode(struct plan *p, unsigned how)
{
    struct err e = {0};
    struct modes_options o = {.kind = (enum modes_kind)(how % 5),
                              .rate = 3,
                              .poisson = how & 64,
                              .concurrency = 2,
                              .speed = how & 32 ? 0.3 : 1,
                              .repeat = how & 64 ? 2 : 1,
                              .warmup = how & 32 ? 2 : -1,
                              .requests = how & 128 ? 3 : 0};
    int rc = modes_apply(p, &o, "plan", &e);
    if (rc == TA_OK)
        check_plan(p);
    else if (e.msg[0] == '\0')
        abort();
}

static void fuzz_plan(unsigned how, struct slice text)
{
    struct plan p = {0};
    struct err e = {0};
    plan_claims(text);
    int rc = plan_read(&p, text, "plan", &e);
    if (rc == TA_OK) {
        check_plan(&p);
        change_mode(&p, how >> 2);
    } else if (e.msg[0] == '\0') {
        abort();
    }
    plan_free(&p);
}

static double number(const struct json *v, const char *name)
{
    double n = 1;
    json_value_number(json_get(v, name), &n);
    return n;
}

/* A spec may well ask for millions of requests; here it may not. */
static bool is_small(const struct json *v)
{
    double n = (1 + number(v, "warmup")) * (double)json_count(json_get(v, "prompts")) *
               number(v, "concurrency");
    return n <= MOST_REQUESTS;
}

static void fuzz_spec(unsigned how, struct slice text)
{
    struct workload_options o = {
        .scale = 1e-4,
        .max_tokens = how & 4 ? 7 : -1,
        .repeats = 1,
        .model = "m",
        .path = how & 8 ? "/v1/completions?x" : "/v1/chat/completions",
    };
    struct plan p = {0};
    struct err e = {0};
    struct json *spec = json_parse(text.p, text.n, &e);
    if (spec != NULL && is_small(spec)) {
        int rc = workload_expand(&p, spec, &o, "spec", &e);
        if (rc == TA_OK)
            check_plan(&p);
        else if (e.msg[0] == '\0')
            abort();
    }
    json_free(spec);
    plan_free(&p);
}

static void fuzz_profile(struct slice text)
{
    struct profile p = {0};
    struct err e = {0};
    stdin_give(text.p, text.n);
    int rc = profile_read("/dev/stdin", &p, &e);
    if (rc == TA_OK &&
        (p.dialects[0] == NULL || p.max_batch < 1 || !(p.decode_tps > 0) || !(p.prefill_tps > 0)))
        abort();
    if (rc != TA_OK && e.msg[0] == '\0')
        abort();
    profile_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct slice text = {(const char *)data + 1, size - 1};
    switch (data[0] & 3) {
    case 0:
        fuzz_plan(data[0], text);
        break;
    case 1:
        fuzz_spec(data[0], text);
        break;
    case 2:
        fuzz_profile(text);
        break;
    }
    return 0;
}
