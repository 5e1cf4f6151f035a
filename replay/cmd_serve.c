/* `tokaudit serve`: the server's side, recorded or simulated. */
#include "replay/cmd_serve.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "replay/leftover.h"
#include "replay/playback.h"
#include "replay/server.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/base/same_file.h"
#include "traces/base/text.h"

struct config {
    const char *profile, *listen, *ready_file, *truth, *match;
    double time_scale, speed; /* NaN: not given */
    int64_t seed;             /* negative: not given */
    int64_t leftover_mb;      /* likewise */
    bool fast;
    int verbose;
    const char *const *traces; /* one, or the parts of one */
    size_t n_traces;
};

static int run(int argc, char **argv);

/* clang-format off */
static const struct cli_option options[] = {
    {"profile", 'P', CLI_STRING, "NAME|FILE", offsetof(struct config, profile),
     "Instead of a trace, a simulated server's character: 'ideal', 'collect-then-replay', ..., or a JSON file of your own "
     "(PROFILES.md has them all).", NULL},
    {"listen", 'l', CLI_STRING, "ADDRESS:PORT", offsetof(struct config, listen),
     "Where to listen; port 0 takes any that is free. Default 127.0.0.1:8000.", NULL},
    {"ready-file", 0, CLI_STRING, "FILE", offsetof(struct config, ready_file),
     "Write the port to FILE once the server listens; removed at its end.", NULL},
    {"match", 0, CLI_CHOICE, "HOW", offsetof(struct config, match),
     "Of a trace: which recorded request is the same. 'body' (default): method, target and every byte of the body; "
     "'any-model': but for the value of \"model\"; 'order': if no body is the same, the next of that method and target "
     "in the recorded order.", "body|any-model|order"},
    {"speed", 0, CLI_DOUBLE, "X", offsetof(struct config, speed),
     "Of a trace: play X times as fast. Default 1.", NULL},
    {"as-fast-as-possible", 0, CLI_FLAG, NULL, offsetof(struct config, fast),
     "Of a trace: wait for nothing; the segments stay the recorded ones.", NULL},
    {"time-scale", 0, CLI_DOUBLE, "X", offsetof(struct config, time_scale),
     "Of a profile: shorten the reading of prompts, and the cycle of stalls, to X of its time, 0 < X <= 1. The pace of "
     "decoding is never scaled. Default 1.", NULL},
    {"truth", 0, CLI_STRING, "FILE", offsetof(struct config, truth),
     "Write to FILE, as JSON lines, when the model made each token and when it left; of a trace, when each segment was due "
     "and when it left.", NULL},
    {"seed", 0, CLI_INT, "N", offsetof(struct config, seed),
     "Of a profile: same seed and same request, same reply. Default 0.", NULL},
    {"leftover-mb", 0, CLI_INT, "N", offsetof(struct config, leftover_mb),
     "Of a profile: leave a process behind that holds N MiB and ends some time after the server (PROFILES.md); 0: none. "
     "Default: the profile's.", NULL},
    {"verbose", 'v', CLI_COUNT, NULL, offsetof(struct config, verbose),
     "Say on stderr which requests are refused, which recorded exchange each gets, and what was served at the end.", NULL},
    {NULL, 0, CLI_FLAG, NULL, 0, NULL, NULL},
};
/* clang-format on */

const struct cli_command cmd_serve = {
    .name = "serve",
    .summary = "play the server's side: recorded answers with their timing, or a simulated server",
    .usage = "TRACE... [options]\n       tokaudit serve --profile NAME|FILE [options]",
    .description =
        "TRACE: each request gets the recorded response to the same request, byte for byte, in the "
        "recorded segments, at\n"
        "the recorded times after the request's last byte; of several the k-th time the k-th, "
        "after "
        "the last the first again.\n"
        "How the connection then went on (kept, closed, reset) is played too. Other requests get a "
        "404 that says why.\n"
        "Nothing in a reply tells that it is played: only what is printed here does. Several files "
        "are the parts of one\n"
        "rotation (capture --rotate), in their order. More: replay/SERVE.md.\n\n"
        "--profile: a real HTTP server whose model is a formula: it reads a prompt and makes "
        "tokens at the profile's rates,\n"
        "and lets them go in the profile's manner, in the APIs that it has (OpenAI, Anthropic, "
        "Ollama, llama.cpp), streamed or\n"
        "not. A word is a token, of prompts and of replies; a reply has as many tokens as "
        "max_tokens says (128 by default).\n"
        "Every response says that it is simulated.\n\n"
        "It ends on SIGINT or SIGTERM: status 0, or 1 if a request stayed without its answer: cut "
        "short by that, not\n"
        "recorded (404), or recorded with bytes missing (502).",
    .options = options,
    .examples =
        "  tokaudit serve run.pcapng.gz\n"
        "  tokaudit serve run.pcapng.gz --match any-model --speed 2 --truth truth.jsonl\n"
        "  tokaudit serve --profile ideal\n"
        "  tokaudit serve --profile quadratic-prefill --time-scale 0.01\n"
        "  tokaudit serve --profile collect-then-replay --listen 127.0.0.1:0 --ready-file port\n"
        "  tokaudit serve --profile ./mine.json --time-scale 0.1 --truth truth.jsonl\n",
    .run = run,
};

