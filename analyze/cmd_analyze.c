/* `tokaudit analyze`: traces in, verdicts and figures out. Exit statuses: 0 done, 1 findings at or
 * above
 * --fail-on, 2 usage, 3 no input could be used, 4 the environment. */
#include "analyze/cmd_analyze.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/claims.h"
#include "analyze/claims_compare.h"
#include "analyze/claims_file.h"
#include "analyze/contradictions.h"
#include "analyze/fidelity.h"
#include "analyze/findings.h"
#include "analyze/load.h"
#include "analyze/metrics.h"
#include "analyze/model.h"
#include "analyze/peers.h"
#include "analyze/recount.h"
#include "analyze/report_html.h"
#include "analyze/report_json.h"
#include "analyze/report_text.h"
#include "analyze/runs.h"
#include "analyze/slo.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/base/same_file.h"

enum { EXIT_DONE = 0, EXIT_FINDINGS = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_ENVIRONMENT = 4 };

#define REPORT_BYTES ((size_t)4 << 30)

struct config {
    struct audit_options audit;
    struct cli_strings claims, claims_files;
    struct cli_strings tokenizers;
    const char *tokenizer_pattern;
    const char *fail_on, *format, *output, *report, *dialect;
    const char *slo, *percentile, *as, *claims_format;
    bool requests;
    int verbose;
};

#define AT(field) offsetof(struct config, field)

