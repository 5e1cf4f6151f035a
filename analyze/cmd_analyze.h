/* `tokaudit analyze`. */
#ifndef ANALYZE_CMD_ANALYZE_H
#define ANALYZE_CMD_ANALYZE_H

#include "traces/base/cli.h"

extern const struct cli_command cmd_analyze;

#endif
