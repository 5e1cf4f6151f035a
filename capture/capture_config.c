/* Options of `tokaudit capture`, checked. */
#include "capture/capture_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/clock.h"
#include "traces/base/units.h"
#include "traces/limits.h"

enum { ROTATE_BYTES_MIN = LIMIT_MEMBER_BYTES, ROTATE_NS_MIN = NS_PER_S };
enum { SNAPLEN_MIN = 96, SAMPLE_HZ_MAX = 100 };

static bool parse_port(const char *text, uint16_t *port)
{
    char *end = NULL;
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    *port = (uint16_t)v;
    return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0' && v >= 1 &&
           v <= UINT16_MAX;
}

/* Ports as numbers and as a filter. */
int capture_config_ports(const struct capture_config *c, uint16_t ports[CAPTURE_PORTS_MAX],
                         struct buf *filter, struct err *e)
{
    if (c->ports.n > CAPTURE_PORTS_MAX)
        return err_set(e, TA_EUSAGE, "%zu ports; at most %d can be told apart: use --filter",
                       c->ports.n, CAPTURE_PORTS_MAX);
    if (c->ports.n > 0 && c->filter != NULL)
        return err_set(e, TA_EUSAGE,
                       "-p and --filter exclude each other: write the port into the filter");
    for (size_t i = 0; i < c->ports.n; i++) {
        if (!parse_port(c->ports.v[i], &ports[i]))
            return err_set(e, TA_EUSAGE, "-p: expected a port from 1 to 65535, found '%.64s'",
                           c->ports.v[i]);
        buf_printf(filter, "%stcp port %u", i > 0 ? " or " : "", ports[i]);
    }
    if (c->filter != NULL && strlen(c->filter) > filter->max / 2)
        return err_set(e, TA_EUSAGE, "--filter: %zu bytes are too long a filter",
                       strlen(c->filter));
    if (c->ports.n == 0)
        buf_puts(filter, c->filter ? c->filter : "tcp");
    return TA_OK;
}

/* A number alone could be bytes or seconds. */
int capture_config_rotate(struct capture_config *c, struct err *e)
{
    const char *text = c->rotate;
    if (text == NULL)
        return TA_OK;
    bool bare = text[strspn(text, "0123456789.")] == '\0';
    bool size = !bare && units_parse_size(text, &c->rotate_bytes);
    bool time = !bare && !size && units_parse_duration(text, &c->rotate_ns);
    if ((size && c->rotate_bytes < ROTATE_BYTES_MIN) || (time && c->rotate_ns < ROTATE_NS_MIN))
        return err_set(e, TA_EUSAGE, "--rotate: expected at least 1MiB or 1s, found %.64s", text);
    if (!size && !time)
        return err_set(e, TA_EUSAGE,
                       "--rotate: expected a size or a time with its unit, as in 100MB or 10m, "
                       "found '%.64s'",
                       text);
    if (c->output != NULL && strcmp(c->output, "-") == 0)
        return err_set(e, TA_EUSAGE, "--rotate writes several files: -o - is one");
    return TA_OK;
}

int capture_config_check(const struct capture_config *c, bool has_command, struct err *e)
{
    if (c->snaplen < SNAPLEN_MIN || c->snaplen > LIMIT_PACKET_BYTES)
        return err_set(e, TA_EUSAGE, "--snaplen: expected %d to %u bytes, found %" PRIu64,
                       SNAPLEN_MIN, LIMIT_PACKET_BYTES, c->snaplen);
    if (c->buffer_bytes == 0 || c->buffer_bytes > INT32_MAX)
        return err_set(e, TA_EUSAGE, "--buffer: expected at most 2GiB, found %" PRIu64 " bytes",
                       c->buffer_bytes);
    if (c->sample_hz > SAMPLE_HZ_MAX)
        return err_set(e, TA_EUSAGE, "--sample-hz: expected 0 to %d, found %" PRId64, SAMPLE_HZ_MAX,
                       c->sample_hz);
    if (c->output == NULL || strcmp(c->output, "-") != 0)
        return TA_OK;
    if (has_command)
        return err_set(e, TA_EUSAGE, "-o - and COMMAND would both write to stdout: name a file");
    if (isatty(STDOUT_FILENO))
        return err_set(e, TA_EUSAGE, "-o -: a trace is no text for a terminal: redirect stdout");
    return TA_OK;
}

const struct capture_config capture_config_defaults = {.redact = "secrets",
                                                       .tail_ns = NS_PER_S / 2,
                                                       .sample_hz = 10,
                                                       .snaplen = LIMIT_PACKET_BYTES,
                                                       .buffer_bytes = 96u << 20};

/* What is about a device or a load has no meaning for packets that are there already. */
int capture_config_check_read(const struct capture_config *c, bool has_command, struct err *e)
{
    if (c->filter != NULL)
        return err_set(e, TA_EUSAGE,
                       "--filter does not go with --read: it is compiled for a device, and misses "
                       "tagged and fragmented packets of a file; -p PORT picks connections");
    if (has_command)
        return err_set(e, TA_EUSAGE, "--read copies a capture: there is no COMMAND to be run");
    if (c->interface != NULL || c->duration_ns != 0 ||
        c->tail_ns != capture_config_defaults.tail_ns ||
        c->sample_hz != capture_config_defaults.sample_hz ||
        c->snaplen != capture_config_defaults.snaplen ||
        c->buffer_bytes != capture_config_defaults.buffer_bytes)
        return err_set(e, TA_EUSAGE,
                       "-i, --duration, --tail, --sample-hz, --snaplen and --buffer are for "
                       "recording; they do not go with --read");
    return capture_config_check(c, has_command, e);
}

/* tokaudit-20261130T111300Z.pcapng.gz */
void capture_config_output(char out[64])
{
    char utc[32];
    size_t n = 0;
    clock_utc(clock_real_ns(), utc);
    for (const char *p = utc; *p != '\0'; p++) {
        if (*p != '-' && *p != ':')
            utc[n++] = *p;
    }
    snprintf(out, 64, "tokaudit-%.*s.pcapng.gz", (int)n, utc);
}

enum redact_mode capture_config_redact(const struct capture_config *c)
{
    enum redact_mode mode = REDACT_NOTHING;
    while (strcmp(redact_mode_name(mode), c->redact) != 0)
        mode++;
    return mode;
}

bool capture_config_rotates(const struct capture_config *c)
{
    return c->rotate_bytes > 0 || c->rotate_ns > 0;
}