/* --- until a signal ------------------------------------------------------------------------ */

/* A server of either kind while it runs. */
struct front {
    uv_signal_t signals[2];
    void *server;
    void (*close)(void *server);
    uint16_t port;
    const char *url;
};

static void stop(struct front *f)
{
    f->close(f->server);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&f->signals[i], NULL);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    stop(handle->data);
}

static void watch_signals(uv_loop_t *loop, struct front *f)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(loop, &f->signals[i]);
        f->signals[i].data = f;
        uv_signal_start(&f->signals[i], on_signal, numbers[i]);
    }
    signal(SIGPIPE, SIG_IGN); /* a client that went away is an error of that write */
}

/* Whole or not at all: whoever waits for the file may read it at once. */
static int write_ready_file(const char *path, uint16_t port, struct err *e)
{
    char *draft = mem_printf("%s.%ld", path, (long)getpid());
    FILE *f = fopen(draft, "w");
    int rc = TA_OK;
    if (f == NULL || fprintf(f, "%u\n", port) < 0)
        rc = err_sys(e, TA_ESYS, "writing --ready-file %s", draft);
    if (f != NULL && fclose(f) != 0 && rc == TA_OK)
        rc = err_sys(e, TA_ESYS, "writing --ready-file %s", draft);
    if (rc == TA_OK && rename(draft, path) != 0)
        rc = err_sys(e, TA_ESYS, "writing --ready-file %s", path);
    if (rc != TA_OK)
        unlink(draft);
    free(draft);
    return rc;
}

/* Serves until a signal: what is said is said once clients can come, and the signals are caught
 * before anyone is told that we are here. */
