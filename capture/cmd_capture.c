/* `tokaudit capture`: options, rights, and what is said at the end. The recording is recorder.c. */
#include "capture/cmd_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "capture/capture_config.h"
#include "capture/command_text.h"
#include "capture/import.h"
#include "capture/load.h"
#include "capture/recorder.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/base/units.h"
#include "traces/limits.h"
#include "traces/rotation.h"

enum { EXIT_USAGE = 2, EXIT_NO_INPUT = 3, EXIT_ENVIRONMENT = 4 };
enum { COMMAND_BYTES = 4096 };

#define AT(field) offsetof(struct capture_config, field)

static const struct cli_option options[] = {
    {"interface", 'i', CLI_STRING, "NAME", AT(interface), "Capture there; by default on loopback.",
     NULL},
    {"read", 'r', CLI_STRINGS, "FILE", AT(read),
     "Instead of recording, make a trace of this capture (pcap, pcapng or a trace, gzip'd or not; "
     "- "
     "is stdin). Further FILEs may follow; they are joined in the order given.",
     NULL},
    {"port", 'p', CLI_STRINGS, "PORT", AT(ports),
     "Only TCP of this port; may be given several times. The servers that listen there are "
     "sampled. By default "
     "all TCP is recorded, and no server sampled.",
     NULL},
    {"filter", 0, CLI_STRING, "BPF", AT(filter),
     "Only what this filter passes (pcap-filter(7)), instead of -p.", NULL},
    {"output", 'o', CLI_STRING, "FILE", AT(output),
     "The trace; - is stdout. By default tokaudit-TIME.pcapng.gz, with the time in UTC.", NULL},
    {"rotate", 0, CLI_STRING, "SIZE|TIME", AT(rotate),
     "Write one file after another, each a whole trace that names the hash of the one before: "
     "run-00001.pcapng.gz, "
     "run-00002.pcapng.gz and so on; the next is begun when one is about so large (100MB, 1GiB) or "
     "after so long (10m, 1h). By default one file.",
     NULL},
    {"tail", 0, CLI_DURATION, "TIME", AT(tail_ns),
     "Go on for so long after COMMAND ended; by default 500ms.", NULL},
    {"duration", 0, CLI_DURATION, "TIME", AT(duration_ns),
     "End after this time; a COMMAND that still runs gets SIGTERM. By default no such end.", NULL},
    {"label", 0, CLI_STRING, "TEXT", AT(label), "What the run is called in reports.", NULL},
    {"redact", 0, CLI_CHOICE, "WHAT", AT(redact),
     "secrets, the default: values of Authorization, cookies, API keys and the like are "
     "overwritten "
     "before they reach the file. bodies: all text in them, too. none.",
     "secrets|bodies|none"},
    {"sample-hz", 0, CLI_INT, "N", AT(sample_hz),
     "Samples of memory and CPU a second, up to 100; by default 10, 0 turns them off.", NULL},
    {"snaplen", 0, CLI_SIZE, "BYTES", AT(snaplen),
     "Keep so much of each packet; by default 262144, all of it. What is cut off is missing in "
     "every figure.",
     NULL},
    {"buffer", 0, CLI_SIZE, "SIZE", AT(buffer_bytes),
     "Memory in the kernel for packets that wait; by default 96MiB. More, if packets are dropped.",
     NULL},
    {"sync", 0, CLI_FLAG, NULL, AT(sync),
     "Have what was written on the disk at once, so that a power cut costs no more than a crash.",
     NULL},
    {"verbose", 'v', CLI_COUNT, NULL, AT(verbose), "Say more.", NULL},
    {NULL, 0, CLI_FLAG, NULL, 0, NULL, NULL}};

/* COMMAND's options are its own: ours end at the first "--". Returns where that is, or argc. */
static int own_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i;
    }
    return argc;
}

/* As the manifest has it. */
static const char *redacted_of(enum redact_mode mode)
{
    return mode == REDACT_NOTHING ? NULL : redact_mode_name(mode);
}

