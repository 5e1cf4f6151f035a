/* Lines of other tools' CSV as values with the paths of their JSON. */
#include "analyze/claims_csv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

enum { COLUMNS_MOST = 1024, CELL_BYTES = 4096, PATH_BYTES = 128, QUANTILES = 11 };

struct claims_csv {
    struct file_loader *l;
    size_t line;                 /* from 1 */
    char (*columns)[PATH_BYTES]; /* statistic of it; GuideLLM: path of the benchmark, "": none */
    char (*groups)[PATH_BYTES];  /* GuideLLM's first line */
    char cell[CELL_BYTES + 1];
};

/* "Request Latency (ms)" begins AIPerf's and GenAI-Perf's lines, three lines GuideLLM's file, and
 * one with these names llama-benchy's. */
const struct tool *claims_csv_tool(struct slice head)
{
    static const char metrics[] = "Metric,avg,min,max", runs[] = "Run Info,",
                      duration[] = "\nBenchmark Duration", tests[] = "model,test_name,";
    if (head.n > sizeof tests && memcmp(head.p, tests, sizeof tests - 1) == 0)
        return &tool_llama_benchy;
    if (head.n > sizeof runs && memcmp(head.p, runs, sizeof runs - 1) == 0)
        return &tool_guidellm;
    if (head.n < sizeof metrics || memcmp(head.p, metrics, sizeof metrics - 1) != 0)
        return NULL;
    for (size_t i = 0; i + sizeof duration <= head.n; i++) {
        if (memcmp(head.p + i, duration, sizeof duration - 1) == 0)
            return &tool_aiperf;
    }
    return &tool_genai_perf;
}

struct claims_csv *claims_csv_new(struct file_loader *l)
{
    struct claims_csv *c = mem_zalloc(sizeof *c);
    c->l = l;
    c->columns = mem_array(COLUMNS_MOST, sizeof *c->columns);
    c->groups = mem_array(COLUMNS_MOST, sizeof *c->groups);
    return c;
}

void claims_csv_free(struct claims_csv *c)
{
    if (c == NULL)
        return;
    free(c->columns);
    free(c->groups);
    free(c);
}

/* The cell at *at, its quotes undone, into c->cell; what is longer is cut. *at goes on behind its
 * comma; false at the end of the line. */
static bool next_cell(struct claims_csv *c, struct slice line, size_t *at, struct slice *cell)
{
    size_t n = 0, i = *at;
    bool quoted = i < line.n && line.p[i] == '"';
    if (*at > line.n)
        return false;
    for (i += quoted; i < line.n; i++) {
        bool quote = quoted && line.p[i] == '"';
        if (quote && i + 1 < line.n && line.p[i + 1] == '"')
            i++;
        else if (quote) {
            quoted = false;
            continue;
        } else if (!quoted && line.p[i] == ',')
            break;
        if (n < CELL_BYTES)
            c->cell[n++] = line.p[i];
    }
    *at = i + 1;
    c->cell[n] = '\0';
    *cell = (struct slice){c->cell, n};
    return true;
}

static int tell(struct claims_csv *c, enum claims_json_kind kind, const char *path,
                struct slice text, struct err *e)
{
    struct claims_json_value v = {.kind = kind, .path = path, .text = text, .object = true};
    return claims_table_value(c->l, &v, e);
}

static bool is_number(struct slice text)
{
    char *end;
    if (text.n == 0 || (text.p[0] != '-' && !isdigit((unsigned char)text.p[0])))
        return false;
    strtod(text.p, &end);
    return *end == '\0';
}

static int tell_number(struct claims_csv *c, const char *path, struct slice text, struct err *e)
{
    return is_number(text) ? tell(c, CLAIMS_JSON_NUMBER, path, text, e) : TA_OK;
}

/* --- AIPerf, GenAI-Perf ----------------------------------------------------------------------- */

/* "Request Latency (ms)" is request_latency, in ms. */
static void split_name(struct slice cell, char name[PATH_BYTES], char unit[PATH_BYTES])
{
    const char *open = strchr(cell.p, '(');
    size_t n = open != NULL ? (size_t)(open - cell.p) : cell.n, k = 0;
    while (n > 0 && cell.p[n - 1] == ' ')
        n--;
    for (; k < n && k < PATH_BYTES / 2; k++)
        name[k] = cell.p[k] == ' ' ? '_' : (char)tolower((unsigned char)cell.p[k]);
    name[k] = '\0';
    unit[0] = '\0';
    if (open != NULL)
        snprintf(unit, PATH_BYTES, "%.*s", (int)strcspn(open + 1, ")"), open + 1);
}