static const struct cli_option options[] = {
    {"claim", 'c', CLI_STRINGS, "CLAIM", AT(claims),
     "A published figure to hold against the bytes: NAME[.STAT][@REQUEST]=VALUE[UNIT].", NULL},
    {"claims", 0, CLI_STRINGS, "FILE", AT(claims_files),
     "A result file of another tool, or claims as JSON, JSON lines or CSV; '-' is standard input. "
     "Without a trace it is held against itself.",
     NULL},
    {"claims-format", 0, CLI_CHOICE, "NAME", AT(claims_format),
     "What the files of --claims are; by default told by their content.",
     "own|vllm|sglang|aiperf|aiperf-requests|genai-perf|genai-perf-requests|guidellm|"
     "llama-benchy|llmperf|llmperf-requests|inference-perf|inference-perf-requests"},
    {"claim-trace", 0, CLI_INT, "N", AT(audit.claim_trace),
     "Claims are about the N-th trace given, the others are there to compare; by default about "
     "all.",
     NULL},
    {"tolerance", 0, CLI_DOUBLE, "SHARE", AT(audit.tolerance),
     "A claim that is off by no more is confirmed; 0.01 by default.", NULL},
    {"vantage", 0, CLI_DURATION, "DURATION", AT(audit.vantage_ns),
     "How much later than the wire a client may have stamped each time; 1ms by default.", NULL},
    {"max-rate", 0, CLI_DOUBLE, "TOK/S", AT(audit.max_rate),
     "A decode rate that this machine cannot reach; none by default.", NULL},
    {"fail-on", 0, CLI_CHOICE, "LEVEL", AT(fail_on),
     "End with 1 if a finding or verdict is at or above fail, warn or info; never: not for any. By "
     "default fail "
     "with claims, else never.",
     "fail|warn|info|never"},
    {"report", 0, CLI_STRING, "DIR", AT(report),
     "Write report.html, analysis.json, the plots, their data and scripts into DIR.", NULL},
    {"format", 'f', CLI_CHOICE, "FORMAT", AT(format), "text or json; text by default.",
     "text|json"},
    {"output", 'o', CLI_STRING, "FILE", AT(output), "Write to FILE; standard output by default.",
     NULL},
    {"dialect", 0, CLI_CHOICE, "NAME", AT(dialect),
     "Read every POST as this API; by default each by its path and the shape of its body, else by "
     "the shape of the reply.",
     "openai-chat|openai-completions|openai-responses|anthropic-messages|ollama-chat|"
     "ollama-generate|llama-completion|tgi|sglang-generate|"
     "lmstudio-chat"},
    {"as", 0, CLI_CHOICE, "TOOL", AT(as),
     "Also print what that tool would have printed for this run, by its own definitions and under "
     "its own names; all: side by side.",
     "vllm|sglang|aiperf|guidellm|llama-benchy|inference-perf|llmperf|genai-perf|all"},
    {"slo", 0, CLI_STRING, "LIMITS", AT(slo),
     "What makes a request good, as in ttft=500ms,tpot=50ms,e2el=10s: gives goodput, and the share "
     "of all attempts.",
     NULL},
    {"percentile-method", 0, CLI_CHOICE, "METHOD", AT(percentile),
     "linear (numpy's, by default), nearest (rank), loadgen (index floor(n p)), or weighted (a "
     "step; figures per token by their tokens).",
     "linear|nearest|loadgen|weighted"},
    {"tokenizer", 0, CLI_STRINGS, "[MODEL=]FILE", AT(tokenizers),
     "Count the text of each reply again with the model's own tokenizer.json (BPE) or .tiktoken; "
     "MODEL=: only where the request asks for that model. Shown beside what was stated.",
     NULL},
    {"tokenizer-pattern", 0, CLI_STRING, "NAME", AT(tokenizer_pattern),
     "How a .tiktoken splits words: cl100k_base, o200k_base, o200k_harmony, p50k_base, r50k_base, "
     "qwen, qwen3_5, qwen3_6 or a regular expression; by default by the file's name.",
     NULL},
    {"requests", 'r', CLI_FLAG, NULL, AT(requests), "List each request in the text.", NULL},
    {"verbose", 'v', CLI_COUNT, NULL, AT(verbose), "Say more on standard error.", NULL},
    {.name = "runs, and when a decode rate is given", .kind = CLI_HEADING},
    {"warmup", 0, CLI_INT, "N", AT(audit.warmup),
     "Without a ledger, leave the first N requests of each run out as warm-up; 0 by default.",
     NULL},
    {"run-gap", 0, CLI_DURATION, "DURATION", AT(audit.run_gap_ns),
     "Without a ledger, a silence this long starts a new run; by default a trace is one run.",
     NULL},
    {"group-window", 0, CLI_DURATION, "DURATION", AT(audit.group_ns),
     "Without a ledger, requests sent within it were released together; 50ms by default.", NULL},
    {"gate-events", 0, CLI_INT, "N", AT(audit.gate_events),
     "A decode rate needs at least N output events; 3 by default.", NULL},
    {"gate-reads", 0, CLI_INT, "N", AT(audit.gate_reads),
     "A decode rate needs output in at least N different reads; 3 by default.", NULL},
    {"gate-tokens", 0, CLI_INT, "N", AT(audit.gate_tokens),
     "A decode rate needs at least N tokens; 8 by default.", NULL},
    {"gate-window", 0, CLI_DURATION, "DURATION", AT(audit.gate_window_ns),
     "A decode rate needs this long between first and last output event; 50ms by default.", NULL},
    {"gate-share", 0, CLI_DOUBLE, "SHARE", AT(audit.gate_share),
     "A decode rate needs this share of the request's time between them; 0.05 by default.", NULL},
    {.name = "thresholds of findings: the server", .kind = CLI_HEADING},
    {"stall-factor", 0, CLI_DOUBLE, "X", AT(audit.stall_factor),
     "A stall is a gap of more than X medians of its stream; 5 by default.", NULL},
    {"stall-correlation", 0, CLI_DOUBLE, "R", AT(audit.stall_correlation),
     "Stalls come in cycles if the excess time has this correlation with itself a period later; "
     "0.3 "
     "by default.",
     NULL},
    {"stall-score", 0, CLI_DOUBLE, "X", AT(audit.stall_score),
     "And if m R^2 of their times on that period (Rayleigh) is at least X; 8.4 by default.", NULL},
    {"stall-cycles", 0, CLI_INT, "N", AT(audit.stall_cycles),
     "And if at least N periods were seen; 5 by default.", NULL},
    {"stall-moments", 0, CLI_INT, "N", AT(audit.stall_moments),
     "Streams stall together if all that run do so at N moments; 3 by default.", NULL},
    {"stall-share", 0, CLI_DOUBLE, "SHARE", AT(audit.stall_share),
     "And lose this share of their time; 0.02 by default.", NULL},
    {"prefill-exponent", 0, CLI_DOUBLE, "X", AT(audit.prefill_exponent),
     "The time to first text is superlinear if it surely grows with a higher power of the prompt's "
     "length; 1.3 by default.",
     NULL},
    {"serial-share", 0, CLI_DOUBLE, "SHARE", AT(audit.serial_share),
     "A server queues if this share of requests waits for all before them; 0.8 by default.", NULL},
    {"slower-together", 0, CLI_DOUBLE, "X", AT(audit.slower_together),
     "A server degrades under concurrency if its speedup is surely below X; 0.95 by default.",
     NULL},
    {"faster-together", 0, CLI_DOUBLE, "X", AT(audit.faster_together),
     "And batches if it is surely above X; 1.05 by default.", NULL},
    {"cold-factor", 0, CLI_DOUBLE, "X", AT(audit.cold_factor),
     "The first request was cold if it waited X times as long as any other (and 3 MAD more); 2 "
     "by default.",
     NULL},
    {"cache-share", 0, CLI_DOUBLE, "SHARE", AT(audit.cache_share),
     "Prompts were known if this share of their tokens was cached, or repeats are so much faster; "
     "0.5 by default.",
     NULL},
    {"packing-spread", 0, CLI_DOUBLE, "X", AT(audit.packing_spread),
     "Rates may depend on the text if tokens an event differ by this factor; 1.3 by default.",
     NULL},
    {"bandwidth", 0, CLI_SIZE, "BYTES", AT(audit.bandwidth),
     "The server's memory delivers so much a second; with --active-bytes it bounds the rate of a "
     "stream.",
     NULL},
    {"active-bytes", 0, CLI_SIZE, "BYTES", AT(audit.active_bytes),
     "So many bytes of weights are read for each token.", NULL},
    {.name = "thresholds of findings: streams and their text", .kind = CLI_HEADING},
    {"clump-events", 0, CLI_DOUBLE, "X", AT(audit.clump_events),
     "Text comes in clumps if a read has more than X events; 3 by default.", NULL},
    {"clump-gap", 0, CLI_DURATION, "DURATION", AT(audit.clump_gap_ns),
     "And if so much time is between them; 10ms by default.", NULL},
    {"tokens-per-event", 0, CLI_DOUBLE, "X", AT(audit.tokens_per_event),
     "Events carry several tokens above X on average; 1.5 by default.", NULL},
    {"piece-share", 0, CLI_DOUBLE, "SHARE", AT(audit.piece_share),
     "And text was held back if one event among small ones has this share of it; 0.2 by default.",
     NULL},
    {"long-line", 0, CLI_SIZE, "BYTES", AT(audit.long_line),
     "An event that readers of lines may give up at; 64KiB by default.", NULL},
    {"repeat-share", 0, CLI_DOUBLE, "SHARE", AT(audit.repeat_share),
     "Text repeats itself if this share of its pieces is as those just before; 0.9 by default.",
     NULL},
    {.name = "thresholds of findings: what the server states", .kind = CLI_HEADING},
    {"bytes-per-token-max", 0, CLI_DOUBLE, "X", AT(audit.bytes_per_token_max),
     "More text a stated token, on average over a reply, is too much; 40 by default.", NULL},
    {"bytes-per-token-min", 0, CLI_DOUBLE, "X", AT(audit.bytes_per_token_min),
     "And less is too little; 0.5 by default.", NULL},
    {"count-tolerance", 0, CLI_DOUBLE, "SHARE", AT(audit.count_tolerance),
     "By which a stated count may differ from that of --tokenizer; 0.03 by default.", NULL},
    {"hidden-wait", 0, CLI_DURATION, "DURATION", AT(audit.hidden_wait_ns),
     "The server's prompt time leaves out a wait if the first text comes this much later; 100ms by "
     "default.",
     NULL},
    {"hidden-share", 0, CLI_DOUBLE, "SHARE", AT(audit.hidden_share),
     "And by this share of the time to first text; 0.2 by default.", NULL},
    {"stated-rate", 0, CLI_DOUBLE, "SHARE", AT(audit.stated_rate),
     "By which the server's own decode rate may differ from the wire's; 0.1 by default.", NULL},
    {.name = "thresholds of findings: requests and load", .kind = CLI_HEADING},
    {"early-stop", 0, CLI_DOUBLE, "SHARE", AT(audit.early_share),
     "An answer stopped early if it has less than this share of a max_tokens that others reach; "
     "0.5 "
     "by default.",
     NULL},
    {"timeout-spread", 0, CLI_DOUBLE, "SHARE", AT(audit.timeout_spread),
     "Requests ran into a timeout if they were given up at ages that differ by no more; 0.02 by "
     "default.",
     NULL},
    {"late", 0, CLI_DURATION, "DURATION", AT(audit.late_ns),
     "A request is late if it is sent so long after it was due; 20ms by default.", NULL},
    {"late-share", 0, CLI_DOUBLE, "SHARE", AT(audit.late_share),
     "And so many may be; 0.01 by default.", NULL},
    {"busy-before", 0, CLI_DURATION, "DURATION", AT(audit.busy_before_ns),
     "Replies from before the trace matter if they go on for so long beside its requests; 100ms by "
     "default.",
     NULL},
    {"ramp-share", 0, CLI_DOUBLE, "SHARE", AT(audit.ramp_share),
     "Ramp-up and drain matter from this share of the time; 0.1 by default.", NULL},
    {"burst-factor", 0, CLI_DOUBLE, "X", AT(audit.burst_factor),
     "A load begins with a burst if its first second has X times the later rate; 1.5 by default.",
     NULL},
    {"dilution", 0, CLI_DOUBLE, "X", AT(audit.dilution),
     "A mean hides a queue if it is X times the median and few requests make it; 2 by default.",
     NULL},
    {.name = "thresholds of findings: client and network", .kind = CLI_HEADING},
    {"connect-share", 0, CLI_DOUBLE, "SHARE", AT(audit.connect_share),
     "Connections matter if setting one up takes this share of the time to first text; 0.05 by "
     "default.",
     NULL},
    {"slow-connect", 0, CLI_DURATION, "DURATION", AT(audit.slow_connect_ns),
     "A connection that takes so long to be accepted was in trouble; 900ms by default.", NULL},
    {"unread", 0, CLI_DURATION, "DURATION", AT(audit.unread_ns),
     "Bytes that lie at the client for so long, unread, show that it was slow; 200ms by default, "
     "less than 50ms is not looked for.",
     NULL},
    {"unread-share", 0, CLI_DOUBLE, "SHARE", AT(audit.unread_share),
     "… if it is this share of the request's time, too; 0.05 by default.", NULL},
    {"late-ack", 0, CLI_DURATION, "DURATION", AT(audit.late_ack_ns),
     "An acknowledgement that comes so much later than the way to the client takes is late; 500ms "
     "by default, less is not looked for.",
     NULL},
    {"resent-share", 0, CLI_DOUBLE, "SHARE", AT(audit.resent_share),
     "Of segments that may be retransmissions; 0.001 by default.", NULL},
    {.name = NULL},
};