/* What one capture holds, from the device to the trace. */
struct capture {
    const struct capture_config *config;
    char **command; /* NULL: none */
    uint16_t ports[CAPTURE_PORTS_MAX];
    char default_path[64];
    const char *path;
    struct buf filter;
    struct caller caller;
    struct source *source;
    struct writer *writer;
    struct sampler *sampler;
    struct recorder_result result;
    uint64_t packets, bytes, parts;
};

static void close_trace(void *ctx)
{
    struct capture *c = ctx;
    struct writer *w = c->writer;
    struct err e;
    c->writer = NULL;
    if (w != NULL && writer_close(w, &e) != TA_OK)
        log_error("%s", e.msg);
}

static int open_trace(struct capture *c, struct err *e)
{
    char host[256] = "";
    struct buf command;
    buf_init(&command, COMMAND_BYTES);
    if (c->command != NULL)
        command_text(&command, c->command);
    gethostname(host, sizeof host - 1);
    struct writer_origin origin = {.vantage = "libpcap",
                                   .link = source_link(c->source),
                                   .snaplen = source_snaplen(c->source),
                                   .interface = source_interface(c->source),
                                   .filter = buf_text(&c->filter),
                                   .host = host[0] ? host : NULL,
                                   .command = c->command ? buf_text(&command) : NULL,
                                   .label = c->config->label,
                                   .rotate_bytes = c->config->rotate_bytes,
                                   .rotate_ns = c->config->rotate_ns,
                                   .redacted = redacted_of(capture_config_redact(c->config))};
    int r = writer_open(&c->writer, c->path, &origin, e);
    buf_done(&command);
    return r == TA_OK && c->config->sync ? writer_sync(c->writer, e) : r;
}

/* The trace, or its first file, becomes the caller's. */
static int give_file(const struct capture *c, struct err *e)
{
    if (strcmp(c->path, "-") == 0)
        return TA_OK;
    if (!capture_config_rotates(c->config))
        return privileges_give(&c->caller, c->path, e);
    char *first = rotation_path(c->path, 1);
    int r = privileges_give(&c->caller, first, e);
    free(first);
    return r;
}

/* Later files are created without rights: better to know it now than in an hour. */
static int check_folder(const struct capture *c, struct err *e)
{
    const char *name = rotation_base(c->path);
    if (!c->caller.present || !capture_config_rotates(c->config))
        return TA_OK;
    char *folder = mem_printf("%.*s.", (int)(name - c->path), c->path);
    int r = faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0
                ? TA_OK
                : err_sys(e, TA_ESYS,
                          "the files that follow the first could not be created by the user who "
                          "called sudo: %s",
                          folder);
    free(folder);
    return r;
}

/* In this order: the device, which needs rights; the file; the servers' pids, which may need them
 * too; then without rights. */
static int open_all(struct capture *c, struct err *e)
{
    bool denied = false;
    struct source_want want = {.interface = c->config->interface,
                               .filter = buf_text(&c->filter),
                               .snaplen = (uint32_t)c->config->snaplen,
                               .buffer_bytes = c->config->buffer_bytes};
    int r = privileges_caller(&c->caller, e);
    if (r == TA_OK)
        r = source_open(&c->source, &want, &denied, e);
    if (r != TA_OK) {
        log_error("%s", e->msg);
        if (denied)
            privileges_print_ways(stderr);
        e->msg[0] = '\0';
        return r;
    }
    recorder_hold_signals();
    r = open_trace(c, e);
    if (r != TA_OK)
        return r;
    mem_on_exhausted(close_trace, c);
    if (c->config->sample_hz > 0)
        c->sampler = sampler_new(c->ports, c->config->ports.n);
    if (c->sampler != NULL)
        sampler_find(c->sampler);
    else if (c->config->sample_hz > 0)
        log_info("memory and CPU are not sampled: not known how on this system");
    r = give_file(c, e);
    if (r == TA_OK)
        r = privileges_drop(&c->caller, e);
    return r == TA_OK ? check_folder(c, e) : r;
}