static int take_metric(struct claims_csv *c, struct slice line, struct err *e)
{
    char name[PATH_BYTES], unit[PATH_BYTES], path[2 * PATH_BYTES];
    struct slice cell;
    size_t at = 0;
    if (!next_cell(c, line, &at, &cell) || cell.n == 0)
        return TA_OK;
    if (slice_is(cell, "Metric")) {
        memset(c->columns, 0, COLUMNS_MOST * sizeof *c->columns);
        for (size_t k = 0; k < COLUMNS_MOST && next_cell(c, line, &at, &cell); k++)
            snprintf(c->columns[k], PATH_BYTES, "%.*s", PATH_BYTES - 1,
                     slice_is(cell, "Value") ? "avg" : cell.p);
        return TA_OK;
    }
    split_name(cell, name, unit);
    snprintf(path, sizeof path, "%s.unit", name);
    int rc = tell(c, CLAIMS_JSON_STRING, path, slice_of(unit), e);
    for (size_t k = 0; rc == TA_OK && k < COLUMNS_MOST && next_cell(c, line, &at, &cell); k++) {
        snprintf(path, sizeof path, "%s.%s", name, c->columns[k]);
        rc = tell_number(c, path, cell, e);
    }
    return rc;
}

/* --- GuideLLM --------------------------------------------------------------------------------- */

static const struct {
    const char *group, *field, *path;
} guidellm[] = {
    {"Timings", "Duration", "duration"},
    {"Request Counts", "Successful", "scheduler_metrics.requests_made.successful"},
    {"Request Counts", "Errored", "scheduler_metrics.requests_made.errored"},
    {"Request Counts", "Total", "scheduler_metrics.requests_made.total"},
    {"Request Latency", "Successful Sec", "metrics.request_latency.successful"},
    {"Time to First Token", "Successful ms", "metrics.time_to_first_token_ms.successful"},
    {"Time per Output Token", "Successful ms", "metrics.time_per_output_token_ms.successful"},
    {"Inter Token Latency", "Successful ms", "metrics.inter_token_latency_ms.successful"},
    {"Server Throughput", "Successful Requests/Sec", "metrics.requests_per_second.successful"},
    {"Server Throughput", "Successful Concurrency", "metrics.request_concurrency.successful"},
    {"Token Metrics", "Successful Input Tokens", "metrics.prompt_token_count.successful"},
    {"Token Metrics", "Successful Output Tokens", "metrics.output_token_count.successful"},
    {"Token Throughput", "Successful Output Tokens/Sec",
     "metrics.output_tokens_per_second.successful"},
};

/* Three lines of heads: group, field, statistic or unit. */
static void take_head(struct claims_csv *c, struct slice line)
{
    struct slice cell;
    size_t at = 0;
    for (size_t k = 0; k < COLUMNS_MOST && next_cell(c, line, &at, &cell); k++) {
        if (c->line == 1) {
            snprintf(c->groups[k], PATH_BYTES, "%.*s", PATH_BYTES - 1, cell.p);
            continue;
        }
        if (c->line == 2) {
            for (size_t i = 0; i < sizeof guidellm / sizeof *guidellm; i++) {
                if (strcmp(c->groups[k], guidellm[i].group) == 0 &&
                    slice_is(cell, guidellm[i].field))
                    snprintf(c->columns[k], PATH_BYTES, "benchmarks[].%s", guidellm[i].path);
            }
            continue;
        }
        static const char *const stats[][2] = {{"Mean", ".mean"},
                                               {"Median", ".median"},
                                               {"Std Dev", ".std_dev"},
                                               {"Percentiles", ".percentiles"}};
        size_t i = 0, n = strlen(c->columns[k]);
        while (i < 4 && !slice_is(cell, stats[i][0]))
            i++;
        bool unit = cell.n == 0 || slice_is(cell, "Sec");
        if (n > 0 && i < 4)
            snprintf(c->columns[k] + n, PATH_BYTES - n, "%s", stats[i][1]);
        else if (!unit) /* confidence intervals */
            c->columns[k][0] = '\0';
    }
}

/* "[0.1, …]": the median, which stands by itself, is not among them (GuideLLM 0.8.1). */
static int tell_quantiles(struct claims_csv *c, const char *path, struct slice cell, struct err *e)
{
    static const char *const names[QUANTILES] = {".min",
                                                 ".percentiles.p001",
                                                 ".percentiles.p01",
                                                 ".percentiles.p05",
                                                 ".percentiles.p10",
                                                 ".percentiles.p25",
                                                 ".percentiles.p75",
                                                 ".percentiles.p90",
                                                 ".percentiles.p95",
                                                 ".percentiles.p99",
                                                 ".max"};
    char full[PATH_BYTES + 24], text[64];
    const char *p = cell.p + (cell.n > 0 && cell.p[0] == '[');
    int rc = TA_OK;
    for (size_t i = 0; rc == TA_OK && i < QUANTILES && *p != '\0'; i++) {
        size_t n = strcspn(p, ",]");
        snprintf(text, sizeof text, "%.*s", (int)(n < 63 ? n : 63), p);
        snprintf(full, sizeof full, "%.*s%s", (int)(strrchr(path, '.') - path), path, names[i]);
        rc = tell_number(c, full, slice_of(text), e);
        p += n + (p[n] != '\0');
        while (*p == ' ')
            p++;
    }
    return rc;
}

