/* A command line as a trace keeps it. */
#ifndef CAPTURE_COMMAND_TEXT_H
#define CAPTURE_COMMAND_TEXT_H

#include "traces/base/buf.h"

/* Appends argv (ends with NULL), quoted for a shell where needed. Values that look like secrets
 * ("--api-key X", "TOKEN=X", "https://user:X@host") become "***": a trace is made to be handed on.
 * Cut at out's maximum. */
void command_text(struct buf *out, char *const *argv);

#endif
