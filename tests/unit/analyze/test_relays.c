/* Both legs of a proxy in one trace are one request each; two servers that a client asks at once
 * are two. */
#include "analyze/finding_kinds.h"
#include "tests/unit/analyze/finding_test.h"

enum { OUTER = 8000, INNER = 8001, EVENTS = 20, PAIRS = 4 };

/* Of a pair; times in s. What is 0 is that of a byte-for-byte relay. */
struct both {
    double sent;      /* the inner one, after the outer one; 1 ms */
    double lag;       /* of outer text behind inner text; 1 ms */
    double gap;       /* of inner text; 25 ms … */
    double outer_gap; /* … and of outer text, if it keeps a pace of its own */
    bool held;        /* outer text comes at once, behind the end of the inner one */
    bool other_text, other_prompt;
    bool anew;          /* the body is written anew, of the same prompt … */
    int longer;         /* … with so many words before it */
    bool other_id;      /* the reply is given another id */
    bool no_id, one_id; /* there is none; or the server gives each reply the same */
    bool steady;        /* the server keeps its pace to the microsecond */
    bool own_pace;      /* the gaps of both vary, each in its own way */
    uint16_t outer_port;
};

static double or_else(double x, double y)
{
    return x > 0 ? x : y;
}

static struct request *add_leg(struct audit *a, uint16_t port, double t0, const char *prompt)
{
    struct request *r =
        scene_add(a, (struct act){.t0 = t0, .first = t0 + 0.2, .last = t0 + 0.2, .tokens = EVENTS});
    r->server_port = port;
    r->body_sha256 = prompt;
    r->said_hash = 1 + (uint64_t)prompt[0];
    return r;
}

