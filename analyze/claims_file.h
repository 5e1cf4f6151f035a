/* Claims from files: what other tools wrote of a run (tool.h), or our own form, a JSON array, JSON
 * lines or CSV of {metric, value, unit, stat, scope, request, tool}. Files are read as a stream;
 * what is kept is figures, and of rows some numbers each. */
#ifndef ANALYZE_CLAIMS_FILE_H
#define ANALYZE_CLAIMS_FILE_H

#include "analyze/interval.h"
#include "analyze/model.h"
#include "analyze/tool.h"
#include "traces/base/vec.h"

/* A statistic as a file names it. */
enum file_stat { FILE_VALUE, FILE_MEAN, FILE_STD, FILE_MIN, FILE_MAX, FILE_SUM, FILE_QUANTILE };

struct file_figure {
    enum figure_id id;
    enum file_stat stat;
    double q; /* of FILE_QUANTILE, 0 … 1 */
    double v; /* in the base unit */
    struct interval i;
    const char *path, *text; /* in the file: "p99_ttft_ms", "123.4" */
    size_t row;              /* of the tool's table */
    const char *unit;        /* that is not known; NULL: it is, or none is stated */
    size_t claim;            /* index + 1 in audit.claims until they are folded; 0: it is none */
};

/* One request as a file tells it; NAN and -1: not told. */
struct file_row {
    double start, ttft, latency, tpot;
    int64_t output, input;
    uint64_t id;                             /* hash of it; 0: none */
    float ttft_half, latency_half, tpot_half; /* half a unit of the last digit printed */
    bool failed;
};

/* What rows contradict in themselves; the first such row, from 1. */
struct row_fault {
    uint64_t n, first;
    double a, b; /* of the first */
};

/* Values that a file lists for a figure, added up. */
struct file_list {
    double sum, half; /* half units of their last digits */
    uint64_t n;
};

/* Numbers that no measurement gives: infinite, beyond 1e100, or a row's below 0. They are not used. */
struct file_odd {
    uint64_t n, row;          /* … of the first; 0: it is in no row */
    const char *path, *text; /* of the first */
};

/* What one object of a file says of a run, or its rows. */
struct file_summary {
    const struct tool *tool;
    const char *file;
    size_t nth;        /* object of the file, from 1 */
    const char *model; /* that it names, of all its requests; NULL: none, or several */
    bool models;       /* it names several */
    VEC(struct file_figure) figures;
    VEC(struct file_figure) unread; /* whose unit is not known */
    VEC(struct file_row) rows;
    struct file_odd odd;
    const char *row_unit; /* of rows' figures that are not read, since it is not known; NULL */
    uint64_t values[FIGURES]; /* of how many values a figure is, where the file says so; 0 */
    struct file_list lists[FIGURES];
    double version; /* of the tool, 0.8 of "0.8.1"; 0: not told */
    uint64_t rows_seen, rows_failed, rows_left;
    struct row_fault ttft_above, tpot_off, total_off;
    uint64_t unknown; /* members that no table has */
    const size_t *batches; /* which request each row is, batch by batch; NULL: not known by that */
    const char *join; /* how rows were joined to requests, or why not; NULL: there are none */
    size_t joined;
};

struct claim_files {
    VEC(struct file_summary) summaries;
    size_t rows; /* kept, of all */
};

/* Reads path ("-": standard input); format is a name of tool_named, "own", or NULL: told by
 * content. Claims of our own form are appended to a at once. Texts live as long as a. */
int claims_file_read(struct claim_files *fs, struct audit *a, const char *path, const char *format,
                     struct err *e) TA_NODISCARD;

/* The same of a text. */
int claims_file_take(struct claim_files *fs, struct audit *a, const char *name, struct slice text,
                     const char *format, struct err *e) TA_NODISCARD;

/* Makes claims of the figures, and finds the requests that each file is about; needs requests, runs
 * and their figures. Before claims_judge. */
void claim_files_bind(struct claim_files *fs, struct audit *a, const struct audit_options *o);

/* After claims_judge: figures of single requests that hold are summed up in a finding a file; of
 * those that do not, some stay. */
void claim_files_fold(const struct claim_files *fs, struct audit *a);

void claim_files_free(struct claim_files *fs);

/* "mean" … of a figure; out has room for 16. */
const char *file_stat_text(const struct file_figure *f, char out[16]);

/* The figure of that kind and statistic, or NULL. */
const struct file_figure *file_find(const struct file_summary *s, enum figure_id id,
                                    enum file_stat stat);

/* Which request each row is (index into a->requests; ROW_UNJOINED), by the strongest way there is:
 * X-Request-ID, batches that fit, start times with one offset, order with the same lengths. Fills s->join and
 * s->joined; false, with the reason in s->join, if none is good enough. claim_join.c */
#define ROW_UNJOINED SIZE_MAX
bool claim_join(struct file_summary *s, struct audit *a, const struct audit_options *o,
                size_t *request_of);

/* Fills batches of the summaries that say how many requests ran at a time and how long each waited
 * (claim_batches.c). */
void claim_batches_find(struct claim_files *fs, struct audit *a, const struct audit_options *o);

/* Our own form: claims_own.c. A reader of values as they stream by, and of CSV lines. */
struct claims_json_value;
struct claims_own;
struct claims_own *claims_own_new(struct audit *a, const char *path);
void claims_own_free(struct claims_own *o);
int claims_own_value(struct claims_own *o, const struct claims_json_value *v, size_t line,
                     struct err *e) TA_NODISCARD;
int claims_own_csv(struct claims_own *o, struct slice line, size_t number, struct err *e)
    TA_NODISCARD;
bool claims_own_header(struct slice line); /* of a CSV file in our form? */

#endif
