/* What `tokaudit capture` was asked for. */
#ifndef CAPTURE_CAPTURE_CONFIG_H
#define CAPTURE_CAPTURE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/cli.h"
#include "traces/base/err.h"
#include "traces/redact.h"

enum { CAPTURE_PORTS_MAX = 64 };

struct capture_config {
    const char *interface, *filter, *output, *rotate, *label, *redact;
    struct cli_strings read, ports;
    int64_t tail_ns, duration_ns, sample_hz;
    uint64_t snaplen, buffer_bytes;
    uint64_t rotate_bytes; /* what --rotate says */
    int64_t rotate_ns;
    bool sync;
    int verbose;
};

extern const struct capture_config capture_config_defaults;

/* TA_EUSAGE and why, if they make no sense together; _check_read: with --read. */
int capture_config_check(const struct capture_config *c, bool has_command, struct err *e)
    TA_NODISCARD;
int capture_config_check_read(const struct capture_config *c, bool has_command, struct err *e)
    TA_NODISCARD;

/* -p as numbers, and it or --filter as a filter. */
int capture_config_ports(const struct capture_config *c, uint16_t ports[CAPTURE_PORTS_MAX],
                         struct buf *filter, struct err *e) TA_NODISCARD;

/* --rotate into rotate_bytes or rotate_ns. */
int capture_config_rotate(struct capture_config *c, struct err *e) TA_NODISCARD;
bool capture_config_rotates(const struct capture_config *c);

enum redact_mode capture_config_redact(const struct capture_config *c);

/* The name of a trace that was not named: tokaudit-20261130T111300Z.pcapng.gz */
void capture_config_output(char out[64]);

#endif