static int take_benchmark(struct claims_csv *c, struct slice line, struct err *e)
{
    struct slice cell, none = {NULL, 0};
    size_t at = 0;
    int rc = tell(c, CLAIMS_JSON_BEGIN, "benchmarks[]", none, e);
    for (size_t k = 0; rc == TA_OK && k < COLUMNS_MOST && next_cell(c, line, &at, &cell); k++) {
        const char *path = c->columns[k], *dot = strrchr(path, '.');
        if (*path == '\0')
            continue;
        rc = dot != NULL && strcmp(dot, ".percentiles") == 0 ? tell_quantiles(c, path, cell, e)
                                                             : tell_number(c, path, cell, e);
    }
    return rc == TA_OK ? tell(c, CLAIMS_JSON_END, "benchmarks[]", none, e) : rc;
}

/* --- llama-benchy ----------------------------------------------------------------------------- */

static const struct {
    const char *column, *path; /* of tests that generate; the others' rates are of prompts */
    bool rate;
} benchy[] = {
    {"t_s_mean", "benchmarks[].tg_throughput.mean", true},
    {"t_s_req_mean", "benchmarks[].tg_req_throughput.mean", true},
    {"t_s_req_std", "benchmarks[].tg_req_throughput.std", true},
    {"peak_ts_mean", "benchmarks[].peak_throughput.mean", true},
    {"ttfr_mean", "benchmarks[].ttfr.mean", false},
    {"ttfr_std", "benchmarks[].ttfr.std", false},
    {"e2e_ttft_mean", "benchmarks[].e2e_ttft.mean", false},
    {"e2e_ttft_std", "benchmarks[].e2e_ttft.std", false},
};

static int tell_digits(struct claims_csv *c, const char *path, const char *digits, struct err *e)
{
    char text[32];
    size_t n = strspn(digits, "0123456789");
    if (n == 0 || n >= sizeof text)
        return TA_OK;
    snprintf(text, sizeof text, "%.*s", (int)n, digits);
    return tell_number(c, path, slice_of(text), e);
}

/* "tg32 @ d4096 (c4)": 32 tokens are generated, by 4 requests at a time. */
static int tell_test(struct claims_csv *c, const char *name, bool generates, struct err *e)
{
    const char *path = generates ? "benchmarks[].response_size" : "benchmarks[].prompt_size";
    const char *at_a_time = strstr(name, "(c");
    bool sized = generates || strncmp(name, "pp", 2) == 0;
    int rc = sized ? tell_digits(c, path, name + 2, e) : TA_OK;
    if (rc == TA_OK && at_a_time != NULL)
        rc = tell_digits(c, "benchmarks[].concurrency", at_a_time + 2, e);
    return rc;
}

static int take_test(struct claims_csv *c, struct slice line, struct err *e)
{
    struct slice cell, none = {NULL, 0};
    bool generates = false;
    size_t at = 0;
    int rc = tell(c, CLAIMS_JSON_BEGIN, "benchmarks[]", none, e);
    for (size_t k = 0; rc == TA_OK && k < COLUMNS_MOST && next_cell(c, line, &at, &cell); k++) {
        if (strcmp(c->columns[k], "test_name") == 0) {
            generates = strncmp(cell.p, "tg", 2) == 0;
            rc = tell_test(c, cell.p, generates, e);
        }
        for (size_t i = 0; rc == TA_OK && i < sizeof benchy / sizeof *benchy; i++) {
            if (strcmp(c->columns[k], benchy[i].column) == 0 && (generates || !benchy[i].rate))
                rc = tell_number(c, benchy[i].path, cell, e);
        }
    }
    return rc == TA_OK ? tell(c, CLAIMS_JSON_END, "benchmarks[]", none, e) : rc;
}

static void take_names(struct claims_csv *c, struct slice line)
{
    struct slice cell;
    size_t at = 0;
    for (size_t k = 0; k < COLUMNS_MOST && next_cell(c, line, &at, &cell); k++)
        snprintf(c->columns[k], PATH_BYTES, "%.*s", PATH_BYTES - 1, cell.p);
}

/* --- all -------------------------------------------------------------------------------------- */

int claims_csv_line(struct claims_csv *c, struct slice line, struct err *e)
{
    c->line++;
    if (c->l->tool == &tool_llama_benchy) {
        if (c->line > 1)
            return line.n > 0 ? take_test(c, line, e) : TA_OK;
        take_names(c, line);
        return TA_OK;
    }
    if (c->l->tool == &tool_guidellm) {
        if (c->line > 3)
            return line.n > 0 ? take_benchmark(c, line, e) : TA_OK;
        take_head(c, line);
        return TA_OK;
    }
    int rc = c->line == 1 ? tell(c, CLAIMS_JSON_BEGIN, "", (struct slice){NULL, 0}, e) : TA_OK;
    return rc == TA_OK ? take_metric(c, line, e) : rc;
}

int claims_csv_finish(struct claims_csv *c, struct err *e)
{
    bool whole = c->l->tool != &tool_guidellm && c->l->tool != &tool_llama_benchy;
    bool open = whole && c->line > 0;
    return open ? tell(c, CLAIMS_JSON_END, "", (struct slice){NULL, 0}, e) : TA_OK;
}
