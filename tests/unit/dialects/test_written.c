/* What a dialect writes, the same dialect reads back through the SSE or NDJSON stage in every
 * split: the same texts in the same order, one delta a piece, usage, finish, end mark, keep-alives;
 * and whole documents and errors likewise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/feed.h"
#include "tests/unit/dialects/deltas.h"
#include "traces/base/json.h"
#include "traces/ndjson.h"
#include "traces/sse.h"

enum { PARTS = 16, OUT_BYTES = 1 << 20 };

/* What a dialect can tell apart. */
struct ability {
    const struct dialect *d;
    bool reasoning, tools, refusal;
    bool tool_in_one;          /* a call goes out whole */
    bool cached, thought;      /* in its usage */
    const char *stop, *length; /* its words */
    unsigned running;          /* usages a piece states */
};

static const struct ability abilities[] = {
    {&dialect_openai_chat, true, true, true, false, true, true, "stop", "length", 0},
    {&dialect_openai_completions, false, false, false, false, true, true, "stop", "length", 0},
    {&dialect_openai_responses, true, true, true, false, true, true, "completed",
     "max_output_tokens", 0},
    {&dialect_anthropic_messages, true, true, false, false, true, false, "end_turn", "max_tokens",
     0},
    {&dialect_ollama_chat, true, true, false, true, false, false, "stop", "length", 0},
    {&dialect_ollama_generate, true, false, false, false, false, false, "stop", "length", 0},
    {&dialect_llama_completion, false, false, false, false, false, false, "eos", "limit", 1},
    {&dialect_tgi, false, false, false, false, false, false, "eos_token", "length", 0},
    {&dialect_lmstudio_chat, true, true, false, true, false, true, "chat.end", "chat.end", 0},
    {&dialect_sglang_generate, false, false, false, false, true, false, "stop", "length", 1},
};
enum { ABILITIES = sizeof abilities / sizeof *abilities };

static enum delta_kind kind_in(const struct ability *a, enum delta_kind kind)
{
    bool known = (kind == DELTA_REASONING && a->reasoning) || (kind == DELTA_TOOL && a->tools) ||
                 (kind == DELTA_REFUSAL && a->refusal);
    return known ? kind : DELTA_TEXT;
}

/* --- what was read ------------------------------------------------------------------------ */

/* Text of blocks: a letter for the kind, then all of it. */
struct account {
    const struct ability *a;
    struct buf blocks, scratch, so_far;
    enum delta_kind kind;
    bool any;
    size_t texts, finishes, dones, pings, errors;
    struct usage usage;
    char finish[64], error[256];
};

static void account_init(struct account *c, const struct ability *a)
{
    *c = (struct account){.a = a, .usage = {-1, -1, -1, -1}};
    buf_init(&c->blocks, OUT_BYTES);
    buf_init(&c->scratch, OUT_BYTES);
    buf_init(&c->so_far, OUT_BYTES);
}

static void account_done(struct account *c)
{
    buf_done(&c->blocks);
    buf_done(&c->scratch);
    buf_done(&c->so_far);
}

static void add_text(struct account *c, enum delta_kind kind, struct slice text)
{
    static const char letters[] = {
        [DELTA_TEXT] = 'T', [DELTA_REASONING] = 'H', [DELTA_TOOL] = 'C', [DELTA_REFUSAL] = 'N'};
    if (text.n == 0)
        return;
    if (!c->any || c->kind != kind)
        buf_printf(&c->blocks, "\n%c:", letters[kind]);
    c->any = true;
    c->kind = kind;
    c->texts++;
    buf_put(&c->blocks, text.p, text.n);
}

static void copy(char *to, size_t size, struct slice text)
{
    snprintf(to, size, "%.*s", (int)text.n, text.p);
}

static int on_delta(void *ctx, const struct delta *d)
{
    struct account *c = ctx;
    struct slice text = d->text;
    if (d->so_far) {
        assert_true(text.n >= c->so_far.n);
        if (c->so_far.n > 0)
            assert_memory_equal(text.p, c->so_far.p, c->so_far.n);
        text = (struct slice){text.p + c->so_far.n, text.n - c->so_far.n};
        buf_put(&c->so_far, text.p, text.n);
    }
    if (d->kind >= DELTA_TEXT && d->kind <= DELTA_REFUSAL)
        add_text(c, d->kind, text);
    if (d->kind == DELTA_USAGE && d->sort != USAGE_START)
        c->usage = d->usage;
    if (d->kind == DELTA_FINISH) {
        c->finishes++;
        copy(c->finish, sizeof c->finish, d->text);
    }
    if (d->kind == DELTA_ERROR) {
        c->errors++;
        copy(c->error, sizeof c->error, d->text);
    }
    c->dones += d->kind == DELTA_DONE;
    c->pings += d->kind == DELTA_PING;
    return TA_OK;
}

