/* `tokaudit verify`: what traces/verify.h finds, in words. */
#include "capture/cmd_verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "traces/base/buf.h"
#include "traces/base/log.h"
#include "traces/base/text.h"
#include "traces/base/units.h"
#include "traces/verify.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_UNUSABLE = 3, EXIT_ENVIRONMENT = 4 };

struct config {
    bool quiet;
};

static const struct cli_option options[] = {{"quiet", 'q', CLI_FLAG, NULL,
                                             offsetof(struct config, quiet),
                                             "Print nothing about whole traces.", NULL},
                                            {NULL, 0, CLI_FLAG, NULL, 0, NULL, NULL}};

static void print_whole(const char *name, const struct verify_result *r)
{
    char members[32], packets[32], bytes[32];
    printf("%s: whole: %s members, %s packets with %s\n  sha256 %s\n", name,
           units_count(r->members, members), units_count(r->packets, packets),
           units_bytes(r->packet_bytes, bytes), r->sha256);
}

static void print_wrong(const char *name, const struct verify_result *r)
{
    char members[32], packets[32], bytes[32];
    printf("%s: %s: member %" PRIu64 ", at offset %" PRIu64 " of %" PRIu64 ": %s\n", name,
           r->state == VERIFY_UNCLOSED ? "UNCLOSED" : "BROKEN", r->member, r->offset, r->file_bytes,
           r->why);
    printf("  %s: %s members, %s packets with %s\n",
           r->state == VERIFY_UNCLOSED ? "intact, as far as it goes" : "before anything is wrong",
           units_count(r->members, members), units_count(r->packets, packets),
           units_bytes(r->packet_bytes, bytes));
}

/* The exit status for this file alone. */
static int verify_one(const char *path, bool quiet, bool *judged)
{
    struct verify_result r;
    struct err e = {.msg = ""};
    struct buf name;
    int rc = verify_file(path, &r, &e);
    if (rc != TA_OK) {
        log_error("%s", e.msg);
        return rc == TA_EFORMAT ? EXIT_UNUSABLE : EXIT_ENVIRONMENT;
    }
    buf_init(&name, 1 << 16);
    text_terminal(&name, slice_of(path));
    *judged |= r.state != VERIFY_FOREIGN;
    if (r.state == VERIFY_FOREIGN)
        log_error("%s is not a trace of tokaudit: %s", buf_text(&name), r.why);
    else if (r.state != VERIFY_WHOLE)
        print_wrong(buf_text(&name), &r);
    else if (!quiet)
        print_whole(buf_text(&name), &r);
    buf_done(&name);
    return r.state == VERIFY_WHOLE ? 0 : r.state == VERIFY_FOREIGN ? EXIT_UNUSABLE : EXIT_WRONG;
}

/* What is wrong with a trace counts more than what is no trace. */
static int worse(int a, int b)
{
    static const int rank[] = {
        [0] = 0, [EXIT_UNUSABLE] = 1, [EXIT_ENVIRONMENT] = 2, [EXIT_WRONG] = 3};
    return rank[a] > rank[b] ? a : b;
}

static int run(int argc, char **argv)
{
    int status;
    bool judged = false;
    struct config config = {false};
    int first = cli_begin(&cmd_verify, &config, argc, argv, &status);
    if (first < 0)
        return status;
    if (first == argc) {
        fputs("tokaudit verify: no trace is named. See: tokaudit help verify\n", stderr);
        return EXIT_USAGE;
    }
    status = 0;
    for (int i = first; i < argc; i++)
        status = worse(status, verify_one(argv[i], config.quiet, &judged));
    if (judged && !(config.quiet && status == 0))
        puts("This proves integrity, not authorship: who can write the file can make its hashes "
             "anew.");
    return status;
}

const struct cli_command cmd_verify = {
    .name = "verify",
    .summary = "check that a trace is whole and was not changed",
    .usage = "[options] TRACE...",
    .description =
        "Holds each gzip member of a trace against its check and against the SHA-256 that the next "
        "one has of\n"
        "all before it, and the whole against the counts in its closing block. A trace is\n\n"
        "  whole      as it was written\n"
        "  unclosed   it ends early (a crash, a full disk, a kill): what is there is intact\n"
        "  broken     something in it was changed, taken out or added; the first such place is "
        "named\n\n"
        "This proves integrity, not authorship: who can write the file can make its hashes anew. "
        "To hold a trace\n"
        "against a copy, compare the sha256 that is printed.\n\n"
        "Exit status: 0 all are whole; 1 one is unclosed or broken; 3 one is not a trace of "
        "tokaudit (other\n"
        "captures hold nothing to verify them by) or cannot be read; 4 the disk failed; 2 wrong "
        "usage.",
    .options = options,
    .examples = "  tokaudit verify run.pcapng.gz\n"
                "  tokaudit verify -q *.pcapng.gz && echo all whole\n",
    .run = run,
};
