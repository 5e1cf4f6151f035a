/* Messages on stderr, and the one line that is redrawn there. */
#include "traces/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum log_level threshold = LOG_WARN;
static bool live_shown;

void log_set_level(enum log_level level)
{
    threshold = level;
}

static bool smart_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term != NULL && strcmp(term, "dumb") != 0;
}

bool log_is_live(void)
{
    return smart_terminal(STDERR_FILENO);
}

bool log_colour(int fd)
{
    const char *no = getenv("NO_COLOR");
    return smart_terminal(fd) && (no == NULL || no[0] == '\0');
}

void log_live_end(void)
{
    if (live_shown)
        fputs("\r\033[K", stderr);
    live_shown = false;
}

void log_live(const char *fmt, ...)
{
    if (!log_is_live())
        return;
    va_list ap;
    va_start(ap, fmt);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, fmt, ap);
    fflush(stderr);
    va_end(ap);
    live_shown = true;
}

static void say(enum log_level level, const char *what, const char *fmt, va_list ap)
    TA_PRINTF(3, 0);

static void say(enum log_level level, const char *what, const char *fmt, va_list ap)
{
    if (level > threshold)
        return;
    log_live_end();
    fprintf(stderr, "tokaudit: %s", what);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

#define SAY(level, what)                                                                           \
    va_list ap;                                                                                    \
    va_start(ap, fmt);                                                                             \
    say(level, what, fmt, ap);                                                                     \
    va_end(ap)

void log_error(const char *fmt, ...)
{
    SAY(LOG_ERROR, "");
}

void log_warn(const char *fmt, ...)
{
    SAY(LOG_WARN, "warning: ");
}

void log_info(const char *fmt, ...)
{
    SAY(LOG_INFO, "");
}
