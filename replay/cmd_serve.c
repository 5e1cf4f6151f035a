/* `tokaudit serve`: a simulated LLM server. */
#include "replay/cmd_serve.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "replay/server.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"

struct config {
    const char *profile, *listen, *ready_file, *truth;
    double time_scale;
    int64_t seed;
    int verbose;
};

static int run(int argc, char **argv);

/* clang-format off */
static const struct cli_option options[] = {
    {"profile", 'P', CLI_STRING, "NAME|FILE", offsetof(struct config, profile),
     "The server's character: 'ideal', 'collect-then-replay', or a JSON file of your own "
     "(PROFILES.md).", NULL},
    {"listen", 'l', CLI_STRING, "ADDRESS:PORT", offsetof(struct config, listen),
     "Where to listen; port 0 takes any that is free. Default 127.0.0.1:8000.", NULL},
    {"ready-file", 0, CLI_STRING, "FILE", offsetof(struct config, ready_file),
     "Write the port to FILE once the server listens; removed at its end.", NULL},
    {"time-scale", 0, CLI_DOUBLE, "X", offsetof(struct config, time_scale),
     "Shorten the reading of prompts to X of its time, 0 < X <= 1. The pace of decoding is never "
     "scaled. Default 1.", NULL},
    {"truth", 0, CLI_STRING, "FILE", offsetof(struct config, truth),
     "Write to FILE, as JSON lines, when the model made each token and when it left.", NULL},
    {"seed", 0, CLI_INT, "N", offsetof(struct config, seed),
     "Same seed and same request, same reply. Default 0.", NULL},
    {"verbose", 'v', CLI_COUNT, NULL, offsetof(struct config, verbose),
     "Say on stderr which requests are refused, and what was served at the end.", NULL},
    {NULL, 0, CLI_FLAG, NULL, 0, NULL, NULL},
};
/* clang-format on */

const struct cli_command cmd_serve = {
    .name = "serve",
    .summary = "be a simulated LLM server whose true speed is known",
    .usage = "--profile NAME|FILE [options]",
    .description = "A real HTTP server (OpenAI chat completions, streamed or not) whose model is a "
                   "formula: it reads a prompt and\n"
                   "makes tokens at the profile's rates, and lets them go in the profile's manner. "
                   "It tests any client or harness\n"
                   "against a known truth. A word is a token, of prompts and of replies; a reply "
                   "has as many tokens as max_tokens\n"
                   "says (128 by default). Every response says that it is simulated.\n\n"
                   "It ends on SIGINT or SIGTERM: status 0, or 1 if that cut a reply short.",
    .options = options,
    .examples =
        "  tokaudit serve --profile ideal\n"
        "  tokaudit serve --profile collect-then-replay --listen 127.0.0.1:0 --ready-file port\n"
        "  tokaudit serve --profile ./mine.json --time-scale 0.1 --truth truth.jsonl\n",
    .run = run,
};

struct watch {
    uv_signal_t signals[2];
    struct server *server;
};

static void stop(struct watch *w)
{
    server_close(w->server);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&w->signals[i], NULL);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    stop(handle->data);
}

static void watch_signals(uv_loop_t *loop, struct watch *w)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(loop, &w->signals[i]);
        w->signals[i].data = w;
        uv_signal_start(&w->signals[i], on_signal, numbers[i]);
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

static void announce(const struct server *s, const struct profile *p, double time_scale)
{
    printf("listening on %s\n", server_url(s));
    printf("simulated: profile %s, model %s, %g tok/s a request\n", p->name, p->model,
           p->decode_tps);
    if (time_scale < 1)
        printf("scaled: prompts are read in %g of their time; decoding and heartbeats are not "
               "scaled\n",
               time_scale);
    fflush(stdout);
}

static int check(const struct config *c, bool operands, struct err *e)
{
    if (c->profile == NULL)
        return err_set(e, TA_EUSAGE,
                       "no --profile: expected 'ideal', 'collect-then-replay' or a JSON file");
    if (operands)
        return err_set(e, TA_EUSAGE,
                       "takes no operands; the server's character comes with --profile");
    if (!(c->time_scale > 0 && c->time_scale <= 1))
        return err_set(e, TA_EUSAGE, "--time-scale: expected more than 0 and at most 1, found %g",
                       c->time_scale);
    return TA_OK;
}

/* Serves until a signal. */
static int serve(const struct config *c, const struct generator_options *o,
                 struct server_counts *counts, struct err *e)
{
    uv_loop_t loop;
    struct watch watch;
    uv_loop_init(&loop);
    struct server *s = server_open(&loop, c->listen, o, e);
    int rc = s == NULL ? e->code : TA_OK;
    watch.server = s;
    if (s != NULL) {
        watch_signals(&loop, &watch); /* before anyone is told that we are here */
        if (c->ready_file != NULL)
            rc = write_ready_file(c->ready_file, server_port(s), e);
        if (rc == TA_OK)
            announce(s, o->profile, c->time_scale);
        else
            stop(&watch);
        uv_run(&loop, UV_RUN_DEFAULT);
        *counts = server_counts(s);
        server_free(s);
    }
    if (rc == TA_OK && c->ready_file != NULL)
        unlink(c->ready_file);
    uv_loop_close(&loop);
    return rc;
}

static int status_of(int rc)
{
    return rc == TA_EUSAGE ? 2 : rc == TA_EFORMAT || rc == TA_ELIMIT ? 3 : 4;
}

static int run(int argc, char **argv)
{
    struct config c = {.listen = "127.0.0.1:8000", .time_scale = 1};
    struct profile p = {.name = NULL};
    struct generator_options o = {.profile = &p};
    struct server_counts counts = {0};
    struct err e;
    int status;
    int first = cli_begin(&cmd_serve, &c, argc, argv, &status);
    if (first < 0)
        return status;
    log_set_level((enum log_level)(LOG_WARN + (c.verbose > 2 ? 2 : c.verbose)));
    o.time_scale = c.time_scale;
    o.seed = (uint64_t)c.seed;
    int rc = check(&c, first < argc, &e);
    if (rc == TA_OK)
        rc = profile_read(c.profile, &p, &e);
    if (rc == TA_OK && c.truth != NULL && (o.truth = fopen(c.truth, "w")) == NULL)
        rc = err_sys(&e, TA_ESYS, "writing --truth %s", c.truth);
    if (rc == TA_OK)
        rc = serve(&c, &o, &counts, &e);
    if (o.truth != NULL && fclose(o.truth) != 0 && rc == TA_OK)
        rc = err_sys(&e, TA_ESYS, "writing --truth %s", c.truth);
    profile_done(&p);
    if (rc != TA_OK) {
        fprintf(stderr, "tokaudit serve: %s\n", e.msg);
        return status_of(rc);
    }
    log_info("%" PRIu64 " requests, %" PRIu64 " replies whole, %" PRIu64
             " abandoned by their clients, %" PRIu64 " cut short",
             counts.requests, counts.replies, counts.abandoned, counts.unanswered);
    return counts.unanswered > 0 ? 1 : 0;
}
