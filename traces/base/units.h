/* Sizes, durations and counts as people write them: one table serves parsing and printing. */
#ifndef TRACES_BASE_UNITS_H
#define TRACES_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "64MiB", "64M" (= MiB), "1GB" (= 10^9), "4096". */
bool units_parse_size(const char *text, uint64_t *bytes);

/* "500ms", "2s", "1.5m", "1h", "250us", "10ns"; a bare number is seconds. */
bool units_parse_duration(const char *text, int64_t *ns);

/* "12.4 MB", "1.2 s": three significant digits; out has room for 32. Returns out. */
const char *units_bytes(uint64_t bytes, char out[32]);
const char *units_duration(int64_t ns, char out[32]);
const char *units_count(uint64_t n, char out[32]); /* "12,345" */

#endif
