/* `tokaudit replay`: drives a workload against a server, and records every byte of it. */
#include "replay/cmd_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "replay/driver.h"
#include "replay/workload.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"
#include "traces/limits.h"
#include "traces/link.h"

enum { EXIT_UNANSWERED = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_ENVIRONMENT = 4 };

static const size_t plan_bytes = (size_t)1 << 30; /* of a plan file */
static const int64_t reach_ns = INT64_C(10) * NS_PER_S;

struct replay {
    const char *target_url, *output, *model, *path, *label;
    double scale;
    int64_t max_tokens, repeats, timeout_ns;
    struct cli_strings headers;
    bool plan_only;
    int verbose;

    const char *input;
    struct buf text; /* of the input */
    struct plan plan;
    struct target target;
    char *asked_model, *simulated;
};

#define AT(member) offsetof(struct replay, member)

static const struct cli_option options[] = {
    {"target", 't', CLI_STRING, "URL", AT(target_url), "the server, as in http://127.0.0.1:8000",
     NULL},
    {"output", 'o', CLI_STRING, "FILE", AT(output),
     "the trace (.pcapng.gz; - is stdout), or with --plan the plan (default stdout)", NULL},
    {"model", 'm', CLI_STRING, "NAME", AT(model),
     "model named in the requests of a spec (default: the spec's, else the first that GET "
     "/v1/models of the target names)",
     NULL},
    {"path", 0, CLI_STRING, "PATH", AT(path),
     "path of a spec's requests (default /v1/chat/completions)", NULL},
    {"scale", 0, CLI_DOUBLE, "X", AT(scale), "multiply the prompt lengths of a spec (default 1)",
     NULL},
    {"max-tokens", 0, CLI_INT, "N", AT(max_tokens),
     "max_tokens of every request of a spec (default: the spec's)", NULL},
    {"repeats", 0, CLI_INT, "N", AT(repeats), "repeats of a spec (default: the spec's)", NULL},
    {"header", 'H', CLI_STRINGS, "'NAME: VALUE'", AT(headers),
     "sent with every request, repeatable; an API key or cookie never reaches the trace", NULL},
    {"timeout", 0, CLI_DURATION, "TIME", AT(timeout_ns),
     "give a request up after this long (default 1h)", NULL},
    {"label", 0, CLI_STRING, "NAME", AT(label),
     "what the server is called in reports (default: what it calls itself)", NULL},
    {"plan", 0, CLI_FLAG, NULL, AT(plan_only),
     "write the plan, one request a line, and send nothing", NULL},
    {"verbose", 'v', CLI_COUNT, NULL, AT(verbose), "say more; repeatable", NULL},
    {NULL, 0, CLI_FLAG, NULL, 0, NULL, NULL},
};

/* --- input ------------------------------------------------------------------------------------ */

/* TA_EFORMAT: an input that can't be used, whatever the reason. */
static int read_stream(FILE *f, const char *name, struct buf *out, struct err *e)
{
    enum { STEP = 65536 };
    for (;;) {
        uint8_t *p = buf_reserve(out, STEP);
        if (p == NULL)
            return err_set(e, TA_EFORMAT, "%s: larger than %zu bytes, the most a workload may have",
                           name, plan_bytes);
        size_t n = fread(p, 1, STEP, f);
        out->n += n;
        if (n == 0)
            break;
    }
    return ferror(f) ? err_sys(e, TA_EFORMAT, "reading %s", name) : TA_OK;
}