/* From -0.1 to 0.1. */
static double vary(unsigned pace, size_t k)
{
    uint64_t x = (pace * 1000003ull + k + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
    return (double)((x >> 32) % 2001) / 10000 - 0.1;
}

/* Text from `first` on, each piece about `gap` after the one before, as that pace has it; of pace 0
 * exactly so. */
static void say_at(struct request *r, double first, double gap, unsigned pace)
{
    r->out.n = 0;
    for (size_t k = 0; k < EVENTS; k++) {
        double by = (double)k + (pace > 0 && k > 0 ? vary(pace, k) : 0);
        VEC_PUSH(&r->out, ((struct output_event){scene_ns(first + by * gap),
                                                 (uint32_t)(r->t0_packet + 10 + k), 4}));
    }
    r->text_bytes = EVENTS * 4;
    r->h = r->head_end = r->c1 = r->answer_ns = r->content_ns = scene_ns(first);
    r->content_events = r->first_choice_events = EVENTS;
    r->choices_seen = 1;
    r->choice_ns = r->out.v[EVENTS - 1].t_ns;
    r->z = r->t_end = r->done_ns = r->choice_ns + MS / 2;
}

static void say(struct request *r, double first, double gap)
{
    say_at(r, first, gap, 0);
}

/* The i-th pair, two seconds after the one before. Returns the index of the inner one. */
static size_t add_both(struct audit *a, struct both x, int i)
{
    static const char *const prompts[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    double t0 = 2.0 * i, sent = t0 + or_else(x.sent, 0.001), gap = or_else(x.gap, 0.025);
    double first = t0 + 0.2, lag = or_else(x.lag, 0.001), last = first + (EVENTS - 1) * gap;
    struct request *r = add_leg(a, x.outer_port > 0 ? x.outer_port : OUTER, t0, prompts[i]);
    if (x.held)
        say(r, last + lag, 1e-6);
    else
        say_at(r, first + lag, or_else(x.outer_gap, gap),
               x.steady ? 0 : (unsigned)i + (x.own_pace ? 101 : 1));
    r->asked.last_message = slice_of("Name a colour.");
    r->asked.prompt_words = 3;
    struct request *u = add_leg(a, INNER, sent, prompts[i]);
    say_at(u, first, gap, x.steady ? 0 : (unsigned)i + 1);
    u->asked.prompt_words = x.longer - x.other_prompt + 3;
    u->asked.last_message = slice_of("Name a colour.");
    if (x.anew || x.other_prompt)
        u->body_sha256 = "anew";
    if (x.other_text)
        u->said_hash = 9999;
    r = &a->requests.v[a->requests.n - 2];
    u->reply_id = x.no_id ? 0 : x.one_id ? 7 : 10 + (uint64_t)i;
    r->reply_id = x.other_id ? 100 + (uint64_t)i : u->reply_id;
    return a->requests.n - 1;
}

static void expect_pairs(struct audit *a, size_t requests, size_t inner)
{
    runs_find(a, &audit_defaults);
    assert_int_equal(a->requests.n, requests);
    assert_int_equal(a->inner.n, inner);
    audit_free(a);
    *a = (struct audit){0};
}

static void expect_of(struct both x, size_t pairs, bool relay)
{
    struct audit a = {0};
    made_trace(&a);
    for (size_t i = 0; i < pairs; i++)
        add_both(&a, x, (int)i);
    expect_pairs(&a, relay ? pairs : 2 * pairs, relay ? pairs : 0);
}

static void a_relay_is_one_request(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < PAIRS; i++)
        add_both(&a, (struct both){0}, i);
    finding_all(&a, &audit_defaults);
    assert_int_equal(a.requests.n, PAIRS);
    assert_int_equal(a.inner.n, PAIRS);
    assert_int_equal(a.runs.n, 1);
    assert_int_equal(a.runs.v[0].requests.n, PAIRS);
    for (size_t i = 0; i < PAIRS; i++) {
        assert_int_equal(a.requests.v[i].id, i + 1);
        assert_int_equal(a.requests.v[i].server_port, OUTER);
        assert_true(a.requests.v[i].alone);
        assert_int_equal(a.inner.v[i].inner_of, i + 1);
        assert_ptr_equal(a.requests.v[i].inner, &a.inner.v[i]);
    }
    const struct finding *x = finding_needs(&a, "proxy.both-legs");
    assert_non_null(strstr(x->detail, "4 requests to port 8000"));
    assert_non_null(strstr(x->detail, "ttft 2 ms longer, e2el 2 ms longer"));
    assert_int_equal(x->evidence.n, 2 * PAIRS);
    assert_int_equal(scene_judge(&a, &audit_defaults, "requests=4")->verdict, VERDICT_CONFIRMED);
    assert_int_equal(scene_judge(&a, &audit_defaults, "requests=8")->verdict, VERDICT_DIFFERS);
    assert_int_equal(scene_judge(&a, &audit_defaults, "ttft@3=201ms")->verdict, VERDICT_CONFIRMED);
    audit_free(&a);
}

static void not_in_step(void **state)
{
    (void)state;
    const struct both cases[] = {
        {.lag = 0.012, .no_id = true},       /* of a server half a piece behind */
        {.outer_gap = 0.026, .no_id = true}, /* of one that is slower */
        {.lag = 0.4, .no_id = true},
        {.lag = 0.1, .gap = 0.005, .no_id = true}, /* all behind the end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_of(cases[i], PAIRS, false);
}

/* Two servers of one speed, the first of them always a little later. */
static void in_step_by_chance(void **state)
{
    (void)state;
    const struct both cases[] = {
        {.steady = true, .no_id = true},
        {.steady = true, .one_id = true},
        {.steady = true, .other_id = true},
        {.own_pace = true, .lag = 0.006, .no_id = true},
        {.own_pace = true, .lag = 0.006, .other_id = true},
        {.held = true, .no_id = true},
        {.held = true, .one_id = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_of(cases[i], 8, false);
    expect_of((struct both){.no_id = true}, PAIRS, true); /* later by the same each time */
    expect_of((struct both){.one_id = true}, PAIRS, true);
    expect_of((struct both){.other_id = true}, PAIRS, true);
    expect_of((struct both){.steady = true}, 1, true); /* its id says it */
}

static void another_text_or_prompt(void **state)
{
    (void)state;
    expect_of((struct both){.other_text = true}, PAIRS, false);
    expect_of((struct both){.other_prompt = true}, PAIRS, false);
    expect_of((struct both){.anew = true}, PAIRS, true);
    expect_of((struct both){.anew = true, .longer = 40}, PAIRS, true);
    expect_of((struct both){.outer_port = INNER}, PAIRS, false); /* one server, asked twice */
}

static void text_that_is_held(void **state)
{
    (void)state;
    expect_of((struct both){.held = true}, 1, true); /* its id says it */
    expect_of((struct both){.held = true, .anew = true}, 1, true);
    expect_of((struct both){.held = true, .other_id = true}, PAIRS, false); /* another server's */
}

/* Every other piece of a text comes later by so much. */
static void delay(struct request *r, int64_t even_ns, int64_t odd_ns)
{
    for (size_t k = 0; k < r->out.n; k++)
        r->out.v[k].t_ns += k % 2 == 0 ? even_ns : odd_ns;
}

/* One prompt twice at once: what fits either outer leg must not take the only one that fits the
 * other. */
static void one_prompt_at_once(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < PAIRS; i++) {
        double t0 = 2.0 * i;
        static const int64_t us[][2] = {{100, 300}, {150, 150}, {0, 0}, {0, 200}};
        for (int k = 0; k < 4; k++) {
            struct request *r = add_leg(&a, k < 2 ? OUTER : INNER, t0 + k * 0.0001, "same");
            say_at(r, t0 + 0.2, 0.025, (unsigned)i + 1);
            delay(r, us[k][0] * 1000, us[k][1] * 1000);
        }
    }
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.requests.n, 2 * PAIRS);
    assert_int_equal(a.inner.n, 2 * PAIRS);
    for (size_t i = 0; i < a.inner.n; i++)
        assert_int_equal(a.inner.v[i].inner_of, i % 2 == 0 ? i + 2 : i);
    audit_free(&a);
}

/* Two servers of the very same pace, asked one after the other: the second is behind. */
static void a_client_that_asks_two(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < PAIRS; i++) {
        size_t k = add_both(&a, (struct both){.no_id = true, .steady = true}, i);
        say(&a.requests.v[k], 2.0 * i + 0.2 + 0.0015, 0.025);
    }
    expect_pairs(&a, 2 * PAIRS, 0);

    /* the other half of that port's requests is the client's */
    made_trace(&a);
    for (int i = 0; i < 2 * PAIRS; i++) {
        size_t k = add_both(&a, (struct both){.anew = true}, i);
        if (i % 2 == 1)
            a.requests.v[k].asked.last_message = slice_of("Name another.");
    }
    expect_pairs(&a, 3 * PAIRS, PAIRS);
}

/* Sent before the outer one was; by the client's own host; by the proxy's. */
static void where_and_when_it_begins(void **state)
{
    (void)state;
    static const uint8_t client[16] = {10, 0, 0, 1}, proxy[16] = {10, 0, 0, 2},
                         server[16] = {10, 0, 0, 3}, loopback[16] = {127, 0, 0, 1};
    const struct {
        const uint8_t *from;
        bool relay;
    } cases[] = {{client, false}, {proxy, true}, {loopback, true}, {server, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct audit a = {0};
        made_trace(&a);
        for (int i = 0; i < PAIRS; i++) {
            size_t k = add_both(&a, (struct both){0}, i);
            struct request *r = &a.requests.v[k - 1], *u = &a.requests.v[k];
            memcpy(r->client_host, client, 16);
            memcpy(r->server_host, proxy, 16);
            memcpy(u->client_host, cases[c].from, 16);
            memcpy(u->server_host, server, 16);
            r->client_port = (uint16_t)(40000 + i);
            u->client_port = (uint16_t)(50000 + i);
        }
        expect_pairs(&a, cases[c].relay ? PAIRS : 2 * PAIRS, cases[c].relay ? PAIRS : 0);
    }
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < PAIRS; i++) {
        size_t k = add_both(&a, (struct both){0}, i);
        struct request *r = &a.requests.v[k - 1], *u = &a.requests.v[k];
        r->server_port = INNER; /* the one that was sent first has its text first, too */
        u->server_port = OUTER;
        say(r, 2.0 * i + 0.2, 0.025);
        say(u, 2.0 * i + 0.201, 0.025);
    }
    expect_pairs(&a, 2 * PAIRS, 0);
}

/* What the proxy tried again is no request of the client's. */
static void attempts_of_the_proxy(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < PAIRS; i++) {
        size_t k = add_both(&a, (struct both){.sent = 0.010}, i);
        struct request copy = a.requests.v[k];
        struct request *u = &a.requests.v[k];
        u->out.v = NULL;
        u->out.n = u->out.cap = 0;
        u->text_bytes = 0;
        u->said_hash = 0;
        u->t0 = scene_ns(2.0 * i + 0.001);
        u->t0_end = u->t0;
        u->z = u->t_end = scene_ns(2.0 * i + 0.005);
        u->status = 503;
        u->outcome = OUTCOME_HTTP_ERROR;
        VEC_PUSH(&a.requests, copy);
    }
    finding_all(&a, &audit_defaults);
    assert_int_equal(a.requests.n, PAIRS);
    assert_int_equal(a.inner.n, 2 * PAIRS);
    for (size_t i = 0; i < PAIRS; i++)
        assert_int_equal(a.requests.v[i].inner->outcome, OUTCOME_SUCCESS);
    const struct finding *x = finding_needs(&a, "proxy.both-legs");
    assert_non_null(strstr(x->detail, "the proxy sent 8"));
    assert_non_null(strstr(x->detail, "4 of them failed, and the proxy tried again"));
    finding_lacks(&a, "requests.failed");
    finding_lacks(&a, "requests.retried");
    audit_free(&a);
}

/* Another server only failed: behind the proxy, or asked by the client for something else. */
static void attempts_elsewhere(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct audit a = {0};
        made_trace(&a);
        for (int i = 0; i < PAIRS; i++) {
            size_t k = add_both(&a, (struct both){0}, i);
            struct request *u = add_leg(&a, 8002, 2.0 * i + 0.002, a.requests.v[k].body_sha256);
            if (own)
                u->body_sha256 = "another";
            u->out.n = 0;
            u->text_bytes = 0;
            u->status = 503;
            u->outcome = OUTCOME_HTTP_ERROR;
        }
        expect_pairs(&a, own ? 2 * PAIRS : PAIRS, own ? PAIRS : 2 * PAIRS);
    }
}