static int run(int argc, char **argv);

const struct cli_command cmd_analyze = {
    .name = "analyze",
    .summary = "recompute every figure from a trace, and judge claims",
    .usage = "[options] TRACE...",
    .description =
        "Recomputes times, rates and counts from the bytes in traces, says which of "
        "them the bytes cannot\n"
        "support and why, and judges published figures against them: confirmed, "
        "differs, impossible or\n"
        "not measurable, with frame numbers that Wireshark shows for the same file.\n\n"
        "A trace is a .pcapng or .pcapng.gz, by tokaudit or by others; '-' reads "
        "standard input. Files of a\n"
        "rotation (capture --rotate) that are named in their order are read as one "
        "trace. Tokens\n"
        "are counted as the server stated them, and beside that from the text where "
        "--tokenizer is given. What\n"
        "is encrypted (TLS) or HTTP/2 cannot be read.\n\n"
        "A decode rate is withheld, with the reason, unless the output came in enough "
        "events, reads and\n"
        "tokens over enough time: see the gates.\n\n"
        "A claim is NAME[.STAT][@REQUEST]=VALUE[UNIT]. NAME is a figure of the report "
        "(ttft, wall_tps,\n"
        "output_tps_user, output_tps, e2el, tpot, icl, speedup, ...) or, for a number "
        "published without a\n"
        "definition, one of rate, throughput, latency, itl, prompt_rate, input_tokens, "
        "output_tokens,\n"
        "requests, completed, failed, concurrency, memory. STAT is mean, p50, p90, p95, p99, min, "
        "max or sum; without it\n"
        "each is tried. REQUEST is the number that --requests shows. UNIT is tok/s, "
        "req/s, s, ms, us, ns, tokens,\n"
        "%, or bytes with kB, MB, GB, KiB, MiB, GiB.\n\n"
        "--claims takes the result files of vLLM bench serve, SGLang, AIPerf, GenAI-Perf, "
        "GuideLLM, llama-benchy,\n"
        "llmperf and inference-perf, old and new, summaries and rows: each figure is held "
        "against the bytes by\n"
        "that tool's own definition, each row against its request. Without a trace a file "
        "is held against\n"
        "itself: what its own figures make impossible. Claims may also be a JSON array, "
        "JSON lines or CSV of\n"
        "metric, value, unit, stat, scope, request, tool.\n\n"
        "Ends with 0 when done, 1 if something is at or above --fail-on, 3 if no trace "
        "could be used.",
    .options = options,
    .examples = "  tokaudit analyze run.pcapng.gz\n"
                "  tokaudit analyze run.pcapng.gz --claim rate=14000tok/s --claim ttft.p50=90ms\n"
                "  tokaudit analyze run.pcapng.gz --claims profile_export_aiperf.json\n"
                "  tokaudit analyze --claims benchmarks.json\n"
                "  tokaudit analyze single.pcapng.gz double.pcapng.gz --report out\n"
                "  tokaudit analyze run.pcapng.gz --tokenizer tokenizer.json\n"
                "  tokaudit analyze *.pcapng.gz --format json -o all.json\n",
    .run = run,
};