static int on_event(void *ctx, const struct event *ev)
{
    struct account *c = ctx;
    assert_int_not_equal(ev->kind, EVENT_TRUNCATED);
    if (ev->kind == EVENT_COMMENT) {
        c->pings++;
        return TA_OK;
    }
    return c->a->d->event(ev, &c->scratch, (struct delta_sink){c, on_delta});
}

static void on_anomaly(void *ctx, const struct anomaly *bad)
{
    (void)ctx;
    fail_msg("%s", bad->id);
}

static void put_account(const struct account *c, struct buf *log)
{
    if (c->blocks.n > 0)
        buf_put(log, c->blocks.p, c->blocks.n);
    buf_printf(log, "\n%zu texts, finish %zu %s, %zu done, %zu kept alive, %zu errors %s\n",
               c->texts, c->finishes, c->finish, c->dones, c->pings, c->errors, c->error);
    buf_printf(log, "usage %d %d %d %d\n", (int)c->usage.prompt, (int)c->usage.completion,
               (int)c->usage.cached, (int)c->usage.reasoning);
}

static void read_back(void *ctx, const struct feed *f, struct buf *log)
{
    struct account c;
    account_init(&c, ctx);
    struct event_sink events = {&c, on_event, NULL};
    struct anomaly_sink bad = {&c, on_anomaly};
    if (strcmp(c.a->d->stream_type, "application/x-ndjson") == 0) {
        struct ndjson *j = ndjson_new(events, bad);
        assert_int_equal(feed_go(f, ndjson_input(j)), TA_OK);
        ndjson_free(j);
    } else {
        struct sse *s = sse_new(events, bad);
        assert_int_equal(feed_go(f, sse_input(s)), TA_OK);
        sse_free(s);
    }
    put_account(&c, log);
    account_done(&c);
}

/* --- what was written --------------------------------------------------------------------- */

