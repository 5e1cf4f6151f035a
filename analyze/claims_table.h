/* A result file on its way into summaries: private to claims_file.c (which tool, whole files) and
 * claims_table.c (its figures and rows by that tool's table). */
#ifndef ANALYZE_CLAIMS_TABLE_H
#define ANALYZE_CLAIMS_TABLE_H

#include "analyze/claims_file.h"
#include "analyze/claims_json.h"

enum { ROWS_OF_TABLE = 64 };

struct file_loader {
    struct claim_files *fs;
    struct audit *a;
    const char *path;
    const struct tool *tool;
    struct claims_own *own; /* of our own form */
    struct claims_json *json;
    struct file_summary now;
    bool open, in_row;
    char object[CLAIMS_JSON_PATH_BYTES],
        row_object[CLAIMS_JSON_PATH_BYTES]; /* as they are called */
    struct file_row row;
    double row_times[2], row_end, row_total;
    bool row_warmup;
    double scale[ROWS_OF_TABLE];      /* by the units that the file states */
    const char *unit[ROWS_OF_TABLE];  /* those of them that are not known; NULL */
    double row_scale[ROW_FIELDS];     /* the same of the row, over the table's */
    double version; /* of the tool, as its file has it before the objects */
    size_t objects;
};

/* Of a pattern of struct tool: does path match, and what does its '*' stand for? Empty: it has
 * none. */
bool claims_table_matches(const char *pattern, struct slice path, struct slice *star);

/* The statistic of that name ("mean", "p99"), into f; false: it is none. */
bool claims_table_stat(struct slice s, struct file_figure *f);

/* Are a tool's files nothing but rows? Then all of a file is one summary. */
bool claims_table_rows_only(const struct tool *t);

void claims_table_begin(struct file_loader *l); /* a summary */
int claims_table_end(struct file_loader *l, struct err *e) TA_NODISCARD;
int claims_table_value(struct file_loader *l, const struct claims_json_value *v, struct err *e)
    TA_NODISCARD;

#endif