/* The file of a shipped spec of that name, installed or in the source tree; NULL. The caller's. */
static char *shipped_spec(const char *name)
{
    static const char *const formats[] = {TOKAUDIT_DATADIR "/workloads/",
                                          TOKAUDIT_SOURCEDIR "/replay/workloads/"};
    for (size_t i = 0; strchr(name, '/') == NULL && i < sizeof formats / sizeof *formats; i++) {
        char *path = mem_printf("%s%s.json", formats[i], name);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static int read_input(struct replay *r, struct err *e)
{
    if (strcmp(r->input, "-") == 0)
        return read_stream(stdin, "stdin", &r->text, e);
    FILE *f = fopen(r->input, "rb");
    int fault = errno;
    char *shipped = f == NULL ? shipped_spec(r->input) : NULL;
    if (shipped != NULL)
        f = fopen(shipped, "rb");
    free(shipped);
    if (f == NULL) {
        errno = fault;
        return err_sys(
            e, TA_EFORMAT,
            "%s is neither a readable file nor a shipped workload (run_single, run_double)",
            r->input);
    }
    int rc = read_stream(f, r->input, &r->text, e);
    fclose(f);
    return rc;
}

static bool is_capture(const struct buf *b)
{
    static const uint8_t magics[][4] = {{0x1F, 0x8B, 0x08, 0x00}, {0x1F, 0x8B, 0x08, 0x04},
                                        {0x0A, 0x0D, 0x0D, 0x0A}, {0xD4, 0xC3, 0xB2, 0xA1},
                                        {0x4D, 0x3C, 0xB2, 0xA1}, {0xA1, 0xB2, 0xC3, 0xD4},
                                        {0xA1, 0xB2, 0x3C, 0x4D}};
    for (size_t i = 0; b->n >= 4 && i < sizeof magics / sizeof *magics; i++) {
        if (memcmp(b->p, magics[i], 4) == 0)
            return true;
    }
    return false;
}

/* --- the plan --------------------------------------------------------------------------------- */

static int reach(struct replay *r, struct err *e)
{
    int64_t timeout_ns = r->timeout_ns < reach_ns ? r->timeout_ns : reach_ns;
    return r->target.addr_bytes > 0 ? TA_OK : target_reach(&r->target, timeout_ns, e);
}

static int find_model(struct replay *r, const struct json *spec, struct err *e)
{
    if (r->model == NULL)
        r->model = json_string(spec, "model");
    if (r->model != NULL)
        return TA_OK;
    if (r->target_url == NULL)
        return err_set(e, TA_EUSAGE,
                       "which model? Name it with --model, or give --target to ask the server");
    int rc = reach(r, e);
    struct target_says says;
    if (rc == TA_OK)
        rc = target_ask(&r->target, reach_ns, &says, e);
    if (rc != TA_OK)
        return rc;
    r->model = r->asked_model = says.model;
    r->simulated = says.simulated;
    if (r->model == NULL)
        return err_set(e, TA_ESYS, "GET http://%s/v1/models names no model; name it with --model",
                       r->target.authority);
    log_info("model: %s", r->model);
    return TA_OK;
}

static int expand_spec(struct replay *r, struct slice text, struct err *e)
{
    struct err why;
    struct json *spec = text.n <= LIMIT_SPEC_BYTES ? json_parse(text.p, text.n, &why) : NULL;
    if (spec == NULL)
        return err_set(e, TA_EFORMAT, "%s: %.400s", r->input,
                       text.n <= LIMIT_SPEC_BYTES ? why.msg
                                                  : "larger than 64 MiB, the most a spec may have");
    int rc = find_model(r, spec, e);
    struct workload_options o = {.scale = r->scale,
                                 .max_tokens = r->max_tokens,
                                 .repeats = r->repeats,
                                 .model = r->model,
                                 .path = r->path};
    if (rc == TA_OK)
        rc = workload_expand(&r->plan, spec, &o, r->input, e);
    r->model = r->asked_model; /* the spec's is going */
    json_free(spec);
    return rc;
}

static int make_plan(struct replay *r, struct err *e)
{
    int rc = read_input(r, e);
    if (rc != TA_OK)
        return rc;
    struct slice text = {(const char *)r->text.p, r->text.n};
    if (is_capture(&r->text))
        rc = err_set(e, TA_EFORMAT,
                     "%s is a capture; expected a workload: a spec or a plan (see WORKLOAD.md)",
                     r->input);
    else if (plan_claims(text))
        rc = plan_read(&r->plan, text, r->input, e);
    else
        rc = expand_spec(r, text, e);
    buf_done(&r->text);
    return rc;
}

static int write_plan(const struct replay *r, struct err *e)
{
    const char *path = r->output == NULL || strcmp(r->output, "-") == 0 ? NULL : r->output;
    FILE *f = path == NULL ? stdout : fopen(path, "wb");
    if (f == NULL)
        return err_sys(e, TA_ESYS, "creating %s", path);
    struct buf line;
    buf_init(&line, (size_t)LIMIT_REQUEST_BODY_BYTES * 7);
    for (size_t i = 0; i < r->plan.requests.n; i++) {
        buf_clear(&line);
        plan_write_line(&r->plan, i, &line);
        fwrite(line.p, 1, line.n, f);
    }
    buf_done(&line);
    bool bad = fflush(f) != 0 || ferror(f);
    if (path != NULL)
        bad = fclose(f) != 0 || bad;
    return bad ? err_sys(e, TA_ESYS, "writing %s", path ? path : "stdout") : TA_OK;
}

/* --- the closing words ------------------------------------------------------------------------ */

/* "p50 12.3 us, p99 45 us, max 61 us" */
static const char *spread(int64_t *v, size_t n, char out[160])
{
    char p50[32], p99[32], most[32];
    snprintf(out, 160, "p50 %s, p99 %s, max %s", units_duration(sendlog_quantile(v, n, 0.5), p50),
             units_duration(sendlog_quantile(v, n, 0.99), p99),
             units_duration(sendlog_quantile(v, n, 1), most));
    return out;
}

static void print_outcomes(const struct sendlog *l, uint64_t unsent, FILE *to)
{
    fprintf(to, "outcomes    ");
    for (size_t i = 0; i < l->outcomes.n; i++)
        fprintf(to, "%s%s %" PRIu64, i ? ", " : "", l->outcomes.v[i].outcome, l->outcomes.v[i].n);
    if (unsent > 0)
        fprintf(to, "%snot sent %" PRIu64, l->outcomes.n ? ", " : "", unsent);
    fprintf(to, "; HTTP 2xx %" PRIu64 ", other status %" PRIu64 "\n", l->good,
            l->answered - l->good);
}

static void print_summary(const struct replay *r, struct driver_report *report, FILE *to)
{
    struct sendlog *l = &report->log;
    char took[32], line[160];
    fprintf(to, "requests    %" PRIu64 " of %zu answered in %s%s\n", l->answered,
            r->plan.requests.n, units_duration(report->took_ns, took),
            report->ended_by_signal ? ", ended by a signal" : "");
    print_outcomes(l, report->unsent, to);
    if (l->send_error_ns.n > 0)
        fprintf(to, "send error  %s (%zu requests that were due at a time)\n",
                spread(l->send_error_ns.v, l->send_error_ns.n, line), l->send_error_ns.n);
    else
        fprintf(to, "send error  none: each request started when the one before it ended\n");
    if (l->skew_ns.n > 0)
        fprintf(to, "release     skew %s (%zu groups)\n", spread(l->skew_ns.v, l->skew_ns.n, line),
                l->skew_ns.n);
    else
        fprintf(to, "release     no groups\n");
    if (strcmp(r->output, "-") == 0)
        fprintf(to, "trace       written to stdout; see: tokaudit analyze -\n");
    else
        fprintf(to, "trace       %s; see: tokaudit analyze %s\n", r->output, r->output);
}

/* --- the run ---------------------------------------------------------------------------------- */

static int parse_headers(const struct replay *r, struct plan_field *fields, struct arena *texts,
                         struct err *e)
{
    for (size_t i = 0; i < r->headers.n; i++) {
        const char *text = r->headers.v[i], *colon = strchr(text, ':');
        if (colon == NULL)
            return err_set(e, TA_EUSAGE, "--header '%.60s': expected 'NAME: VALUE'", text);
        fields[i].name = arena_text(texts, (struct slice){text, (size_t)(colon - text)});
        fields[i].value = arena_text(texts, slice_of(colon + 1 + strspn(colon + 1, " \t")));
        if (!plan_field_allowed(fields[i].name, fields[i].value))
            return err_set(e, TA_EUSAGE, "--header '%.60s': HTTP does not allow this name or value",
                           fields[i].name);
    }
    return TA_OK;
}

/* The pipe of a recorder around this process; -1: none. */
static int ledger_fd(void)
{
    const char *text = getenv("TOKAUDIT_LEDGER_FD");
    char *end = NULL;
    long fd = text != NULL ? strtol(text, &end, 10) : -1;
    return text != NULL && end != text && *end == '\0' && fd >= 0 && fd <= INT32_MAX ? (int)fd : -1;
}

static int open_trace(const struct replay *r, struct writer **out, struct err *e)
{
    char host[UV_MAXHOSTNAMESIZE];
    size_t n = sizeof host;
    char *command = mem_printf("tokaudit replay %s --target %s", r->input, r->target_url);
    struct writer_origin origin = {.vantage = "socket",
                                   .link = LINK_RAW,
                                   .snaplen = LIMIT_PACKET_BYTES,
                                   .host = uv_os_gethostname(host, &n) == 0 ? host : NULL,
                                   .command = command,
                                   .label = r->label,
                                   .simulated = r->simulated};
    int rc = writer_open(out, r->output, &origin, e);
    free(command);
    return rc;
}

static int drive(struct replay *r, struct driver_report *report, struct err *e)
{
    struct arena texts = {0};
    struct plan_field *fields = mem_array(r->headers.n + 1, sizeof *fields);
    struct writer *w = NULL;
    int rc = parse_headers(r, fields, &texts, e);
    if (rc == TA_OK)
        rc = reach(r, e);
    if (rc == TA_OK)
        rc = open_trace(r, &w, e);
    if (rc == TA_OK) {
        struct driver_options o = {.target = &r->target,
                                   .writer = w,
                                   .ledger_fd = ledger_fd(),
                                   .timeout_ns = r->timeout_ns,
                                   .fields = fields,
                                   .n_fields = r->headers.n};
        rc = driver_run(&r->plan, &o, report, e);
        struct err closing;
        if (writer_close(w, &closing) != TA_OK && rc == TA_OK) {
            *e = closing;
            rc = closing.code;
        }
    }
    free(fields);
    arena_free(&texts);
    return rc;
}

static int run(struct replay *r, int *status, struct err *e)
{
    int rc = make_plan(r, e);
    if (rc != TA_OK || r->plan_only)
        return rc != TA_OK ? rc : write_plan(r, e);
    struct driver_report report = {.unsent = 0};
    rc = drive(r, &report, e);
    if (rc == TA_OK) {
        print_summary(r, &report, strcmp(r->output, "-") == 0 ? stderr : stdout);
        *status = report.log.answered < r->plan.requests.n ? EXIT_UNANSWERED : 0;
    }
    sendlog_done(&report.log);
    return rc;
}

static int check_usage(struct replay *r, struct err *e)
{
    if (!(isfinite(r->scale) && r->scale > 0))
        return err_set(e, TA_EUSAGE, "--scale: expected a number above 0, found %g", r->scale);
    if (r->repeats == 0 || r->max_tokens == 0 || r->timeout_ns <= 0)
        return err_set(e, TA_EUSAGE, "--repeats, --max-tokens and --timeout: expected more than 0");
    if (r->path[0] != '/' || strpbrk(r->path, " \t\r\n") != NULL)
        return err_set(e, TA_EUSAGE,
                       "--path: expected a path such as /v1/chat/completions, found '%.60s'",
                       r->path);
    if (r->target_url == NULL && !r->plan_only)
        return err_set(e, TA_EUSAGE,
                       "which server? Give --target http://HOST:PORT (or --plan, to send nothing)");
    if (r->output == NULL && !r->plan_only)
        return err_set(e, TA_EUSAGE, "where to? Give -o FILE.pcapng.gz for the trace");
    return r->target_url != NULL ? target_parse(&r->target, r->target_url, e) : TA_OK;
}

static int status_of(int rc)
{
    switch (rc) {
    case TA_EUSAGE:
        return EXIT_USAGE;
    case TA_EFORMAT:
    case TA_ELIMIT:
        return EXIT_INPUT;
    default:
        return EXIT_ENVIRONMENT;
    }
}

static int cmd_replay_run(int argc, char **argv)
{
    struct replay r = {.path = "/v1/chat/completions",
                       .scale = 1,
                       .max_tokens = -1,
                       .repeats = -1,
                       .timeout_ns = INT64_C(3600) * NS_PER_S};
    int status = 0;
    struct err e = {0};
    int first = cli_begin(&cmd_replay, &r, argc, argv, &status);
    if (first < 0)
        return status;
    log_set_level((enum log_level)(LOG_WARN + (r.verbose > 2 ? 2 : r.verbose)));
    buf_init(&r.text, plan_bytes);
    int rc = TA_OK;
    if (argc - first != 1)
        rc = err_set(&e, TA_EUSAGE,
                     "expected one workload, found %d; shipped are run_single and run_double",
                     argc - first);
    else
        rc = check_usage(&r, &e);
    r.input = argv[first];
    if (rc == TA_OK)
        rc = run(&r, &status, &e);
    if (rc != TA_OK) {
        log_error("replay: %s", e.msg);
        status = status_of(rc);
    }
    if (rc == TA_EUSAGE)
        fprintf(stderr, "See: tokaudit help replay\n");
    plan_free(&r.plan);
    buf_done(&r.text);
    cli_strings_free(&r.headers);
    free(r.asked_model);
    free(r.simulated);
    return status;
}

void replay_print_versions(FILE *to)
{
    fprintf(to, "  libuv %s\n", uv_version_string());
    fprintf(to, "  OpenSSL %s\n", OpenSSL_version(OPENSSL_VERSION_STRING));
}

const struct cli_command cmd_replay = {
    .name = "replay",
    .summary = "drive a workload against a server and record every byte of it",
    .usage = "WORKLOAD --target URL -o FILE [options]",
    .description = "Sends the requests of a workload at the times, in the order and with the "
                   "concurrency it names, and\n"
                   "writes what the sockets sent and received, with times, into a trace that "
                   "`tokaudit analyze` reads like\n"
                   "any capture. No privileges are needed. The trace also holds the ledger: when "
                   "each request was due and\n"
                   "when it was sent.\n\n"
                   "WORKLOAD is a spec (a short JSON file), a plan (JSON lines, one request each), "
                   "or the name of a shipped\n"
                   "spec: run_single (8 prompts, one after the other) or run_double (the same, two "
                   "released at once).\n"
                   "replay/WORKLOAD.md describes both forms.\n\n"
                   "It speaks plain HTTP/1.1. It does not judge: tokens and rates come from "
                   "`tokaudit analyze`.\n\n"
                   "Exit status: 0 all requests were answered (with whatever HTTP status), 1 some "
                   "were not, 2 wrong usage,\n"
                   "3 no usable workload, 4 the server can't be reached or the trace not written.",
    .options = options,
    .examples = "  tokaudit replay run_single --target http://127.0.0.1:8000 -o single.pcapng.gz\n"
                "  tokaudit replay run_double --target http://127.0.0.1:8000 --scale 0.1 --repeats "
                "3 -o double.pcapng.gz\n"
                "  tokaudit replay run_double --model any --plan > plan.jsonl\n"
                "  tokaudit replay plan.jsonl --target http://127.0.0.1:8001 -o again.pcapng.gz\n",
    .run = cmd_replay_run,
};