static int serve(const struct config *c, uv_loop_t *loop, struct front *f,
                 void (*announce)(const struct config *c, const void *what), const void *what,
                 struct err *e)
{
    int rc = TA_OK;
    watch_signals(loop, f);
    if (c->ready_file != NULL)
        rc = write_ready_file(c->ready_file, f->port, e);
    if (rc == TA_OK) {
        printf("listening on %s\n", f->url);
        announce(c, what);
        fflush(stdout);
    } else {
        stop(f);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    if (rc == TA_OK && c->ready_file != NULL)
        unlink(c->ready_file);
    return rc;
}

/* --- a simulated server ----------------------------------------------------------------------- */

struct simulated {
    const struct profile *p;
    pid_t leftover; /* 0: none */
};

static void announce_scale(const struct profile *p, double x)
{
    printf("scaled: prompts are read in %g of their time", x);
    if (p->stall_for_ns > 0)
        printf(", stalls and what is between them last %g of theirs", x);
    printf("; decoding%s and keep-alives are not scaled\n",
           p->event_cost_ns > 0 ? ", the cost of events" : "");
}

static void announce_profile(const struct config *c, const void *what)
{
    const struct simulated *s = what;
    const struct profile *p = s->p;
    printf("simulated: profile %s, model %s, %g tok/s a request\n", p->name, p->model,
           p->decode_tps);
    printf("paths:");
    for (const struct dialect *const *d = p->dialects; *d != NULL; d++)
        printf(" %s", (*d)->path);
    printf("\n");
    if (p->stall_for_ns > 0)
        printf("stalls: after every %g s, %g tok/s for %g s\n", (double)p->stall_every_ns / 1e9,
               p->stall_tps, (double)p->stall_for_ns / 1e9);
    if (c->time_scale < 1)
        announce_scale(p, c->time_scale);
    if (s->leftover > 0)
        printf("left over: process %lld holds %lld MiB and ends %g s after this one\n",
               (long long)s->leftover, (long long)p->leftover_mb, (double)p->leftover_for_ns / 1e9);
}

static void close_server(void *server)
{
    server_close(server);
}

static int leave_over(const struct config *c, struct profile *p, pid_t *pid, struct err *e)
{
    if (c->leftover_mb >= 0)
        p->leftover_mb = c->leftover_mb;
    if (p->leftover_mb == 0)
        return TA_OK;
    if (p->leftover_for_ns == 0)
        p->leftover_for_ns = (int64_t)60 * NS_PER_S;
    return leftover_start(p->leftover_mb, p->leftover_for_ns, pid, e);
}

static int run_profile(const struct config *c, FILE *truth, uint64_t *unanswered, struct err *e)
{
    struct profile p = {.name = NULL};
    struct simulated what = {&p, 0};
    struct generator_options o = {.profile = &p, .truth = truth};
    uv_loop_t loop;
    int rc = profile_read(c->profile, &p, e);
    if (rc != TA_OK) {
        profile_done(&p);
        return rc;
    }
    o.time_scale = isnan(c->time_scale) ? 1 : c->time_scale;
    o.seed = c->seed < 0 ? 0 : (uint64_t)c->seed;
    uv_loop_init(&loop);
    struct server *s = server_open(&loop, c->listen, &o, e);
    rc = s == NULL ? e->code : TA_OK;
    if (s != NULL && (rc = leave_over(c, &p, &what.leftover, e)) != TA_OK) {
        server_close(s);
        uv_run(&loop, UV_RUN_DEFAULT);
    } else if (s != NULL) {
        struct front f = {
            .server = s, .close = close_server, .port = server_port(s), .url = server_url(s)};
        rc = serve(c, &loop, &f, announce_profile, &what, e);
        struct server_counts n = server_counts(s);
        log_info("%" PRIu64 " requests, %" PRIu64 " replies whole, %" PRIu64
                 " abandoned by their clients, %" PRIu64 " cut short",
                 n.requests, n.replies, n.abandoned, n.unanswered);
        *unanswered = n.unanswered;
    }
    server_free(s);
    uv_loop_close(&loop);
    profile_done(&p);
    return rc;
}

/* --- a recorded one --------------------------------------------------------------------------- */

/* What a trace holds of answers. */
struct stock {
    size_t requests, served, cut, by_flaw[RECORDING_REDACTED + 1];
};

static struct stock stock_of(const struct recording *r)
{
    struct stock s = {.requests = r->exchanges.n};
    for (size_t i = 0; i < r->exchanges.n; i++) {
        const struct recording_exchange *x = &r->exchanges.v[i];
        if (playback_can_serve(x)) {
            s.served++;
            s.cut += x->response_flaw == RECORDING_CUT || x->response_flaw == RECORDING_NONE;
        } else {
            s.by_flaw[x->response_flaw]++;
        }
    }
    return s;
}

/* What a trace says of itself, and its name, may be anything. */
static void print_safely(const char *before, const char *text, const char *after)
{
    struct buf shown;
    if (text == NULL)
        return;
    buf_init(&shown, 1 << 16);
    text_terminal(&shown, (struct slice){text, strnlen(text, 4096)});
    printf("%s%s%s", before, buf_text(&shown), after);
    buf_done(&shown);
}

static const char *s_of(size_t n)
{
    return n == 1 ? "" : "s";
}

static void announce_trace(const struct config *c, const void *what)
{
    const struct recording *r = what;
    struct stock s = stock_of(r);
    print_safely("recorded: ", strcmp(c->traces[0], "-") == 0 ? "standard input" : c->traces[0],
                 "");
    print_safely(", run ", r->label, "");
    print_safely(", on ", r->host, "");
    printf(": %zu answer%s to %zu request%s; nothing in them tells that they are played\n",
           s.served, s_of(s.served), s.requests, s_of(s.requests));
    print_safely("simulated: the recorded server was profile ", r->simulated, "\n");
    if (r->redacted != NULL && strcmp(r->redacted, "bodies") == 0)
        printf("redacted: the recorded texts were overwritten, and are served so\n");
    for (size_t i = 0; i <= RECORDING_REDACTED; i++) {
        if (s.by_flaw[i] > 0)
            printf("not served: %zu response%s (502): %s\n", s.by_flaw[i], s_of(s.by_flaw[i]),
                   recording_flaw_text((enum recording_flaw)i));
    }
    if (s.cut > 0)
        printf("cut: %zu response%s, of which the recording has no end: served so far, then the "
               "connection is closed\n",
               s.cut, s_of(s.cut));
    if (r->truncated)
        printf("damaged: %s\n", r->note);
    if (r->opaque_conns > 0)
        printf("unread: %" PRIu64 " connections of TLS or HTTP/2\n", r->opaque_conns);
    if (c->fast)
        printf("timing: none, as fast as the client takes it\n");
    else if (!isnan(c->speed) && c->speed != 1) /* as given */
        printf("timing: %g times as fast as recorded\n", c->speed);
}

static void close_playback(void *server)
{
    playback_close(server);
}

static int check_recording(const struct config *c, const struct recording *r,
                           enum answers_match match, struct err *e)
{
    if (r->redacted != NULL && strcmp(r->redacted, "bodies") == 0 && match != ANSWERS_ORDER)
        return err_set(e, TA_EFORMAT,
                       "%s: the bodies were overwritten when it was recorded (--redact bodies): no "
                       "request can be told by its body. --match order serves what is left of the "
                       "answers, in the recorded order",
                       c->traces[0]);
    if (stock_of(r).served > 0)
        return TA_OK;
    return err_set(
        e, TA_EFORMAT,
        "%s: %s: %zu HTTP requests, %" PRIu64 " connections of TLS or HTTP/2, which are not read",
        c->traces[0], "no response that could be served", r->exchanges.n, r->opaque_conns);
}

static void report(const struct playback_counts *n)
{
    log_info("%" PRIu64 " requests, %" PRIu64 " replies played to their end (%" PRIu64
             " of them cut in the recording), %" PRIu64 " had been given before, %" PRIu64
             " abandoned by their clients",
             n->requests, n->replies, n->cut, n->again, n->abandoned);
    log_info("%" PRIu64 " segments, %" PRIu64
             " more than 1 ms after they were due, at worst %.3f ms",
             n->segments, n->late, (double)n->latest_ns / 1e6);
    if (n->unmatched + n->unusable + n->unanswered > 0)
        log_warn("%" PRIu64 " of %" PRIu64 " requests without their answer: %" PRIu64
                 " not recorded (404), %" PRIu64 " recorded with bytes missing (502), %" PRIu64
                 " cut short by the end",
                 n->unmatched + n->unusable + n->unanswered, n->requests, n->unmatched, n->unusable,
                 n->unanswered);
}

static int play(const struct config *c, const struct playback_options *o, uint64_t *unanswered,
                struct err *e)
{
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct playback *p = playback_open(&loop, c->listen, o, e);
    int rc = p == NULL ? e->code : TA_OK;
    if (p != NULL) {
        struct front f = {
            .server = p, .close = close_playback, .port = playback_port(p), .url = playback_url(p)};
        rc = serve(c, &loop, &f, announce_trace, o->recording, e);
        struct playback_counts n = playback_counts(p);
        report(&n);
        *unanswered = n.unmatched + n.unusable + n.unanswered;
    }
    playback_free(p);
    uv_loop_close(&loop);
    return rc;
}

static int run_trace(const struct config *c, FILE *truth, uint64_t *unanswered, struct err *e)
{
    struct recording r;
    struct playback_options o = {.recording = &r, .truth = truth, .match = ANSWERS_BODY};
    o.speed = c->fast ? 0 : isnan(c->speed) ? 1 : c->speed;
    if (c->match != NULL)
        answers_match_of(c->match, &o.match);
    int rc = recording_read_parts(&r, c->traces, c->n_traces, e);
    if (rc == TA_OK)
        rc = check_recording(c, &r, o.match, e);
    if (rc == TA_OK)
        rc = play(c, &o, unanswered, e);
    recording_free(&r);
    return rc;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int check_trace(const struct config *c, struct err *e)
{
    if (!isnan(c->time_scale) || c->seed >= 0 || c->leftover_mb >= 0)
        return err_set(e, TA_EUSAGE,
                       "%s belongs to --profile; the pace of a trace is changed by --speed",
                       c->seed >= 0          ? "--seed"
                       : c->leftover_mb >= 0 ? "--leftover-mb"
                                             : "--time-scale");
    if (c->fast && !isnan(c->speed))
        return err_set(e, TA_EUSAGE, "--speed and --as-fast-as-possible: expected one of them");
    if (!isnan(c->speed) && !(c->speed >= 1e-3 && c->speed <= 1e6))
        return err_set(e, TA_EUSAGE, "--speed: expected 0.001 to 1000000, found %g", c->speed);
    return TA_OK;
}

static int check(const struct config *c, int operands, struct err *e)
{
    if (c->profile == NULL && operands == 0)
        return err_set(e, TA_EUSAGE,
                       "expected a trace, or --profile with a name such as 'ideal' or a JSON file");
    if (c->profile == NULL)
        return check_trace(c, e);
    if (operands > 0)
        return err_set(e, TA_EUSAGE,
                       "takes no operands with --profile: expected a trace or a profile");
    if (c->match != NULL || !isnan(c->speed) || c->fast)
        return err_set(e, TA_EUSAGE,
                       "--match, --speed and --as-fast-as-possible belong to a trace, not to "
                       "--profile");
    if (!isnan(c->time_scale) && !(c->time_scale > 0 && c->time_scale <= 1))
        return err_set(e, TA_EUSAGE, "--time-scale: expected more than 0 and at most 1, found %g",
                       c->time_scale);
    if (c->leftover_mb > 1 << 20)
        return err_set(e, TA_EUSAGE, "--leftover-mb: expected 0 to %d, found %lld", 1 << 20,
                       (long long)c->leftover_mb);
    return TA_OK;
}

/* Nothing is opened yet. */
static int check_files(const struct config *c, struct err *e)
{
    const struct {
        const char *path, *option;
    } outputs[] = {{c->truth, "--truth"}, {c->ready_file, "--ready-file"}};
    int rc = TA_OK;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        if (c->profile != NULL)
            rc = same_file_refuse(c->profile, outputs[i].path, outputs[i].option, e);
        for (size_t k = 0; k < c->n_traces && rc == TA_OK; k++)
            rc = same_file_refuse(c->traces[k], outputs[i].path, outputs[i].option, e);
        if (rc != TA_OK)
            return rc;
    }
    if (c->truth != NULL && c->ready_file != NULL &&
        (strcmp(c->truth, c->ready_file) == 0 || same_file(c->truth, c->ready_file)))
        return err_set(e, TA_EUSAGE, "--truth and --ready-file are both %s: expected two files",
                       c->truth);
    return TA_OK;
}

static int status_of(int rc)
{
    return rc == TA_EUSAGE ? 2 : rc == TA_EFORMAT || rc == TA_ELIMIT ? 3 : 4;
}

static int run(int argc, char **argv)
{
    struct config c = {.listen = "127.0.0.1:8000",
                       .time_scale = (double)NAN,
                       .speed = (double)NAN,
                       .seed = -1,
                       .leftover_mb = -1};
    FILE *truth = NULL;
    uint64_t unanswered = 0;
    struct err e;
    int status;
    int first = cli_begin(&cmd_serve, &c, argc, argv, &status);
    if (first < 0)
        return status;
    log_set_level((enum log_level)(LOG_WARN + (c.verbose > 2 ? 2 : c.verbose)));
    c.traces = (const char *const *)argv + first;
    c.n_traces = (size_t)(argc - first);
    int rc = check(&c, argc - first, &e);
    if (rc == TA_OK)
        rc = check_files(&c, &e);
    if (rc == TA_OK && c.truth != NULL && (truth = fopen(c.truth, "w")) == NULL)
        rc = err_sys(&e, TA_ESYS, "writing --truth %s", c.truth);
    if (rc == TA_OK)
        rc = c.profile != NULL ? run_profile(&c, truth, &unanswered, &e)
                               : run_trace(&c, truth, &unanswered, &e);
    if (truth != NULL && fclose(truth) != 0 && rc == TA_OK)
        rc = err_sys(&e, TA_ESYS, "writing --truth %s", c.truth);
    if (rc != TA_OK) {
        fprintf(stderr, "tokaudit serve: %s\n", e.msg);
        return status_of(rc);
    }
    return unanswered > 0 ? 1 : 0;
}
