/* `tokaudit replay`. */
#ifndef REPLAY_CMD_REPLAY_H
#define REPLAY_CMD_REPLAY_H

#include "traces/base/cli.h"

extern const struct cli_command cmd_replay;

/* Names and versions of the libraries replay and the trace format use, a line each. */
void replay_print_versions(FILE *to);

#endif
