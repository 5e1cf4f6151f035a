/* Levelled messages on stderr, for commands and long-running work. Libraries return errors instead.
 */
#ifndef TRACES_BASE_LOG_H
#define TRACES_BASE_LOG_H

#include <stdbool.h>

#include "traces/base/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO };

void log_set_level(enum log_level level); /* default LOG_WARN; -v: LOG_INFO */
void log_error(const char *fmt, ...) TA_PRINTF(1, 2);
void log_warn(const char *fmt, ...) TA_PRINTF(1, 2);
void log_info(const char *fmt, ...) TA_PRINTF(1, 2);

/* Is stderr a terminal on which a line may be redrawn? (TERM=dumb is not.) */
bool log_is_live(void);

/* Redraws the one live line on stderr; nothing where !log_is_live(). Messages clear it first. */
void log_live(const char *fmt, ...) TA_PRINTF(1, 2);
void log_live_end(void); /* clears it */

/* May stdout / stderr carry colour: a terminal, TERM not dumb, NO_COLOR not set? */
bool log_colour(int fd);

#endif