static int usage_error(const struct err *e)
{
    log_error("%s", e->msg);
    return EXIT_USAGE;
}

static int check(const struct config *c, int operands)
{
    struct err e;
    const struct audit_options *o = &c->audit;
    if (operands == 0 && c->claims_files.n == 0)
        err_set(&e, TA_EUSAGE,
                "analyze needs a trace, for example: tokaudit analyze run.pcapng.gz; or a result "
                "file to hold against itself: --claims FILE");
    else if (!(o->tolerance >= 0 && o->tolerance < 1))
        err_set(&e, TA_EUSAGE, "--tolerance: expected a share from 0 to below 1, found %g",
                o->tolerance);
    else if (!(o->gate_share >= 0 && o->gate_share <= 1))
        err_set(&e, TA_EUSAGE, "--gate-share: expected a share from 0 to 1, found %g",
                o->gate_share);
    else if (!(o->max_rate >= 0 && isfinite(o->max_rate)))
        err_set(&e, TA_EUSAGE, "--max-rate: expected a rate above 0, found %g", o->max_rate);
    else if (o->claim_trace > operands)
        err_set(&e, TA_EUSAGE, "--claim-trace: expected one of the %d traces given, found %" PRId64,
                operands, o->claim_trace);
    else
        return EXIT_DONE;
    return usage_error(&e);
}

