/* The recording itself: packets, samples, the load's ledger and phases into one trace, until it is
 * time to stop. */
#ifndef CAPTURE_RECORDER_H
#define CAPTURE_RECORDER_H

#include "capture/privileges.h"
#include "capture/sampler.h"
#include "capture/source_pcap.h"
#include "traces/base/err.h"
#include "traces/redact.h"
#include "traces/writer.h"

/* All borrowed. */
struct recorder_plan {
    struct source *source;
    struct writer *writer;
    struct sampler *sampler; /* may be NULL */
    int sample_hz;           /* 0: none */
    char **command;          /* ends with NULL; NULL: record until told to stop */
    const struct caller *caller;
    enum redact_mode redact;
    int64_t tail_ns;     /* goes on so long after COMMAND's end */
    int64_t duration_ns; /* 0: no end by time */
};

struct recorder_result {
    int load_status; /* COMMAND's, as a shell has it; if it could not be run, 126 or 127 */
    struct writer_counts counts; /* at the end */
    uint64_t ledger_entries, ledger_dropped;
    struct redact_totals redacted;
};

/* Before the trace is opened: lets SIGINT, SIGTERM and SIGHUP wait until recorder_run takes them.
 */
void recorder_hold_signals(void);

/* Blocks until COMMAND ended and its tail passed, the duration is over, or SIGINT or SIGTERM came
 * (COMMAND is told then, and awaited). The writer stays open in every case, and signals are blocked
 * from then on: it is to be closed. */
int recorder_run(const struct recorder_plan *plan, struct recorder_result *out, struct err *e)
    TA_NODISCARD;

#endif