static void say_start(const struct capture *c)
{
    char asked[32], granted[32];
    uint64_t ring = source_ring_bytes(c->source);
    log_info("ring: %s asked, %s granted", units_bytes(c->config->buffer_bytes, asked),
             ring ? units_bytes(ring, granted) : "an amount that can't be told");
    if (c->command == NULL) /* scripts wait for this line */
        fprintf(stderr, "tokaudit: capturing on %s; Ctrl-C ends it\n", source_interface(c->source));
}

static void say_redacted(const struct redact_totals *t)
{
    char n[32], bytes[32];
    if (t->secrets > 0)
        fprintf(stderr, "tokaudit: %s secrets were overwritten (--redact)\n",
                units_count(t->secrets, n));
    if (t->unjudged_bytes > 0)
        fprintf(stderr,
                "tokaudit: %s behind missing bytes or in lone IP fragments could not be judged, "
                "and were "
                "overwritten too; --redact none keeps them\n",
                units_bytes(t->unjudged_bytes, bytes));
}

/* "run.pcapng.gz", or "run-00001.pcapng.gz ... run-00007.pcapng.gz". */
static void name_files(const char *path, uint64_t parts, bool rotated, struct buf *out)
{
    if (!rotated) {
        text_terminal(out, slice_of(path));
        return;
    }
    char *first = rotation_path(path, 1), *last = rotation_path(path, parts);
    text_terminal(out, slice_of(first));
    if (parts > 1) {
        buf_puts(out, parts > 2 ? " ... " : " ");
        text_terminal(out, slice_of(last));
    }
    free(first);
    free(last);
}

static void say_end(struct capture *c)
{
    char packets[32], bytes[32], drops[32];
    struct buf path;
    buf_init(&path, 1 << 16);
    name_files(c->path, c->parts, capture_config_rotates(c->config), &path);
    uint64_t dropped = c->result.counts.dropped;
    fprintf(stderr, "tokaudit: %s: %s packets, %s, ", buf_text(&path),
            units_count(c->packets, packets), units_bytes(c->bytes, bytes));
    if (dropped == UINT64_MAX)
        fputs("drops unknown\n", stderr);
    else if (dropped == 0)
        fputs("none dropped\n", stderr);
    else
        fprintf(
            stderr,
            "%s DROPPED by the kernel: figures they touch are marked; a larger --buffer helps\n",
            units_count(dropped, drops));
    if (c->result.counts.if_dropped != UINT64_MAX && c->result.counts.if_dropped > 0)
        fprintf(stderr, "tokaudit: %s dropped by the interface\n",
                units_count(c->result.counts.if_dropped, drops));
    say_redacted(&c->result.redacted);
    if (c->result.ledger_dropped > 0)
        log_warn("%s lines on the ledger pipe were no JSON objects: dropped",
                 units_count(c->result.ledger_dropped, drops));
    if (c->parts > 2) {
        char *all = rotation_pattern(c->path);
        buf_clear(&path);
        text_terminal(&path, slice_of(all));
        free(all);
    }
    if (strcmp(c->path, "-") != 0)
        fprintf(stderr, "tokaudit: to look into it: tokaudit analyze %s\n", buf_text(&path));
    buf_done(&path);
}

static int record(struct capture *c, struct err *e)
{
    struct recorder_plan plan = {.source = c->source,
                                 .writer = c->writer,
                                 .sampler = c->sampler,
                                 .sample_hz = (int)c->config->sample_hz,
                                 .command = c->command,
                                 .caller = &c->caller,
                                 .redact = capture_config_redact(c->config),
                                 .tail_ns = c->config->tail_ns,
                                 .duration_ns = c->config->duration_ns};
    say_start(c);
    int r = recorder_run(&plan, &c->result, e);
    c->packets = writer_packets(c->writer);
    c->bytes = writer_bytes(c->writer);
    c->parts = writer_parts(c->writer);
    struct err closing;
    struct writer *w = c->writer;
    c->writer = NULL;
    int closed = writer_close(w, &closing);
    if (r == TA_OK && closed != TA_OK) {
        *e = closing;
        r = closed;
    }
    return r;
}

/* A failed capture's status, or COMMAND's. 126 and 127 come from a recorder that could not start
 * it. */