/* Options that are words. */
static int read_words(struct config *c)
{
    struct err e;
    for (int m = PERCENTILE_LINEAR; c->percentile != NULL && m <= PERCENTILE_WEIGHTED; m++) {
        if (strcmp(c->percentile, percentile_name((enum percentile_method)m)) == 0)
            c->audit.percentile = (enum percentile_method)m;
    }
    if (c->slo != NULL && slo_parse(c->slo, &c->audit, &e) != TA_OK)
        return usage_error(&e);
    return EXIT_DONE;
}

static int add_claims(struct audit *a, const struct config *c)
{
    for (size_t i = 0; i < c->claims.n; i++) {
        struct err e;
        if (claims_add(a, c->claims.v[i], &e) != TA_OK)
            return usage_error(&e);
    }
    return EXIT_DONE;
}

/* One that cannot be read ends it: claims that are silently left out would pass. */
static int read_claims(struct audit *a, const struct config *c, struct claim_files *files)
{
    for (size_t i = 0; i < c->claims_files.n; i++) {
        struct err e;
        if (claims_file_read(files, a, c->claims_files.v[i], c->claims_format, &e) != TA_OK) {
            log_error("%s", e.msg);
            return EXIT_INPUT;
        }
    }
    return EXIT_DONE;
}

/* Those that cannot be used are named; one that can is enough. */
static int load_all(struct audit *a, char **paths, int n)
{
    int worst = EXIT_DONE;
    for (size_t i = 0, used; i < (size_t)n; i += used) {
        struct err e;
        int rc = load_trace(a, paths + i, (size_t)n - i, &used, &e);
        if (rc < 0) {
            log_error("%s", e.msg);
            worst = rc == TA_ESYS ? EXIT_ENVIRONMENT : worst == EXIT_DONE ? EXIT_INPUT : worst;
        }
    }
    return a->traces.n > 0 || n == 0 ? EXIT_DONE : worst;
}

