/* `tokaudit replay`: drives a workload against a server, and records every byte of it. */
#include "replay/cmd_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "replay/driver.h"
#include "replay/replay_plan.h"
#include "replay/summary.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/base/same_file.h"
#include "traces/base/units.h"
#include "traces/limits.h"
#include "traces/link.h"

enum { EXIT_UNANSWERED = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_ENVIRONMENT = 4 };

#define AT(member) offsetof(struct replay, member)

static const struct cli_option options[] = {
    {"target", 't', CLI_STRING, "URL", AT(target_url),
     "the server, as in http://127.0.0.1:8000; https:// is verified", NULL},
    {"output", 'o', CLI_STRING, "FILE", AT(output),
     "the trace (.pcapng.gz; - is stdout), or with --plan the plan (default stdout)", NULL},
    {"mode", 0, CLI_CHOICE, "MODE", AT(mode_name),
     "recorded (default): as the trace or workload says; closed: each request waits for the one it "
     "waited for in the recording; barrier: likewise, and what was sent together is released "
     "together; rate; concurrency",
     "recorded|closed|barrier|rate|concurrency"},
    {"rate", 0, CLI_DOUBLE, "R", AT(rate), "so many requests a second, whether answers come or not",
     NULL},
    {"arrivals", 0, CLI_CHOICE, "KIND", AT(arrivals), "of --rate: constant (default) or poisson",
     "constant|poisson"},
    {"seed", 0, CLI_INT, "N", AT(seed),
     "of --arrivals poisson and of the text made for another tool's file (default 0)", NULL},
    {"concurrency", 0, CLI_INT, "N", AT(concurrency),
     "so many requests in flight: the next starts when any has ended", NULL},
    {"speed", 0, CLI_DOUBLE, "X", AT(speed), "divide all times and pauses by X (default 1)", NULL},
    {"repeat", 0, CLI_INT, "N", AT(repeat),
     "the whole again after its end, N times in all (of a spec: its repeats)", NULL},
    {"warmup", 0, CLI_INT, "N", AT(warmup),
     "mark the first N requests: they take no part in figures", NULL},
    {"requests", 0, CLI_INT, "N", AT(requests), "send at most N requests", NULL},
    {"duration", 0, CLI_DURATION, "TIME", AT(duration_ns),
     "start nothing new after this long; what is under way ends", NULL},
    {"model", 'm', CLI_STRING, "NAME", AT(model),
     "model named in the requests: of a trace or plan in place of the one there, of a spec "
     "(default: "
     "the spec's, else the first that GET /v1/models of the target names)",
     NULL},
    {"path", 0, CLI_STRING, "PATH", AT(path),
     "path of the requests of a spec, or of another tool's file (default /v1/chat/completions)",
     NULL},
    {"scale", 0, CLI_DOUBLE, "X", AT(scale), "multiply the prompt lengths of a spec (default 1)",
     NULL},
    {"max-tokens", 0, CLI_INT, "N", AT(max_tokens),
     "max_tokens of every request of a spec or another tool's file (default: as it says)", NULL},
    {"format", 0, CLI_STRING, "NAME", AT(foreign.format),
     "what the file of another tool is (default: told by its content, and said)", NULL},
    {"time-unit", 0, CLI_CHOICE, "UNIT", AT(foreign.time_unit),
     "of the times in such a file: s, ms, us or ns (default: as the format has them, and said)",
     "s|ms|us|ns"},
    {"barrier-ties", 0, CLI_FLAG, NULL, AT(foreign.barrier_ties),
     "its requests that are due at one time are released together", NULL},
    {"extra", 0, CLI_STRING, "JSON", AT(foreign.extra),
     "members added to the bodies made for it, such as '{\"ignore_eos\": true}'", NULL},
    {"header", 'H', CLI_STRINGS, "'NAME: VALUE'", AT(headers),
     "sent with every request, repeatable; not for credentials", NULL},
    {"key-env", 0, CLI_STRING, "[NAME=]VARIABLE", AT(key_env),
     "the environment variable with the API key: sent as the field NAME, else where the recording "
     "had it, else as Authorization: Bearer; it never reaches the trace",
     NULL},
    {"ca", 0, CLI_STRING, "FILE", AT(tls.ca_file),
     "of an https target: a certificate (PEM) to trust besides those of the system", NULL},
    {"insecure", 0, CLI_FLAG, NULL, AT(tls.insecure), "of an https target: take any certificate",
     NULL},
    {"timeout", 0, CLI_DURATION, "TIME", AT(timeout_ns),
     "give a request up after this long (default 1h)", NULL},
    {"label", 0, CLI_STRING, "NAME", AT(label),
     "what the server is called in reports (default: what it calls itself)", NULL},
    {"plan", 0, CLI_FLAG, NULL, AT(plan_only),
     "write the plan, one request a line, and send nothing", NULL},
    {"export", 0, CLI_CHOICE, "FORMAT", AT(foreign.export),
     "write the plan for another tool, say what that loses, and send nothing",
     "mooncake|aiperf|burstgpt|azure"},
    {"verbose", 'v', CLI_COUNT, NULL, AT(verbose), "say more; repeatable", NULL},
    {NULL, 0, CLI_FLAG, NULL, 0, NULL, NULL},
};

