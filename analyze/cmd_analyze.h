/* `tokaudit analyze`. */
#ifndef ANALYZE_CMD_ANALYZE_H
#define ANALYZE_CMD_ANALYZE_H

#include "traces/base/cli.h"

extern const struct cli_command cmd_analyze;

/* `tokaudit help findings`, `tokaudit help causes`; false: it is about nothing of that name. */
bool analyze_help(const char *topic, FILE *to);

#endif