/* The levels of --fail-on; findings and verdicts of that severity or worse count. */
static int status_of(const struct audit *a, const char *fail_on)
{
    static const char *const levels[] = {"fail", "warn", "info"};
    int level = -1;
    for (int i = 0; i < 3; i++)
        level = strcmp(fail_on, levels[i]) == 0 ? i : level;
    for (size_t i = 0; i < a->findings.n; i++) {
        if ((int)a->findings.v[i].severity <= level)
            return EXIT_FINDINGS;
    }
    for (size_t i = 0; i < a->claims.n; i++) {
        enum verdict v = a->claims.v[i].verdict;
        if (v != VERDICT_CONFIRMED &&
            (v == VERDICT_NOT_MEASURABLE ? SEVERITY_WARN : SEVERITY_FAIL) <= level)
            return EXIT_FINDINGS;
    }
    return EXIT_DONE;
}

static int write_all(const struct buf *text, const char *path, struct err *e)
{
    bool to_stdout = path == NULL || strcmp(path, "-") == 0;
    FILE *f = to_stdout ? stdout : fopen(path, "wb");
    if (f == NULL)
        return err_sys(e, TA_ESYS, "cannot write the report to %s", path);
    bool ok = fwrite(text->p, 1, text->n, f) == text->n;
    ok &= to_stdout ? fflush(f) == 0 : fclose(f) == 0;
    return ok ? TA_OK
              : err_sys(e, TA_ESYS, "cannot write the report to %s",
                        to_stdout ? "standard output" : path);
}

/* The page says "more in analysis.json", so that stands beside it. */
static int write_report_folder(const struct audit *a, const struct config *c, struct err *e)
{
    int rc = report_html_write(a, c->report, &c->audit, e);
    if (rc != TA_OK)
        return rc;
    struct buf text;
    buf_init(&text, REPORT_BYTES);
    report_json_write(a, &text);
    char *path = mem_printf("%s/analysis.json", c->report);
    rc = write_all(&text, path, e);
    free(path);
    buf_done(&text);
    return rc;
}

static int write_reports(const struct audit *a, const struct config *c)
{
    struct err e;
    bool to_stdout = c->output == NULL || strcmp(c->output, "-") == 0;
    struct buf text;
    buf_init(&text, REPORT_BYTES);
    if (strcmp(c->format, "json") == 0)
        report_json_write(a, &text);
    else
        report_text_write(
            a, (struct report_text_options){to_stdout && log_colour(STDOUT_FILENO), c->requests},
            &text);
    int rc = write_all(&text, c->output, &e);
    buf_done(&text);
    if (rc == TA_OK && c->report != NULL)
        rc = write_report_folder(a, c, &e);
    if (rc != TA_OK) {
        log_error("%s", e.msg);
        return EXIT_ENVIRONMENT;
    }
    return EXIT_DONE;
}

static void judge_claims(struct audit *a, const struct config *c, struct claim_files *files)
{
    claim_files_bind(files, a, &c->audit);
    claims_judge(a, &c->audit);
    contradictions_find(files, a);
    claims_compare(files, a);
    claim_files_fold(files, a);
}

