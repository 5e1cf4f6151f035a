/* `tokaudit verify`. */
#ifndef CAPTURE_CMD_VERIFY_H
#define CAPTURE_CMD_VERIFY_H

#include "traces/base/cli.h"

extern const struct cli_command cmd_verify;

#endif