/* --- the run ---------------------------------------------------------------------------------- */

/* The pipe of a recorder around this process; -1: none. */
static int ledger_fd(void)
{
    const char *text = getenv("TOKAUDIT_LEDGER_FD");
    char *end = NULL;
    long fd = text != NULL ? strtol(text, &end, 10) : -1;
    return text != NULL && end != text && *end == '\0' && fd >= 0 && fd <= INT32_MAX ? (int)fd : -1;
}

/* Who reads the trace sees what was not sent as it was recorded: at its begin what is meant, for a
 * run that is killed; at its end what was done. */
static int write_note(const struct replay *r, struct writer *w, bool done, struct err *e)
{
    struct buf json;
    buf_init(&json, LIMIT_CUSTOM_JSON_BYTES);
    replaced_note(&r->replaced, &r->plan, r->target.authority, r->input, done, &json);
    int rc =
        json.n == 0 ? TA_OK : writer_custom(w, (struct slice){(const char *)json.p, json.n}, e);
    buf_done(&json);
    return rc;
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
    return rc == TA_OK ? write_note(r, *out, false, e) : rc;
}

/* What is added to every request. */
static int add_fields(struct replay *r, struct err *e)
{
    int rc = r->key_env == NULL ? TA_OK : added_fields_key(&r->added, r->key_env, &r->replaced, e);
    replaced_add(&r->replaced, r->added.fields.v, r->added.fields.n);
    return rc;
}

static int send_all(struct replay *r, struct writer *w, struct driver_report *report, struct err *e)
{
    struct driver_options o = {.target = &r->target,
                               .writer = w,
                               .ledger_fd = ledger_fd(),
                               .timeout_ns = r->timeout_ns,
                               .fields = r->added.fields.v,
                               .n_fields = r->added.fields.n,
                               .replaced = &r->replaced,
                               .shows_progress = log_is_live()};
    replaced_count_none(&r->replaced);
    return driver_run(&r->plan, &o, report, e);
}

/* Nothing can be sent: each request has that outcome. */
static int send_none(struct replay *r, struct writer *w, struct driver_report *report,
                     struct err *e)
{
    sendlog_init(&report->log, w, ledger_fd());
    replaced_count_none(&r->replaced);
    report->ended_by_signal = strcmp(r->outcome, "interrupted") == 0;
    return sendlog_add_unbegun(&report->log, &r->plan, r->outcome, !r->model_unknown, e);
}

static int drive(struct replay *r, struct driver_report *report, struct err *e)
{
    struct writer *w = NULL;
    int rc = add_fields(r, e);
    if (rc == TA_OK)
        rc = replay_reach(r, e);
    if (rc == TA_OK && r->outcome == NULL && (rc = driver_prepare(&r->plan, e)) == TA_ESYS) {
        r->outcome = "no-descriptor";
        r->obstacle = *e;
        rc = TA_OK;
    }
    replaced_count_plan(&r->replaced, &r->plan);
    if (rc == TA_OK)
        rc = open_trace(r, &w, e);
    if (rc == TA_OK)
        rc = r->outcome == NULL ? send_all(r, w, report, e) : send_none(r, w, report, e);
    if (rc == TA_OK)
        rc = write_note(r, w, true, e);
    if (w != NULL) {
        struct err closing;
        if (writer_close(w, &closing) != TA_OK && rc == TA_OK) {
            *e = closing;
            rc = closing.code;
        }
    }
    return rc;
}

static int run(struct replay *r, int *status, struct err *e)
{
    int rc = replay_plan(r, e);
    if (rc != TA_OK || !replay_sends(r))
        return rc != TA_OK ? rc : foreign_write(&r->foreign, &r->plan, r->output, e);
    struct driver_report report = {.unsent = 0};
    rc = drive(r, &report, e);
    if (rc == TA_OK) {
        struct summary s = {&report,    &r->replaced,    &r->plan,
                            &r->target, r->tls.insecure, r->output};
        summary_print(&s, strcmp(r->output, "-") == 0 ? stderr : stdout);
        uint64_t meant = report.ended_by_signal ? r->plan.requests.n : report.log.requests;
        *status = report.log.answered < meant ? EXIT_UNANSWERED : 0;
    }
    sendlog_done(&report.log);
    if (rc == TA_OK && r->outcome != NULL && !report.ended_by_signal) {
        *e = r->obstacle;
        rc = e->code;
    }
    return rc;
}

