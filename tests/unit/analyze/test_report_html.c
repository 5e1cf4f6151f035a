/* The HTML report and its figures: what they say about analyses built by hand, whose answers are
 * known, and that text from a trace stays text. Pictures need gnuplot; without it those tests say
 * so and skip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/figures.h"
#include "analyze/metrics.h"
#include "analyze/report_html.h"
#include "analyze/runs.h"
#include "tests/support/folder.h"
#include "traces/base/clock.h"

/* --- analyses by hand ------------------------------------------------------------------------- */

static const int64_t epoch = INT64_C(1780000000) * NS_PER_S;

static int64_t ns(double s)
{
    return epoch + llround(s * NS_PER_S);
}

static size_t add_trace(struct audit *a, const char *path, const char *label, const char *simulated)
{
    struct trace_info t = {.path = path,
                           .label = label,
                           .vantage = "socket",
                           .simulated = simulated,
                           .epoch_ns = epoch,
                           .closed = true,
                           .clock_known = true};
    t.totals.packets = 12345;
    t.totals.counted_if_dropped = UINT64_MAX;
    t.health.file_bytes = 123456;
    memset(t.health.sha256, 'a' + (int)(a->traces.n % 6), 64);
    VEC_PUSH(&a->traces, t);
    return a->traces.n - 1;
}

/* One request of a workload. */
struct plan {
    const char *workload, *name;
    int64_t repeat, group;
    double t0, first, window; /* s */
    int events, per_read;
    int64_t tokens, prompt;
};

static void add_request(struct audit *a, size_t trace, struct plan p)
{
    static const struct dialect dialect = {.name = "openai-chat"};
    size_t id = a->requests.n + 1;
    struct request r = {
        .id = id,
        .trace = trace,
        .conn = id,
        .client_port = (uint16_t)(30000 + id),
        .method = "POST",
        .path = "/v1/chat/completions",
        .model = "m-35b",
        .body_sha256 = p.name,
        .server = "server/1.0",
        .dialect = &dialect,
        .status = 200,
        .finish = "stop",
        .stream_reply = true,
        .group = -1,
        .repeat = -1,
        .n1 = -1,
        .usage = {p.prompt, p.tokens, -1, -1},
        .timings = {NAN, NAN, NAN, NAN, NAN, NAN, NAN},
        .t0 = ns(p.t0),
        .t0_end = ns(p.t0 + 1e-4),
        .h = ns(p.t0 + 0.01),
        .head_end = ns(p.t0 + 0.01),
        .c1 = ns(p.t0 + 0.012),
        .role_ns = ns(p.t0 + 0.012),
    };
    for (int i = 0; i < p.events; i++) {
        int read = i / p.per_read, reads = (p.events + p.per_read - 1) / p.per_read;
        double at = p.t0 + p.first + (reads > 1 ? p.window * read / (reads - 1) : 0);
        VEC_PUSH(&r.out, ((struct output_event){ns(at), (uint32_t)(100 * id) + (uint32_t)read, 4}));
        r.text_bytes += 4;
    }
    r.z = r.t_end = r.done_ns = ns(p.t0 + p.first + p.window + 0.001);
    if (p.events == 0)
        r.t_end = r.z = ns(p.t0 + 0.06);
    VEC_PUSH(&a->requests, r);
    VEC_PUSH(&a->traces.v[trace].ledger, ((struct ledger_entry){.workload = p.workload,
                                                                .name = p.name,
                                                                .repeat = p.repeat,
                                                                .group = p.group,
                                                                .due_ns = -1,
                                                                .sent_ns = r.t0,
                                                                .first_ns = r.h,
                                                                .end_ns = r.t_end,
                                                                .local_port = r.client_port,
                                                                .status = 200,
                                                                .outcome = "complete"}));
}

static void measure(struct audit *a)
{
    struct audit_options o = audit_defaults;
    runs_find(a, &o);
    metrics_request_all(a, &o);
    metrics_run_all(a, &audit_defaults);
}