static int status_of(const struct capture *c, int r)
{
    if (r == TA_EUSAGE)
        return EXIT_USAGE;
    if (c->command == NULL)
        return r == TA_OK ? 0 : EXIT_ENVIRONMENT;
    int load = c->result.load_status;
    if (r == TA_OK || load == LOAD_CANNOT_RUN || load == LOAD_NOT_FOUND)
        return load;
    return LOAD_CAPTURE_FAILED;
}

static int capture(struct capture_config *config, char **command)
{
    struct err e = {.msg = ""};
    struct capture c = {.config = config, .command = command, .path = config->output};
    c.result.load_status = LOAD_CAPTURE_FAILED;
    if (c.path == NULL) {
        capture_config_output(c.default_path);
        c.path = c.default_path;
    }
    buf_init(&c.filter, 1 << 16);
    int r = capture_config_check(config, command != NULL, &e);
    if (r == TA_OK)
        r = capture_config_rotate(config, &e);
    if (r == TA_OK)
        r = capture_config_ports(config, c.ports, &c.filter, &e);
    if (r == TA_OK)
        r = open_all(&c, &e);
    if (r == TA_OK)
        r = record(&c, &e);
    if (r != TA_OK && e.msg[0] != '\0')
        log_error("%s", e.msg);
    if (r == TA_OK)
        say_end(&c);
    mem_on_exhausted(NULL, NULL);
    close_trace(&c);
    sampler_free(c.sampler);
    source_close(c.source);
    privileges_caller_done(&c.caller);
    buf_done(&c.filter);
    return status_of(&c, r);
}

/* --- capture --read --------------------------------------------------------------------------- */

/* libpcap divides the ring into blocks of 256 KiB, and of loopback's packets of 64 KiB three fit
 * one: a ring of this size holds 72 MiB of them (C3). */
static void say_import(const struct capture_config *c, const char *path,
                       const struct import_result *r)
{
    char packets[32], bytes[32], more[32];
    struct buf name;
    buf_init(&name, 1 << 16);
    name_files(path, r->parts, capture_config_rotates(c), &name);
    fprintf(stderr, "tokaudit: %s: %s packets, %s", buf_text(&name),
            units_count(r->packets, packets), units_bytes(r->bytes, bytes));
    if (r->left_out > 0)
        fprintf(stderr, ", %s left out", units_count(r->left_out, more));
    if (r->damaged > 0)
        fprintf(stderr, "; %s cut short or damaged, used for what is there",
                r->damaged == 1 ? "a source is" : "some sources are");
    fputc('\n', stderr);
    say_redacted(&r->redacted);
    if (r->dropped != UINT64_MAX && r->dropped > 0)
        log_warn("%s packets were dropped when this was recorded", units_count(r->dropped, more));
    buf_done(&name);
}

/* Parses what others made, so never as root (C20): the files are read as the user who called. */
static int import(struct capture_config *c, bool has_command)
{
    struct err e = {.msg = ""};
    struct caller caller = {.present = false};
    struct import_result result;
    uint16_t ports[CAPTURE_PORTS_MAX];
    char default_path[64];
    struct buf filter; /* the ports as text: not wanted here */
    buf_init(&filter, 1 << 16);
    capture_config_output(default_path);
    int r = capture_config_check_read(c, has_command, &e);
    if (r == TA_OK)
        r = capture_config_rotate(c, &e);
    struct import_plan plan = {.files = c->read.v,
                               .n_files = c->read.n,
                               .ports = ports,
                               .n_ports = c->ports.n,
                               .output = c->output != NULL ? c->output : default_path,
                               .label = c->label,
                               .rotate_bytes = c->rotate_bytes,
                               .rotate_ns = c->rotate_ns,
                               .redact = capture_config_redact(c)};
    if (r == TA_OK)
        r = capture_config_ports(c, ports, &filter, &e);
    if (r == TA_OK)
        r = privileges_caller(&caller, &e);
    if (r == TA_OK)
        r = privileges_drop(&caller, &e);
    if (r == TA_OK)
        r = import_run(&plan, &result, &e);
    if (r == TA_OK)
        say_import(c, plan.output, &result);
    else if (e.msg[0] != '\0')
        log_error("%s", e.msg);
    privileges_caller_done(&caller);
    buf_done(&filter);
    return r == TA_OK        ? 0
           : r == TA_EUSAGE  ? EXIT_USAGE
           : r == TA_EFORMAT ? EXIT_NO_INPUT
                             : EXIT_ENVIRONMENT;
}