/* --rate and --concurrency say the mode by themselves. */
static int find_mode(struct replay *r, struct err *e)
{
    static const char *const names[] = {"recorded", "closed", "barrier", "rate", "concurrency"};
    bool rate = !isnan(r->rate), concurrency = r->concurrency >= 0;
    r->mode = rate ? MODES_RATE : concurrency ? MODES_CONCURRENCY : MODES_RECORDED;
    for (int i = 0; r->mode_name != NULL && i < (int)(sizeof names / sizeof *names); i++) {
        if (strcmp(names[i], r->mode_name) == 0)
            r->mode = i;
    }
    if (rate != (r->mode == MODES_RATE) || concurrency != (r->mode == MODES_CONCURRENCY))
        return err_set(
            e, TA_EUSAGE,
            "--rate R is the mode rate, --concurrency N the mode concurrency; found%s%s%s%s",
            r->mode_name ? " --mode " : "", r->mode_name ? r->mode_name : "", rate ? " --rate" : "",
            concurrency ? " --concurrency" : "");
    if (rate && !(r->rate > 0 && r->rate <= 1e6))
        return err_set(e, TA_EUSAGE,
                       "--rate: expected more than 0 and at most 1e6 a second, found %g", r->rate);
    if (r->concurrency == 0)
        return err_set(e, TA_EUSAGE, "--concurrency: expected more than 0, found 0");
    if (!rate && r->arrivals != NULL)
        return err_set(e, TA_EUSAGE, "--arrivals is about --rate; give that too");
    if ((rate || concurrency) && !isnan(r->speed))
        return err_set(e, TA_EUSAGE, "--speed is about recorded times; --%s leaves none",
                       rate ? "rate" : "concurrency");
    return TA_OK;
}

static int check_numbers(const struct replay *r, struct err *e)
{
    const struct {
        const char *option;
        double value;
    } factors[] = {{"scale", r->scale}, {"speed", r->speed}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        if (factors[i].value <= 0) /* NaN is not */
            return err_set(e, TA_EUSAGE, "--%s: expected a number above 0, found %g",
                           factors[i].option, factors[i].value);
    }
    const struct {
        const char *option;
        bool zero;
    } amounts[] = {{"repeat", r->repeat == 0},
                   {"max-tokens", r->max_tokens == 0},
                   {"requests", r->requests == 0},
                   {"timeout", r->timeout_ns <= 0},
                   {"duration", r->duration_ns == 0}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        if (amounts[i].zero)
            return err_set(e, TA_EUSAGE, "--%s: expected more than 0, found 0", amounts[i].option);
    }
    if (r->model != NULL && r->model[0] == '\0')
        return err_set(e, TA_EUSAGE, "--model: expected a name, found ''");
    return TA_OK;
}

static int check_files(const struct replay *r, struct err *e)
{
    int rc = same_file_refuse(r->input, r->output, "-o", e);
    if (rc == TA_OK && r->tls.ca_file != NULL)
        rc = same_file_refuse(r->tls.ca_file, r->output, "-o", e);
    return rc;
}

