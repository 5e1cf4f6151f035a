/* CSV exports of AIPerf, GenAI-Perf, GuideLLM and llama-benchy: told as the values of their JSON,
 * so that one table serves both. They hold less: two decimals, no rows. */
#ifndef ANALYZE_CLAIMS_CSV_H
#define ANALYZE_CLAIMS_CSV_H

#include "analyze/claims_table.h"

/* Whose export begins like that; NULL: nobody's. */
const struct tool *claims_csv_tool(struct slice head);

struct claims_csv;

struct claims_csv *claims_csv_new(struct file_loader *l);
void claims_csv_free(struct claims_csv *c);

/* The next line, without its end. */
int claims_csv_line(struct claims_csv *c, struct slice line, struct err *e) TA_NODISCARD;

/* The file ends here. */
int claims_csv_finish(struct claims_csv *c, struct err *e) TA_NODISCARD;

#endif