/* ---------------------------------------------------------------------------------------------- */

/* Behind --read, operands are files too: the shell's *.pcap is many words. */
static int read_operands(struct capture_config *c, char **argv, int first, int own)
{
    if (first < own && c->read.n == 0) {
        fprintf(stderr,
                "tokaudit capture: COMMAND stands behind --, as in: tokaudit capture -- %s ...\n",
                argv[first]);
        return EXIT_USAGE;
    }
    size_t more = (size_t)(own - first);
    c->read.v = mem_resize(c->read.v, (c->read.n + more + 1) * sizeof *c->read.v);
    for (int i = first; i < own; i++)
        c->read.v[c->read.n++] = argv[i];
    return 0;
}

static int run(int argc, char **argv)
{
    int status;
    int own = own_arguments(argc, argv);
    struct capture_config config = capture_config_defaults;
    int first = cli_begin(&cmd_capture, &config, own, argv, &status);
    if (first < 0)
        return status;
    status = read_operands(&config, argv, first, own);
    if (status != 0)
        return status;
    log_set_level(config.verbose == 0 ? LOG_WARN : LOG_INFO);
    signal(SIGPIPE, SIG_IGN); /* a reader of stdout that goes away is an error of the writer */
    char **command = own + 1 < argc ? argv + own + 1 : NULL;
    status = config.read.n > 0 ? import(&config, command != NULL) : capture(&config, command);
    cli_strings_free(&config.read);
    cli_strings_free(&config.ports);
    return status;
}

const struct cli_command cmd_capture = {
    .name = "capture",
    .summary = "record a server's traffic, and its memory and CPU, while a load runs",
    .usage = "[options] [-- COMMAND [ARGUMENT...]] | --read FILE... [options]",
    .description =
        "Records what passes between a server and its clients, with the kernel's time stamps, into "
        "one file\n"
        "that `tokaudit analyze` and Wireshark read. COMMAND is the load: it starts when the "
        "capture runs, and\n"
        "the capture ends after it, with its exit status. Without COMMAND it ends with Ctrl-C.\n\n"
        "Capturing needs rights: sudo, or once `setcap cap_net_raw+ep` for this program. Under "
        "sudo, COMMAND\n"
        "runs as the user who called, the file is that user's, and the rights are dropped before "
        "it starts.\n\n"
        "COMMAND may write its ledger (traces/FORMAT.md), a JSON object a line, to the descriptor "
        "whose number\n"
        "TOKAUDIT_LEDGER_FD holds.\n\n"
        "With --read it makes such a file of captures that are there already. Packets keep their "
        "times; where the\n"
        "captures have several link types, packets become raw IP.\n\n"
        "It can't see Unix sockets, other network namespaces, or into TLS.\n\n"
        "Exit status: COMMAND's own; 125 if the capture failed, 126 or 127 if COMMAND could not be "
        "run or was\n"
        "not found. Without COMMAND: 0, or 4 if the capture failed. 3: no FILE could be used. 2: "
        "wrong usage.",
    .options = options,
    .examples = "  tokaudit capture -p 8000 -o run.pcapng.gz -- python bench.py\n"
                "  sudo tokaudit capture -p 8000 -p 8001 --duration 5m -o both.pcapng.gz\n"
                "  tokaudit capture --filter 'tcp port 8000 and host 10.0.0.7' -i eth0 -o - > "
                "run.pcapng.gz\n"
                "  tokaudit capture --read other.pcap -o run.pcapng.gz\n",
    .run = run,
};

void capture_print_versions(FILE *to)
{
    fprintf(to, "  %s\n", source_version());
}