static void proxies_in_a_row(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < PAIRS; i++) {
        size_t k = add_both(&a, (struct both){0}, i);
        struct request *u = add_leg(&a, 8002, 2.0 * i + 0.002, a.requests.v[k].body_sha256);
        say_at(u, 2.0 * i + 0.1995, 0.025, (unsigned)i + 1);
        u->reply_id = a.requests.v[a.requests.n - 2].reply_id;
    }
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.requests.n, PAIRS);
    assert_int_equal(a.inner.n, 2 * PAIRS);
    for (size_t i = 0; i < a.inner.n; i++)
        assert_int_equal(a.inner.v[i].inner_of, i / 2 + 1);
    audit_free(&a);
}

/* A trace for each leg: both keep their requests. */
static void legs_in_two_traces(void **state)
{
    (void)state;
    struct audit a = {0}, one = {0};
    made_trace(&one);
    for (int i = 0; i < PAIRS; i++)
        add_both(&one, (struct both){0}, i);
    for (size_t t = 0; t < 2; t++) {
        made_trace(&a);
        for (size_t i = t; i < one.requests.n; i += 2) {
            VEC_PUSH(&a.requests, one.requests.v[i]);
            a.requests.v[a.requests.n - 1].trace = t;
        }
    }
    one.requests.n = 0;
    audit_free(&one);
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.requests.n, 2 * PAIRS);
    assert_int_equal(a.inner.n, 0);
    for (size_t i = 0; i < PAIRS; i++)
        assert_ptr_equal(a.requests.v[i].inner, &a.requests.v[PAIRS + i]);
    audit_free(&a);
}

/* The last pair was still running when the trace ended. */
static void cut_by_the_end(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    size_t k = 0;
    for (int i = 0; i < PAIRS; i++)
        k = add_both(&a, (struct both){0}, i);
    for (size_t i = k - 1; i <= k; i++) {
        struct request *r = &a.requests.v[i];
        r->outcome = OUTCOME_OPEN;
        r->out.n = i == k ? 11 : 10;
        r->text_bytes = 4 * r->out.n;
        r->said_hash = i;
        r->z = -1;
    }
    expect_pairs(&a, PAIRS, PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relay_is_one_request), cmocka_unit_test(not_in_step),
        cmocka_unit_test(another_text_or_prompt), cmocka_unit_test(text_that_is_held),
        cmocka_unit_test(a_client_that_asks_two), cmocka_unit_test(where_and_when_it_begins),
        cmocka_unit_test(attempts_of_the_proxy),  cmocka_unit_test(proxies_in_a_row),
        cmocka_unit_test(legs_in_two_traces),     cmocka_unit_test(cut_by_the_end),
        cmocka_unit_test(one_prompt_at_once),     cmocka_unit_test(in_step_by_chance),
        cmocka_unit_test(attempts_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