static int check_usage(struct replay *r, struct err *e)
{
    bool sends = replay_sends(r);
    int rc = check_numbers(r, e);
    if (rc == TA_OK)
        rc = find_mode(r, e);
    if (rc == TA_OK)
        rc = foreign_check(&r->foreign, e);
    if (rc == TA_OK)
        rc = added_fields_headers(&r->added, &r->headers, e);
    if (rc != TA_OK)
        return rc;
    if (r->path != NULL && (r->path[0] != '/' || strpbrk(r->path, " \t\r\n") != NULL))
        return err_set(e, TA_EUSAGE,
                       "--path: expected a path such as /v1/chat/completions, found '%.60s'",
                       r->path);
    if (!sends && (r->headers.n > 0 || r->key_env != NULL || r->label != NULL))
        return err_set(e, TA_EUSAGE,
                       "--%s is of what is sent; --%s sends nothing, and what it writes does not "
                       "hold it",
                       r->headers.n > 0     ? "header"
                       : r->key_env != NULL ? "key-env"
                                            : "label",
                       r->plan_only ? "plan" : "export");
    if (r->target_url == NULL && sends)
        return err_set(e, TA_EUSAGE,
                       "which server? Give --target URL (or --plan, to send nothing)");
    if (r->output == NULL && sends)
        return err_set(e, TA_EUSAGE, "where to? Give -o FILE.pcapng.gz for the trace");
    rc = check_files(r, e);
    if (rc == TA_OK && r->target_url != NULL)
        rc = target_parse(&r->target, r->target_url, e);
    if (rc == TA_OK && r->target_url != NULL)
        rc = target_secure(&r->target, &r->tls, e);
    return rc;
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
    struct replay r = {.scale = (double)NAN,
                       .rate = (double)NAN,
                       .speed = (double)NAN,
                       .max_tokens = -1,
                       .repeat = -1,
                       .warmup = -1,
                       .requests = -1,
                       .concurrency = -1,
                       .seed = -1,
                       .duration_ns = -1,
                       .timeout_ns = INT64_C(3600) * NS_PER_S};
    int status = 0;
    struct err e = {0};
    int first = cli_begin(&cmd_replay, &r, argc, argv, &status);
    if (first < 0)
        return status;
    log_set_level((enum log_level)(LOG_WARN + (r.verbose > 2 ? 2 : r.verbose)));
    signal(SIGPIPE, SIG_IGN); /* a server that closes early is an outcome */
    int rc = TA_OK;
    r.input = argv[first];
    if (argc - first != 1)
        rc = err_set(&e, TA_EUSAGE,
                     "expected one trace or workload, found %d; shipped workloads are run_single "
                     "and run_double",
                     argc - first);
    else
        rc = check_usage(&r, &e);
    if (rc == TA_OK)
        rc = run(&r, &status, &e);
    if (rc != TA_OK) {
        log_error("replay: %s", e.msg);
        status = status_of(rc);
    }
    if (rc == TA_EUSAGE)
        fprintf(stderr, "See: tokaudit help replay\n");
    target_done(&r.target);
    added_fields_done(&r.added);
    plan_free(&r.plan);
    replaced_done(&r.replaced);
    recording_free(&r.recording);
    foreign_free(&r.foreign);
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
    .summary = "send a recorded or described load again, and record every byte of it",
    .usage = "TRACE|WORKLOAD --target URL -o FILE [options]",
    .description =
        "Sends the requests of a trace or a workload at the times, in the order, over the "
        "connections and with the\n"
        "concurrency it names, and writes what the sockets sent and received, with times, into a "
        "trace that\n"
        "`tokaudit analyze` reads like any capture. No privileges are needed. The trace also holds "
        "the ledger: when\n"
        "each request was due and when it was sent.\n\n"
        "A TRACE is any capture that analyze reads. Its requests are sent byte for byte; only the "
        "host, the model if\n"
        "--model is given, and credentials, which are left out, are others, and the closing words "
        "and the trace say so.\n"
        "Requests that are not in it as they were (gaps, cut, overwritten by --redact bodies) are "
        "not sent, and named.\n\n"
        "A WORKLOAD is a spec (a short JSON file), a plan (JSON lines, one request each), or the "
        "name of a shipped\n"
        "spec: run_single (8 prompts, one after the other) or run_double (the same, two released "
        "at once).\n"
        "Files of other tools are workloads too: Mooncake, vLLM, Bailian, BurstGPT, Azure, "
        "ShareGPT, AIPerf, GuideLLM.\n"
        "replay/WORKLOAD.md describes all forms and the modes.\n\n"
        "It does not judge: tokens and rates come from `tokaudit analyze`.\n\n"
        "Exit status: 0 all requests were answered (with whatever HTTP status), 1 some were not, 2 "
        "wrong usage,\n"
        "3 no usable input, 4 the server can't be reached or the trace not written.",
    .options = options,
    .examples =
        "  tokaudit replay run.pcapng.gz --target http://127.0.0.1:8001 -o again.pcapng.gz\n"
        "  tokaudit replay run.pcapng.gz --mode closed --speed 2 --target http://127.0.0.1:8001 -o "
        "fast.pcapng.gz\n"
        "  tokaudit replay run.pcapng.gz --rate 20 --arrivals poisson --target "
        "http://127.0.0.1:8001 -o open.pcapng.gz\n"
        "  tokaudit replay run_single --target http://127.0.0.1:8000 -o single.pcapng.gz\n"
        "  tokaudit replay run_double --target http://127.0.0.1:8000 --scale 0.1 --repeat 3 -o "
        "double.pcapng.gz\n"
        "  tokaudit replay run.pcapng.gz --plan > plan.jsonl\n"
        "  tokaudit replay mooncake.jsonl --speed 10 --requests 100 --target "
        "http://127.0.0.1:8001 -o load.pcapng.gz\n"
        "  tokaudit replay run.pcapng.gz --export burstgpt -o run.csv\n",
    .run = cmd_replay_run,
};