static uint32_t draw(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

/* Blocks of several pieces; a call is its name and JSON in pieces. */
static size_t make_parts(uint32_t *seed, struct dialect_part *parts, size_t max)
{
    static const char *const texts[] = {
        "Hello",    " world",  "\n\n",     "\"quoted\"", "\\",   "data: [DONE]", "\xF0\x9F\x98\x80",
        "\xC3\xA9", "{\"a\":", "\x01\x7F", " \t ",       "</s>",
    };
    static const char *const call[] = {"get_weather", "{\"city\":\"", "K\xC3\xB6ln \\\"x\\\"",
                                       "\",\"n\":", "12}"};
    static const enum delta_kind kinds[] = {DELTA_TEXT, DELTA_REASONING, DELTA_REFUSAL};
    size_t n = 0;
    bool called = false; /* the last block is a call */
    while (n + 5 <= max) {
        if (!called && draw(seed, 4) == 0) {
            for (size_t i = 0; i < 5; i++)
                parts[n++] = (struct dialect_part){DELTA_TOOL, slice_of(call[i])};
            called = true;
            continue;
        }
        enum delta_kind kind = kinds[draw(seed, 3)];
        for (uint32_t k = 1 + draw(seed, 3); k > 0; k--)
            parts[n++] = (struct dialect_part){
                kind, slice_of(texts[draw(seed, sizeof texts / sizeof *texts)])};
        called = false;
    }
    return n;
}

static struct dialect_reply reply_of(uint32_t seed)
{
    return (struct dialect_reply){.id = "id-1",
                                  .model = "m \"q\"",
                                  .fingerprint = seed % 2 != 0 ? "fp" : NULL,
                                  .created_s = 1790000000,
                                  .usage = {40, 17, seed % 3 != 0 ? 8 : -1, seed % 5 != 0 ? 3 : -1},
                                  .timings = {32, 64, 17, 170, 100, NAN, NAN},
                                  .finish = seed % 2 != 0 ? "stop" : "length",
                                  .usage_with_finish = seed % 7 == 0,
                                  .role_in_every = seed % 4 == 0};
}

/* The parts as the dialect can tell them, and what it says at the end. */
static void account_for(struct account *c, const struct dialect_reply *r,
                        const struct dialect_part *parts, size_t n, size_t pings, size_t dones)
{
    const struct ability *a = c->a;
    bool stop = strcmp(r->finish, "stop") == 0;
    for (size_t i = 0; i < n; i++)
        add_text(c, kind_in(a, parts[i].kind), parts[i].text);
    if (a->tool_in_one) { /* name and arguments */
        c->texts = 0;
        for (size_t i = 0; i < n; i++) {
            bool first = i == 0 || parts[i - 1].kind != DELTA_TOOL;
            bool second = i >= 1 && parts[i - 1].kind == DELTA_TOOL &&
                          (i == 1 || parts[i - 2].kind != DELTA_TOOL);
            c->texts += parts[i].kind != DELTA_TOOL || first || second;
        }
    }
    c->finishes = 1;
    copy(c->finish, sizeof c->finish, slice_of(stop ? a->stop : a->length));
    c->pings = pings;
    c->dones = dones;
    c->usage =
        (struct usage){r->usage.prompt, r->usage.completion, a->cached ? r->usage.cached : -1,
                       a->thought ? r->usage.reasoning : -1};
    if (a->d == &dialect_llama_completion) /* timings.cache_n is always there */
        c->usage.cached = r->usage.cached >= 0 ? r->usage.cached : 0;
}

/* Does the event that finishes also end, or one behind it? Those without end mark: 0. */
static size_t dones_of(const struct dialect *d)
{
    return d == &dialect_openai_chat || d == &dialect_openai_completions ||
                   d == &dialect_anthropic_messages || d == &dialect_sglang_generate
               ? d->put_done != NULL
               : d->put_done == NULL || d == &dialect_openai_responses;
}

static size_t write_stream(struct buf *out, const struct dialect *d, const struct dialect_reply *r,
                           const struct dialect_part *parts, size_t n)
{
    struct dialect_writing w;
    size_t pings = d == &dialect_anthropic_messages; /* with its start */
    d->put_begin(out, r, &w);
    for (size_t i = 0; i < n; i++) {
        if (i % 5 == 4 && d->put_ping != NULL) {
            d->put_ping(out);
            pings++;
        }
        d->put_piece(out, r, &w, parts[i]);
    }
    d->put_finish(out, r, &w);
    if (d->put_usage != NULL && !r->usage_with_finish)
        d->put_usage(out, r, &w);
    if (d->put_done != NULL)
        d->put_done(out, r, &w);
    dialect_writing_done(&w);
    return pings;
}

static void check_stream(const struct ability *a, uint32_t seed, size_t max, bool every_split)
{
    struct dialect_part parts[PARTS];
    struct dialect_reply r = reply_of(seed);
    struct buf out, want;
    struct account expected;
    buf_init(&out, OUT_BYTES);
    buf_init(&want, OUT_BYTES);
    account_init(&expected, a);
    size_t n = make_parts(&seed, parts, max);
    size_t pings = write_stream(&out, a->d, &r, parts, n);
    account_for(&expected, &r, parts, n, pings, dones_of(a->d));
    put_account(&expected, &want);
    struct feed f = feed_of((const char *)out.p, out.n);
    if (every_split) {
        feed_every_split(f, read_back, (void *)(uintptr_t)a, buf_text(&want));
    } else {
        feed_try(&f, read_back, (void *)(uintptr_t)a, buf_text(&want));
        f.single = true;
        feed_try(&f, read_back, (void *)(uintptr_t)a, buf_text(&want));
    }
    account_done(&expected);
    buf_done(&out);
    buf_done(&want);
}

static void test_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < ABILITIES; i++) {
        for (uint32_t seed = 0; seed < 100; seed++)
            check_stream(&abilities[i], seed, 5 + seed % (PARTS - 4), false);
    }
}

static void test_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < ABILITIES; i++) {
        check_stream(&abilities[i], 3, 5, true);
        check_stream(&abilities[i], 10, 8, true);
    }
}

/* --- documents ---------------------------------------------------------------------------- */

