/* A trace made of a short script, so that a change of one byte of an input is a change of what was
 * said and not of a block's length. A step is what it is (low 3 bits) and on which of four
 * connections (next 2), the time since the step before, the length of its text, the text. */
#ifndef TESTS_FUZZ_SCRIPT_H
#define TESTS_FUZZ_SCRIPT_H

#include <stdlib.h>

#include "tests/support/packet.h"
#include "traces/pcapng.h"

enum {
    SCRIPT_REQUEST, /* bytes of the client */
    SCRIPT_REPLY,   /* bytes of the server */
    SCRIPT_EVENT,   /* of the server: "data: ", the text, a blank line, in a chunk of its own */
    SCRIPT_CLOSE,   /* FIN of the server, of the client if the text's length is odd */
    SCRIPT_HOLE,    /* the server's next bytes are not captured: as many as the length says */
    SCRIPT_CUSTOM,  /* a custom block with that JSON */
    SCRIPT_AGAIN,   /* bytes of the server that were sent before */
    SCRIPT_RESET,

    SCRIPT_SLOW = 32,   /* the time counts 10 ms a unit, else 100 µs */
    SCRIPT_BACK = 64,   /* and runs backwards */
    SCRIPT_COUNTS = 128 /* interface statistics before it */
};

struct script {
    struct buf file;
    int64_t t_ns;
    uint32_t seq[4][2];
    bool open[4];
};

#define SCRIPT_EPOCH_NS INT64_C(1796030400123456789)

static inline void script_begin(struct script *s)
{
    *s = (struct script){.t_ns = SCRIPT_EPOCH_NS};
    buf_init(&s->file, 64u << 20);
    if (pcapng_add_section(&s->file, "fuzz", (struct slice){0}) != TA_OK ||
        pcapng_add_interface(&s->file, LINK_RAW, 262144, "lo", NULL) != TA_OK)
        abort();
}

static inline void script_packet(struct script *s, unsigned conn, unsigned side, uint8_t flags,
                                 struct slice text)
{
    static const struct endpoint ends[2] = {{4, {127, 0, 0, 1}, 40000}, {4, {127, 0, 0, 2}, 8000}};
    struct packet_bytes bytes;
    struct segment out = {.from = ends[side],
                          .to = ends[!side],
                          .seq = s->seq[conn][side],
                          .ack = s->seq[conn][!side],
                          .flags = flags,
                          .window = 65535,
                          .data = (const uint8_t *)text.p,
                          .n = text.n};
    *(side == 0 ? &out.from.port : &out.to.port) += (uint16_t)conn;
    packet_raw(&bytes, &out);
    if (pcapng_add_packet(&s->file, s->t_ns, bytes.p, bytes.n, bytes.n) != TA_OK)
        abort();
    s->seq[conn][side] += (uint32_t)text.n + ((flags & (TCP_SYN | TCP_FIN)) != 0);
}

static inline void script_handshake(struct script *s, unsigned conn)
{
    if (s->open[conn])
        return;
    s->open[conn] = true;
    s->seq[conn][0] = 1000;
    s->seq[conn][1] = 0xFFFFFF00u; /* wraps soon */
    script_packet(s, conn, 0, TCP_SYN, (struct slice){0});
    script_packet(s, conn, 1, TCP_SYN | TCP_ACK, (struct slice){0});
}

static inline void script_event(struct script *s, unsigned conn, struct slice text)
{
    char chunk[512];
    int n =
        snprintf(chunk, sizeof chunk, "%zx\r\ndata: %.*s\n\n\r\n", text.n + 8, (int)text.n, text.p);
    script_packet(s, conn, 1, TCP_ACK | TCP_PSH, (struct slice){chunk, (size_t)n});
}

static inline void script_step(struct script *s, uint8_t what, uint8_t units, struct slice text)
{
    unsigned conn = what >> 3 & 3;
    int64_t passed = (int64_t)units * (what & SCRIPT_SLOW ? 10000000 : 100000);
    s->t_ns += what & SCRIPT_BACK ? -passed : passed;
    if (what & SCRIPT_COUNTS &&
        pcapng_add_statistics(&s->file, s->t_ns, units, text.n, units / 2) != TA_OK)
        abort();
    if ((what & 7) == SCRIPT_CUSTOM) {
        if (pcapng_add_custom(&s->file, text) != TA_OK)
            abort();
        return;
    }
    script_handshake(s, conn);
    switch (what & 7) {
    case SCRIPT_REQUEST:
        script_packet(s, conn, 0, TCP_ACK | TCP_PSH, text);
        break;
    case SCRIPT_REPLY:
        script_packet(s, conn, 1, TCP_ACK | TCP_PSH, text);
        break;
    case SCRIPT_EVENT:
        if (memchr(text.p, '\0', text.n) == NULL)
            script_event(s, conn, text);
        break;
    case SCRIPT_CLOSE:
        script_packet(s, conn, text.n % 2 == 0, TCP_ACK | TCP_FIN, (struct slice){0});
        break;
    case SCRIPT_HOLE:
        s->seq[conn][1] += (uint32_t)text.n;
        script_packet(s, conn, 0, TCP_ACK, (struct slice){0});
        break;
    case SCRIPT_AGAIN:
        s->seq[conn][1] -= (uint32_t)text.n;
        script_packet(s, conn, 1, TCP_ACK, text);
        break;
    default:
        script_packet(s, conn, 1, TCP_RST | TCP_ACK, (struct slice){0});
        s->open[conn] = false;
    }
}

static inline void script_run(struct script *s, const uint8_t *p, size_t n)
{
    while (n >= 3) {
        size_t length = p[2] < n - 3 ? p[2] : n - 3;
        script_step(s, p[0], p[1], (struct slice){(const char *)p + 3, length});
        p += 3 + length;
        n -= 3 + length;
    }
}

#endif