/* What is read is not written over, whether it was read before or not. */
static int keep_inputs(const struct config *c, char **paths, int n)
{
    struct err e;
    int rc = TA_OK;
    for (int i = 0; rc == TA_OK && i < n; i++)
        rc = same_file_refuse(paths[i], c->output, "-o", &e);
    for (size_t i = 0; rc == TA_OK && i < c->claims_files.n; i++)
        rc = same_file_refuse(c->claims_files.v[i], c->output, "-o", &e);
    for (size_t i = 0; rc == TA_OK && i < c->tokenizers.n; i++) {
        const char *equals = strchr(c->tokenizers.v[i], '='); /* MODEL=FILE */
        const char *file = equals != NULL ? equals + 1 : c->tokenizers.v[i];
        rc = same_file_refuse(file, c->output, "-o", &e);
    }
    return rc == TA_OK ? EXIT_DONE : usage_error(&e);
}

static int analyze(struct audit *a, const struct config *c, struct claim_files *files, char **paths,
                   int n)
{
    int status = keep_inputs(c, paths, n);
    if (status == EXIT_DONE)
        status = add_claims(a, c);
    if (status == EXIT_DONE)
        status = read_claims(a, c, files);
    if (status == EXIT_DONE)
        status = load_all(a, paths, n);
    if (status != EXIT_DONE)
        return status;
    if (c->audit.claim_trace > (int64_t)a->traces.n) {
        struct err e;
        err_set(&e, TA_EUSAGE,
                "--claim-trace: expected one of the %zu traces that were read (parts of a rotation "
                "are one, and what could not be used is none), found %" PRId64,
                a->traces.n, c->audit.claim_trace);
        return usage_error(&e);
    }
    runs_find(a, &c->audit);
    metrics_request_all(a, &c->audit);
    metrics_run_all(a, &c->audit);
    fidelity_find(a);
    judge_claims(a, c, files);
    findings_find(a, &c->audit);
    struct peer_reports as = {0};
    if (c->as != NULL) {
        peers_report(a, &c->audit, peer_named(c->as), &as); /* none of them is called "all" */
        a->as = &as;
    }
    status = write_reports(a, c);
    a->as = NULL;
    peers_free(&as);
    if (status != EXIT_DONE)
        return status;
    return status_of(a, c->fail_on != NULL                    ? c->fail_on
                        : c->claims.n + c->claims_files.n > 0 ? "fail"
                                                              : "never");
}

/* One that is not counted with is only said: the rest of the analysis does not need it. */
static int open_tokenizers(struct audit *a, const struct config *c)
{
    for (size_t i = 0; i < c->tokenizers.n; i++) {
        struct err e;
        if (recounter_add(a->recounter, c->tokenizers.v[i], c->tokenizer_pattern, &a->texts, &e) !=
            TA_OK) {
            log_error("%s", e.msg);
            return EXIT_INPUT;
        }
    }
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct config c = {.audit = audit_defaults, .format = "text"};
    int status;
    int first = cli_begin(&cmd_analyze, &c, argc, argv, &status);
    if (first < 0) {
        cli_strings_free(&c.claims);
        cli_strings_free(&c.claims_files);
        cli_strings_free(&c.tokenizers);
        return status;
    }
    log_set_level(c.verbose == 0 ? LOG_WARN : LOG_INFO);
    status = check(&c, argc - first);
    if (status == EXIT_DONE)
        status = read_words(&c);
    struct audit a = {.forced = c.dialect != NULL ? dialect_named(c.dialect) : NULL};
    struct recounter recounter = {.apart = c.claims.n + c.claims_files.n > 0};
    a.recounter = &recounter;
    if (status == EXIT_DONE)
        status = open_tokenizers(&a, &c);
    struct claim_files files = {.rows = 0};
    if (status == EXIT_DONE)
        status = analyze(&a, &c, &files, argv + first, argc - first);
    claim_files_free(&files);
    audit_free(&a);
    recounter_done(&recounter);
    cli_strings_free(&c.claims);
    cli_strings_free(&c.claims_files);
    cli_strings_free(&c.tokenizers);
    return status;
}
