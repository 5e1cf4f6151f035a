/* `tokaudit serve`. */
#ifndef REPLAY_CMD_SERVE_H
#define REPLAY_CMD_SERVE_H

#include "traces/base/cli.h"

extern const struct cli_command cmd_serve;

#endif
