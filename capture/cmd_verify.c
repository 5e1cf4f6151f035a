/* `tokaudit verify`: what traces/verify.h finds, in words. */
#include "capture/cmd_verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "traces/base/buf.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
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

/* An operand and what became of it. */
struct checked {
    const char *path;
    struct verify_result r;
    bool rotated; /* it is a part of a rotation, as far as could be told */
};

/* Names on a terminal, made safe for it. */
struct names {
    struct buf text[2];
};

static const char *safe(struct buf *b, const char *name)
{
    buf_clear(b);
    text_terminal(b, slice_of(name));
    return buf_text(b);
}

/* --- a file -----------------------------------------------------------------------------------
 */

static void print_part(struct names *n, const struct verify_result *r)
{
    if (r->part.seq == 0)
        return;
    printf("  part %" PRIu64 " of a rotation", r->part.seq);
    if (r->part.seq > 1)
        printf(", after %s with sha256 %s", safe(&n->text[1], r->part.after), r->part.sha256);
    putchar('\n');
}

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
static int verify_one(struct checked *c, struct names *n, bool quiet, bool *judged)
{
    struct verify_result *r = &c->r;
    struct err e = {.msg = ""};
    int rc = verify_file(c->path, r, &e);
    if (rc != TA_OK) {
        log_error("%s", e.msg);
        return rc == TA_EFORMAT ? EXIT_UNUSABLE : EXIT_ENVIRONMENT;
    }
    const char *name = safe(&n->text[0], c->path);
    *judged |= r->state != VERIFY_FOREIGN;
    c->rotated = r->state != VERIFY_FOREIGN && r->part.seq > 0;
    if (r->state == VERIFY_FOREIGN) {
        log_error("%s is not a trace of tokaudit: %s", name, r->why);
        return EXIT_UNUSABLE;
    }
    if (r->state != VERIFY_WHOLE)
        print_wrong(name, r);
    else if (!quiet)
        print_whole(name, r);
    if (r->state != VERIFY_WHOLE || !quiet)
        print_part(n, r);
    return r->state == VERIFY_WHOLE ? 0 : EXIT_WRONG;
}

/* --- the chain between files -------------------------------------------------------------------
 */

static const struct checked *find(const struct checked *v, size_t n, const struct checked *after)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].rotated && verify_follows(&after->r, &v[i].r))
            return &v[i];
    }
    return NULL;
}

/* Why c does not follow the part that was given before it (NULL: it is the first). Is it wrong? */
static bool print_break(const struct checked *v, size_t n, const struct checked *before,
                        const struct checked *c, struct names *names)
{
    const struct checked *found = find(v, n, c);
    const struct rotation_part *part = &c->r.part;
    const char *name = safe(&names->text[0], c->path);
    if (found != NULL)
        printf("%s: OUT OF ORDER: part %" PRIu64 " goes behind part %" PRIu64 ", which is %s\n",
               name, part->seq, found->r.part.seq, safe(&names->text[1], found->path));
    else if (before == NULL)
        return false;
    else if (before->r.part.seq + 1 == part->seq)
        printf("%s: CHAIN BROKEN: part %" PRIu64 " was written after another file than %s, or "
               "that was changed since: its sha256 was %s\n",
               name, part->seq, safe(&names->text[1], before->path), part->sha256);
    else
        printf("%s: MISSING before it: part %" PRIu64 ", %s with sha256 %s\n", name, part->seq - 1,
               safe(&names->text[1], part->after), part->sha256);
    return true;
}

static void print_whole_chain(const struct checked *first, const struct checked *last)
{
    if (first != last)
        printf("parts %" PRIu64 " to %" PRIu64 " of a rotation: each names the sha256 of the one "
               "before it\n",
               first->r.part.seq, last->r.part.seq);
}

/* Parts of a rotation must stand in their order, with none left out between them. */
static int verify_chain(const struct checked *v, size_t n, bool quiet, struct names *names)
{
    const struct checked *first = NULL, *before = NULL;
    int status = 0;
    for (size_t i = 0; i < n; i++) {
        const struct checked *c = &v[i];
        if (!c->rotated)
            continue;
        if (before == NULL || !verify_follows(&c->r, &before->r)) {
            if (before != NULL && !quiet)
                print_whole_chain(first, before);
            if (c->r.part.seq > 1 && print_break(v, n, before, c, names))
                status = EXIT_WRONG;
            first = c;
        }
        before = c;
    }
    if (before != NULL && !quiet)
        print_whole_chain(first, before);
    if (before != NULL && !quiet && status == 0 && before->r.next[0] != '\0')
        printf("%s: the rotation goes on in %s, which was not looked at\n",
               safe(&names->text[0], before->path), safe(&names->text[1], before->r.next));
    return status;
}

/* What is wrong with a trace counts more than what is no trace. */
static int worse(int a, int b)
{
    static const int rank[] = {
        [0] = 0, [EXIT_UNUSABLE] = 1, [EXIT_ENVIRONMENT] = 2, [EXIT_WRONG] = 3};
    return rank[a] > rank[b] ? a : b;
}

static int verify_all(char **paths, size_t n, bool quiet)
{
    int status = 0;
    bool judged = false;
    struct names names;
    struct checked *v = mem_array(n, sizeof *v);
    buf_init(&names.text[0], 1 << 16);
    buf_init(&names.text[1], 1 << 16);
    for (size_t i = 0; i < n; i++) {
        v[i] = (struct checked){.path = paths[i]};
        status = worse(status, verify_one(&v[i], &names, quiet, &judged));
    }
    status = worse(status, verify_chain(v, n, quiet, &names));
    if (judged && !(quiet && status == 0))
        puts("This proves integrity, not authorship: who can write the file can make its hashes "
             "anew.");
    buf_done(&names.text[0]);
    buf_done(&names.text[1]);
    free(v);
    return status;
}

static int run(int argc, char **argv)
{
    int status;
    struct config config = {false};
    int first = cli_begin(&cmd_verify, &config, argc, argv, &status);
    if (first < 0)
        return status;
    if (first == argc) {
        fputs("tokaudit verify: no trace is named. See: tokaudit help verify\n", stderr);
        return EXIT_USAGE;
    }
    return verify_all(argv + first, (size_t)(argc - first), config.quiet);
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
        "Of the files of a rotation (capture --rotate) each names the SHA-256 of the one before: "
        "named in their order,\n"
        "they are held against it, and what is missing, out of order or changed is said.\n\n"
        "This proves integrity, not authorship: who can write the file can make its hashes anew. "
        "To hold a trace\n"
        "against a copy, compare the sha256 that is printed.\n\n"
        "Exit status: 0 all are whole; 1 one is unclosed or broken, or their chain is; 3 one is "
        "not a trace of "
        "tokaudit (other\n"
        "captures hold nothing to verify them by) or cannot be read; 4 the disk failed; 2 wrong "
        "usage.",
    .options = options,
    .examples = "  tokaudit verify run.pcapng.gz\n"
                "  tokaudit verify run-*.pcapng.gz\n"
                "  tokaudit verify -q *.pcapng.gz && echo all whole\n",
    .run = run,
};
