/* The live line: bytes and events as they pass, not what they say. */
#include "capture/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/units.h"
#include "traces/link.h"

static const char data_field[] = "data:";

void live_init(struct live *l, uint16_t link)
{
    *l = (struct live){.shown = log_is_live(), .link = link, .start_ns = clock_mono_ns()};
    l->last_ns = l->start_ns;
}

static bool starts_event(const uint8_t *p, const uint8_t *end)
{
    return (size_t)(end - p) >= sizeof data_field - 1 &&
           memcmp(p, data_field, sizeof data_field - 1) == 0;
}

void live_packet(struct live *l, const uint8_t *p, size_t n, size_t wire_n)
{
    struct segment s;
    if (!l->shown || link_decode(l->link, p, n, wire_n, &s) != LINK_TCP || s.n == 0)
        return;
    const uint8_t *end = s.data + s.n;
    for (const uint8_t *at = s.data; at != NULL && at < end;) {
        l->events += starts_event(at, end);
        at = memchr(at, '\n', (size_t)(end - at));
        at += at != NULL;
    }
}

static const char *drops_text(struct writer_counts c, char out[48])
{
    char n[32];
    if (c.dropped == UINT64_MAX)
        snprintf(out, 48, "drops unknown");
    else
        snprintf(out, 48, "%s dropped", units_count(c.dropped, n));
    return out;
}

void live_show(struct live *l, const struct writer *w, struct writer_counts counts)
{
    char time[32], packets[32], bytes[32], drops[48];
    if (!l->shown)
        return;
    int64_t now_ns = clock_mono_ns();
    double seconds = (double)(now_ns - l->last_ns) / NS_PER_S;
    double rate = seconds > 0 ? (double)(l->events - l->last_events) / seconds : 0;
    log_live("%s  %s packets  %s  %s  %.0f events/s", units_duration(now_ns - l->start_ns, time),
             units_count(writer_packets(w), packets), units_bytes(writer_bytes(w), bytes),
             drops_text(counts, drops), rate);
    l->last_ns = now_ns;
    l->last_events = l->events;
}

void live_explain_silence(struct live *l, const char *interface)
{
    if (l->silence_explained)
        return;
    l->silence_explained = true;
    log_warn("no packets on %s so far. Is the load running, on that port? Traffic that does not "
             "pass here: of "
             "another interface (-i), of a container or network namespace (capture on its bridge, "
             "or inside), of "
             "a Unix socket. TLS is recorded, but can't be read.",
             interface);
}
