/* `tokaudit capture`. */
#ifndef CAPTURE_CMD_CAPTURE_H
#define CAPTURE_CMD_CAPTURE_H

#include "traces/base/cli.h"

extern const struct cli_command cmd_capture;

/* Names and versions of the libraries capture uses, a line each. */
void capture_print_versions(FILE *to);

#endif