/* 512 tokens after 12.4 s of silence, in a burst of 37 ms; somebody claims 14000 tok/s. */
static void build_phantom(struct audit *a)
{
    size_t t = add_trace(a, "/data/collect.pcapng.gz", "collect", "collect-then-replay");
    for (int i = 0; i < 5; i++)
        add_request(a, t,
                    (struct plan){"run_single", "p3", i, -1, 14.0 * i, 12.3 + 0.1 * i, 0.037, 512,
                                  64, 512, 4000});
    for (int i = 0; i < 600; i++)
        VEC_PUSH(&a->traces.v[t].sys,
                 ((struct sample_point){ns(0.12 * i), INT64_C(19000000000) + INT64_C(4000000) * i,
                                        INT64_C(64000000000), INT64_C(11000000000), -1}));
    measure(a);
    const struct request *r = &a->requests.v[1];
    double wall = r->metrics[M_E2E_OUTPUT_TPS].v;
    struct claim c = {.text = "rate=14000tok/s",
                      .metric = "rate",
                      .stat = "value",
                      .claimed = 14000,
                      .claimed_text = "14000",
                      .unit = "tok/s",
                      .claimed_interval = {13500, 14500},
                      .recomputed = wall,
                      .recomputed_as = "e2e_output_tps",
                      .interval = {wall * 0.999, wall * 1.001},
                      .verdict = VERDICT_DIFFERS,
                      .reason = "the bytes give 41 tok/s from request to last output event"};
    VEC_PUSH(&c.causes, ((struct cause){.id = "P43",
                                        .title = "Server generates first, streams afterwards",
                                        .formula = "N/(o_M-o_1)",
                                        .value = 512 / 0.037,
                                        .interval = {13480, 14220},
                                        .by_sign = true,
                                        .note = "all of it came within 37 ms",
                                        .effect_percent = NAN}));
    VEC_PUSH(&c.evidence, ((struct evidence){t, 201, r->conn, true, 0x1a40, r->out.v[0].t_ns,
                                             "first output event"}));
    VEC_PUSH(&a->claims, c);
    struct claim ttft = {.text = "ttft.p50=90ms",
                         .metric = "ttft",
                         .stat = "p50",
                         .claimed = 0.09,
                         .claimed_text = "90ms",
                         .unit = "s",
                         .recomputed = 12.5,
                         .interval = {12.499, 12.501},
                         .verdict = VERDICT_DIFFERS,
                         .reason = "the first output event came after 12.5 s"};
    VEC_PUSH(&a->claims, ttft);
    struct claim tokens = {.text = "output_tokens=512",
                           .metric = "output_tokens",
                           .stat = "value",
                           .claimed = 512,
                           .claimed_text = "512",
                           .unit = "tokens",
                           .recomputed = 512,
                           .interval = {512, 512},
                           .verdict = VERDICT_CONFIRMED,
                           .reason = "stated by the server"};
    VEC_PUSH(&a->claims, tokens);
    struct claim memory = {.text = "memory=17GB",
                           .metric = "memory",
                           .stat = "max",
                           .claimed = 17e9,
                           .claimed_text = "17GB",
                           .unit = "bytes",
                           .recomputed = NAN,
                           .interval = {NAN, NAN},
                           .verdict = VERDICT_NOT_MEASURABLE,
                           .reason = "the trace has no GPU samples"};
    VEC_PUSH(&a->claims, memory);
    struct finding f = {.id = "collect-then-replay",
                        .severity = SEVERITY_FAIL,
                        .trace = t + 1,
                        .title = "The answers were kept back and sent in one go",
                        .detail = "5 of 5 requests: silence for 99 % of the time, then all text "
                                  "within 37 ms"};
    VEC_PUSH(&f.effects, ((struct effect){"output_tps_user", 33700}));
    VEC_PUSH(&f.evidence, a->claims.v[0].evidence.v[0]);
    VEC_PUSH(&a->findings, f);
}

