/* What a person sees while a capture runs. */
#ifndef CAPTURE_LIVE_H
#define CAPTURE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/writer.h"

struct live {
    bool shown; /* stderr is a terminal; else nothing is counted either */
    bool silence_explained;
    uint16_t link;
    int64_t start_ns; /* monotonic */
    int64_t last_ns;
    uint64_t events, last_events; /* server-sent events, not what they mean */
};

void live_init(struct live *l, uint16_t link);

/* Counts the events of a packet that wire_n bytes long passed by. */
void live_packet(struct live *l, const uint8_t *p, size_t n, size_t wire_n);

/* Redraws the line. */
void live_show(struct live *l, const struct writer *w, struct writer_counts counts);

/* Says, once, what may be wrong when nothing comes. */
void live_explain_silence(struct live *l, const char *interface);

#endif