static void read_document(struct account *c, const struct buf *body)
{
    struct err e;
    struct json *tree = json_parse((const char *)body->p, body->n, &e);
    assert_non_null(tree);
    json_free(tree);
    assert_int_equal(c->a->d->document((struct slice){(const char *)body->p, body->n}, &c->scratch,
                                       (struct delta_sink){c, on_delta}),
                     TA_OK);
}

static void check_document(const struct ability *a, uint32_t seed)
{
    struct dialect_part all[] = {
        {DELTA_REASONING, slice_of("hm\n")},  {DELTA_REASONING, slice_of("so")},
        {DELTA_TEXT, slice_of("Hi \"you\"")}, {DELTA_TOOL, slice_of("f")},
        {DELTA_TOOL, slice_of("{\"a\":")},    {DELTA_TOOL, slice_of("[1,2]}")}};
    struct dialect_part parts[6];
    struct dialect_reply r = reply_of(seed);
    struct buf body, found, want;
    struct account c, expected;
    size_t n = 0;
    for (size_t i = 0; i < 6; i++) {
        if ((seed >> (all[i].kind - DELTA_TEXT) & 1) != 0)
            parts[n++] = all[i];
    }
    buf_init(&body, OUT_BYTES);
    buf_init(&found, OUT_BYTES);
    buf_init(&want, OUT_BYTES);
    account_init(&c, a);
    account_init(&expected, a);
    a->d->put_document(&body, &r, parts, n);
    read_document(&c, &body);
    account_for(&expected, &r, parts, n, 0, 0);
    expected.texts = c.texts; /* a document has each block whole */
    expected.dones = c.dones;
    if (a->d == &dialect_tgi) /* its details have no length of the input */
        expected.usage.prompt = -1;
    put_account(&c, &found);
    put_account(&expected, &want);
    if (strcmp(buf_text(&found), buf_text(&want)) != 0)
        fail_msg("%s: %s\n--- found%s\n--- expected%s", a->d->name, buf_text(&body),
                 buf_text(&found), buf_text(&want));
    account_done(&c);
    account_done(&expected);
    buf_done(&body);
    buf_done(&found);
    buf_done(&want);
}

static void test_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < ABILITIES; i++) {
        for (uint32_t seed = 0; seed < 64; seed++)
            check_document(&abilities[i], seed);
    }
}

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ABILITIES; i++) {
        const struct dialect *d = abilities[i].d;
        struct dialect_reply r = reply_of(1);
        struct dialect_writing w;
        struct buf out, log;
        struct account c;
        buf_init(&out, OUT_BYTES);
        buf_init(&log, OUT_BYTES);
        account_init(&c, &abilities[i]);
        d->put_error(&out, 400, "no \"such\" thing", "invalid_request_error");
        read_document(&c, &out);
        assert_int_equal(c.errors, 1);
        assert_string_equal(c.error, "no \"such\" thing");
        buf_clear(&out);
        d->put_begin(&out, &r, &w);
        d->put_piece(&out, &r, &w, (struct dialect_part){DELTA_TEXT, slice_of("Hi")});
        d->put_fault(&out, &r, &w, "out of \"memory\"", "server_error");
        dialect_writing_done(&w);
        struct feed f = feed_of((const char *)out.p, out.n);
        read_back((void *)(uintptr_t)&abilities[i], &f, &log);
        assert_non_null(strstr(buf_text(&log), "1 errors out of \"memory\""));
        assert_non_null(strstr(buf_text(&log), "finish 0"));
        account_done(&c);
        buf_done(&out);
        buf_done(&log);
    }
}

static void test_models(void **state)
{
    (void)state;
    static const char *const models[] = {"first \"model\"", "second"};
    for (size_t i = 0; i < ABILITIES; i++) {
        struct buf out;
        struct err e;
        buf_init(&out, OUT_BYTES);
        abilities[i].d->put_models(&out, models, 2, 1790000000);
        struct json *tree = json_parse((const char *)out.p, out.n, &e);
        assert_non_null(tree);
        const struct json *list = json_get(tree, "data");
        if (list == NULL)
            list = json_get(tree, "models");
        assert_int_equal(json_count(list), 2);
        const char *name = json_string(json_first(list), "id");
        if (name == NULL)
            name = json_string(json_first(list), "name");
        if (name == NULL)
            name = json_string(json_first(list), "key");
        assert_string_equal(name, models[0]);
        json_free(tree);
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),   cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_documents), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