/* Two servers, alone and in pairs: amber works on both at once, dune on one after the other. */
static void build_pair(struct audit *a)
{
    static const struct {
        const char *label, *path;
        double second_s; /* how much later the second of a pair comes */
        double rate, slower;
    } servers[] = {{"amber", "amber.pcapng.gz", 0, 52, 1.05}, {"dune", "dune.pcapng.gz", 1, 47, 1}};
    for (size_t s = 0; s < 2; s++) {
        size_t t = add_trace(a, servers[s].path, servers[s].label, s == 1 ? "serial" : NULL);
        double at = 0;
        for (int k = 0; k < 5; k++) {
            double decode = 256 / (servers[s].rate + k);
            add_request(
                a, t, (struct plan){"run_single", "p1", k, -1, at, 0.3, decode, 256, 1, 256, 1000});
            at += decode + 1;
        }
        for (int k = 0; k < 5; k++) {
            double decode = 256 / (servers[s].rate + k) * servers[s].slower;
            double wait = servers[s].second_s * (0.3 + decode);
            add_request(
                a, t, (struct plan){"run_double", "p1", k, k, at, 0.3, decode, 256, 1, 256, 1000});
            add_request(a, t,
                        (struct plan){"run_double", "p1", k, k, at + 0.0002, 0.3 + wait, decode,
                                      256, 1, 256, 1000});
            at += wait + decode + 2;
        }
        for (int k = 0; s == 1 && k < 2; k++) {
            add_request(a, t, (struct plan){"run_double", "p9", 5 + k, -1, at, 0, 0, 0, 1, -1, -1});
            struct request *r = &a->requests.v[a->requests.n - 1];
            r->status = 400;
            r->outcome = OUTCOME_HTTP_ERROR;
            r->error = "prompt 53 012 > limit 32 768 tokens";
            at += 1;
        }
    }
    measure(a);
}

/* --- files ------------------------------------------------------------------------------------ */

/* The report of a, as text; dir is the caller's. */
static char *report_of(const struct audit *a, const char *dir)
{
    struct err e = {0};
    if (report_html_write(a, dir, &audit_defaults, &e) != TA_OK)
        fail_msg("%s", e.msg);
    return folder_read(dir, "report.html");
}

static void assert_has(const char *page, const char *what)
{
    if (strstr(page, what) == NULL)
        fail_msg("the page does not say \"%s\"", what);
}

static void assert_order(const char *page, const char *first, const char *then)
{
    const char *p = strstr(page, first);
    assert_non_null(p);
    if (strstr(p, then) == NULL)
        fail_msg("\"%s\" does not stand behind \"%s\"", then, first);
}

static size_t times(const char *page, const char *what)
{
    size_t n = 0;
    for (const char *p = page; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

/* --- what the report says --------------------------------------------------------------------- */

static void phantom_is_told_first(void **state)
{
    (void)state;
    struct audit a = {0};
    build_phantom(&a);
    char *dir = folder_make(), *page = report_of(&a, dir);
    assert_has(page, "<h1>14,000 tok/s never happened: 2 of 4 claims fail the audit</h1>");
    assert_has(page, "<b>0</b> packets lost by the recorder");
    assert_has(page, "SIMULATED SERVER");
    assert_order(page, "14,000 tok/s</td>", "×340");
    assert_order(page, "×340", "÷139");    /* fail by distance */
    assert_order(page, "÷139", ">n/a<");   /* then what can't be measured */
    assert_order(page, ">n/a<", ">pass<"); /* then what passes */
    assert_has(page, "P43");
    assert_has(page, "N/(o_M-o_1) = 13,838 tok/s, its sign is on the wire");
    assert_has(page, "frame 201");
    assert_has(page, "--claim rate=14000tok/s");
    assert_null(strstr(page, "fraud"));
    assert_null(strstr(page, "<script"));
    free(page);
    folder_remove(dir);
    free(dir);
    audit_free(&a);
}

static void measured_values_without_claims(void **state)
{
    (void)state;
    struct audit a = {0};
    build_pair(&a);
    char *dir = folder_make(), *page = report_of(&a, dir);
    assert_has(page, "<h1>Measured: wall rate p50 ");
    assert_has(page, "amber");
    assert_has(page, "<span class=\"sim\">simulated</span>");
    assert_has(page, "Claimed rates: none were given");
    assert_has(page, "2 http-error");
    assert_has(page, "<b>32</b> requests, 30 complete");
    assert_null(strstr(page, "<th class=\"n\">claimed</th>"));
    free(page);
    folder_remove(dir);
    free(dir);
    audit_free(&a);
}

static void lost_packets_are_not_hidden(void **state)
{
    (void)state;
    struct audit a = {0};
    build_phantom(&a);
    char *dir = folder_make();
    a.traces.v[0].vantage = "libpcap";
    a.traces.v[0].totals.counted_dropped = UINT64_MAX;
    char *page = report_of(&a, dir);
    assert_has(page, "<b>unknown</b> packets lost by the recorder");
    free(page);
    a.traces.v[0].totals.counted_dropped = 1234;
    page = report_of(&a, dir);
    assert_has(page, "<b>1,234</b> packets lost by the recorder");
    free(page);
    folder_remove(dir);
    free(dir);
    audit_free(&a);
}

static void same_analysis_same_bytes(void **state)
{
    (void)state;
    struct audit a = {0};
    build_phantom(&a);
    char *one = folder_make(), *two = folder_make();
    char *first = report_of(&a, one), *second = report_of(&a, two);
    assert_string_equal(first, second);
    static const char *const files[] = {"data/phantom-arrival.tsv", "plots/phantom.gp",
                                        "data/timeline-1-requests.tsv"};
    for (size_t i = 0; i < 3; i++) {
        char *x = folder_read(one, files[i]), *y = folder_read(two, files[i]);
        assert_string_equal(x, y);
        free(x);
        free(y);
    }
    free(first);
    free(second);
    folder_remove(one);
    folder_remove(two);
    free(one);
    free(two);
    audit_free(&a);
}

static void nothing_to_audit(void **state)
{
    (void)state;
    struct audit a = {0};
    add_trace(&a, "empty.pcapng.gz", NULL, NULL);
    char *dir = folder_make(), *page = report_of(&a, dir);
    assert_has(page, "<h1>Nothing to audit: no LLM request was seen</h1>");
    assert_false(folder_has(dir, "plots/timeline-1.gp"));
    free(page);
    folder_remove(dir);
    free(dir);
    audit_free(&a);
}

static void a_folder_that_cannot_be_made(void **state)
{
    (void)state;
    struct audit a = {0};
    struct err e = {0};
    assert_int_equal(report_html_write(&a, "/dev/null/x", &audit_defaults, &e), TA_ESYS);
    assert_non_null(strstr(e.msg, "/dev/null/x"));
    audit_free(&a);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void pictures_are_drawn(void **state)
{
    (void)state;
    if (!gnuplot_is_there())
        skip();
    struct audit a = {0};
    build_phantom(&a);
    char *dir = folder_make(), *page = report_of(&a, dir);
    assert_null(strstr(page, "Not drawn"));
    assert_int_equal(times(page, "role=\"img\""), 2);
    assert_has(page, "14,000 tok/s never happened: 512 tokens took 12.3 s, then left within 37 ms");
    assert_true(folder_has(dir, "plots/phantom.svg"));
    assert_true(folder_has(dir, "plots/phantom.png"));
    free(page);
    folder_remove(dir);
    audit_free(&a);

    a = (struct audit){0};
    build_pair(&a);
    mkdir(dir, 0777);
    page = report_of(&a, dir);
    assert_null(strstr(page, "Not drawn"));
    assert_int_equal(times(page, "role=\"img\""), 3);
    free(page);
    folder_remove(dir);
    free(dir);
    audit_free(&a);
}

static const char *variable_of(const struct figure *f, const char *name)
{
    for (size_t i = 0; i < f->plot.variables.n; i++) {
        if (strcmp(f->plot.variables.v[i].name, name) == 0)
            return f->plot.variables.v[i].text;
    }
    return NULL;
}

static double number_of(const struct figure *f, const char *name)
{
    for (size_t i = 0; i < f->plot.variables.n; i++) {
        if (strcmp(f->plot.variables.v[i].name, name) == 0)
            return f->plot.variables.v[i].number;
    }
    return NAN;
}

/* Cell c of row r of a table; rows and columns from 0, without the header lines. */
static char *cell_of(struct figure *f, const char *variable, size_t row, size_t column)
{
    for (size_t i = 0; i < f->plot.tables.n; i++) {
        if (strcmp(f->plot.tables.v[i].variable, variable) != 0)
            continue;
        const char *p = buf_text(&f->plot.tables.v[i].rows);
        for (size_t skip_lines = row + 2; skip_lines > 0 && p != NULL; skip_lines--) {
            p = strchr(p, '\n');
            p = p == NULL ? NULL : p + 1;
        }
        for (; p != NULL && column > 0; column--)
            p = strchr(p, '\t') + 1;
        assert_non_null(p);
        return mem_strndup(p, strcspn(p, "\t\n"));
    }
    fail_msg("no table %s", variable);
    return NULL;
}

static void assert_cell(struct figure *f, const char *variable, size_t row, size_t column,
                        const char *what)
{
    char *found = cell_of(f, variable, row, column);
    assert_string_equal(found, what);
    free(found);
}

static void phantom_shows_the_claims_request(void **state)
{
    (void)state;
    struct audit a = {0};
    build_phantom(&a);
    struct figure f;
    assert_true(figure_phantom(&f, &a));
    assert_string_equal(variable_of(&f, "L_OFF"), "×340");
    assert_string_equal(variable_of(&f, "L_CLAIM"), "claimed 14,000 tok/s");
    assert_string_equal(variable_of(&f, "ZNOTE2"), "N/(o_M-o_1)");
    assert_string_equal(variable_of(&f, "ZNOTE3"), "= 13,838 tok/s");
    assert_true(number_of(&f, "CLAIM") == 14000);
    assert_true(number_of(&f, "T0") == 0);
    assert_cell(&f, "DATA", 1, 2, "1"); /* all fit the cause alike: the first */
    assert_cell(&f, "BURST", 0, 2, "64");
    figure_done(&f);

    a.claims.v[0].causes.v[0].by_sign = false;
    assert_true(figure_phantom(&f, &a));
    assert_cell(&f, "DATA", 1, 2, "2"); /* by the evidence */
    figure_done(&f);
    a.claims.v[0].request = 4;
    assert_true(figure_phantom(&f, &a));
    assert_cell(&f, "DATA", 1, 2, "4"); /* as claimed */
    figure_done(&f);

    /* A decode rate counts from the first output, and is drawn from there where the request has
     * one. */
    a.claims.v[0].recomputed_as = "output_tps_user (p50 of 5)";
    assert_true(figure_phantom(&f, &a));
    assert_true(number_of(&f, "T0") == 0);
    figure_done(&f);
    a.requests.v[3].metrics[M_OUTPUT_TPS_USER] = (struct value){41, GRADE_WIRE_STATED, NULL};
    assert_true(figure_phantom(&f, &a));
    assert_true(fabs(number_of(&f, "T0") - 12.6) < 1e-6);
    figure_done(&f);

    a.claims.v[0].verdict = VERDICT_CONFIRMED;
    assert_false(figure_phantom(&f, &a));
    audit_free(&a);
}

static void compare_takes_the_speedup_of_the_metrics(void **state)
{
    (void)state;
    struct audit a = {0};
    build_pair(&a);
    struct figure f;
    assert_true(figure_compare(&f, &a));
    assert_cell(&f, "SUM", 0, 1, "amber");
    assert_cell(&f, "SUM", 1, 1, "dune");
    assert_cell(&f, "SUM", 0, 5, "ok");
    assert_cell(&f, "SUM", 1, 11, "simulated");
    const struct metric *m = metrics_find(&a, "speedup", "p50", (struct metric_scope){1, 0, NULL});
    assert_non_null(m);
    char text[32];
    snprintf(text, sizeof text, "%.2f×", m->value);
    assert_cell(&f, "SUM", 0, 4, text);
    /* The median repeat is the third: 256 / (0.3 + 256 / 54). */
    char *single = cell_of(&f, "SUM", 0, 2);
    assert_true(fabs(strtod(single, NULL) - 256 / (0.3 + 256.0 / 54)) < 0.01);
    free(single);
    figure_done(&f);
    for (size_t i = 0; i < a.requests.n; i++)
        a.requests.v[i].group = -1;
    assert_false(figure_compare(&f, &a));
    audit_free(&a);
}

static void timeline_shows_rows_and_says_what_it_leaves_out(void **state)
{
    (void)state;
    struct audit a = {0};
    build_pair(&a);
    struct figure f;
    assert_true(figure_timeline(&f, &a, 1));
    assert_string_equal(f.name, "timeline-2");
    assert_cell(&f, "REQ", 0, 10, "TTFT 300 ms");
    assert_cell(&f, "REQ", 0, 2, "1,000 tok");
    assert_cell(&f, "REQ", 15, 7, "fail");
    assert_cell(&f, "REQ", 15, 10, "HTTP 400 after 60 ms: prompt 53 012 > limit 32 768 tokens");
    assert_true(number_of(&f, "PEAK") == 2);
    assert_int_equal(f.notes.n, 0);
    figure_done(&f);
    audit_free(&a);

    a = (struct audit){0};
    size_t t = add_trace(&a, "many.pcapng.gz", NULL, NULL);
    for (int i = 0; i < 3000; i++)
        add_request(&a, t, (struct plan){"load", "p", i, -1, 0.001 * i, 0.3, 1, 10, 1, 10, 10});
    measure(&a);
    assert_true(figure_timeline(&f, &a, t));
    assert_int_equal(f.notes.n, 1);
    assert_string_equal(f.notes.v[0], "Shown are the first 40 of 3000 requests.");
    for (size_t i = 0; i < f.plot.tables.n; i++)
        assert_true(times(buf_text(&f.plot.tables.v[i].rows), "\n") < 2100);
    figure_done(&f);
    audit_free(&a);
}

/* --- hostile text ----------------------------------------------------------------------------- */

static const char hostile[] = "`touch HACKED`$(touch HACKED)'; system 'touch HACKED' #\"<b>&amp;"
                              "\\n\n\t\x1b[31m\xff\xEF\xBF\xBF rgb(1,2,3) url(#gp id='gp "
                              "font-family=\"x:Bold\"";

/* As hostile, and 10 kB long. */
static char *hostile_long(void)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    while (b.n < 10000)
        buf_puts(&b, hostile);
    char *text = mem_strdup(buf_text(&b));
    buf_done(&b);
    return text;
}

static void spoil(struct audit *a, const char *text)
{
    for (size_t i = 0; i < a->traces.n; i++) {
        struct trace_info *t = &a->traces.v[i];
        t->path = t->label = t->simulated = t->vantage = t->host = text;
        snprintf(t->health.note, sizeof t->health.note, "%s", text);
    }
    for (size_t i = 0; i < a->requests.n; i++) {
        struct request *r = &a->requests.v[i];
        r->name = r->server = r->model = r->error = text;
    }
    for (size_t i = 0; i < a->runs.n; i++)
        a->runs.v[i].workload = a->runs.v[i].server = a->runs.v[i].label = text;
    for (size_t i = 0; i < a->metrics.n; i++)
        a->metrics.v[i].reason = a->metrics.v[i].formula = text;
    for (size_t i = 0; i < a->findings.n; i++) {
        struct finding *f = &a->findings.v[i];
        f->id = f->title = f->detail = text;
        for (size_t k = 0; k < f->effects.n; k++)
            f->effects.v[k].metric = text;
    }
    for (size_t i = 0; i < a->claims.n; i++) {
        struct claim *c = &a->claims.v[i];
        c->text = c->tool = c->claimed_text = c->unit = c->reason = text;
        for (size_t k = 0; k < c->causes.n; k++) {
            struct cause *cause = &c->causes.v[k];
            cause->id = cause->title = cause->formula = cause->note = text;
        }
        for (size_t k = 0; k < c->evidence.n; k++)
            c->evidence.v[k].what = text;
    }
}

static void hostile_text_stays_text(void **state)
{
    (void)state;
    char *text = hostile_long();
    static void (*const builds[])(struct audit *) = {build_phantom, build_pair};
    for (size_t b = 0; b < 2; b++) {
        for (int whole = 0; whole < 2; whole++) {
            struct audit a = {0};
            builds[b](&a);
            spoil(&a, whole ? text : hostile);
            char *dir = folder_make(), *page = report_of(&a, dir);
            assert_null(strstr(page, "<b>&amp;"));
            assert_null(strstr(page, "\x1b"));
            assert_has(page, "&lt;b&gt;");
            assert_false(folder_has(dir, "HACKED"));
            assert_false(folder_has(dir, "plots/HACKED"));
            assert_true(strlen(page) < 4u << 20);
            if (gnuplot_is_there())
                assert_null(strstr(page, "Not drawn"));
            free(page);
            folder_remove(dir);
            free(dir);
            audit_free(&a);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phantom_is_told_first),
        cmocka_unit_test(measured_values_without_claims),
        cmocka_unit_test(lost_packets_are_not_hidden),
        cmocka_unit_test(same_analysis_same_bytes),
        cmocka_unit_test(nothing_to_audit),
        cmocka_unit_test(a_folder_that_cannot_be_made),
        cmocka_unit_test(pictures_are_drawn),
        cmocka_unit_test(phantom_shows_the_claims_request),
        cmocka_unit_test(compare_takes_the_speedup_of_the_metrics),
        cmocka_unit_test(timeline_shows_rows_and_says_what_it_leaves_out),
        cmocka_unit_test(hostile_text_stays_text),
    };
    return cmocka_run_group_tests_name("report_html", tests, NULL, NULL);
}
