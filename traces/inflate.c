/* Content codings gzip and deflate (RFC 1950 to 1952), pushed in any split.
 *
 * zlib hands out every byte that its input determines, and one span has one time and packet: so
 * what a span makes it hand out was released by that span. */
#include "traces/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "traces/base/err.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"

enum { OUTPUT_BYTES = 16 << 10 }; /* handed on at a time, from the stack */

enum inflate_state {
    SNIFF,  /* its first two bytes tell what it is */
    BODY,   /* zlib reads */
    BEHIND, /* a member is over; another may follow */
    PLAIN,  /* not compressed at all */
    LOST    /* nothing more can be read */
};

struct inflate {
    enum inflate_format format;
    enum inflate_state state;
    int rc;
    struct byte_sink out;
    struct anomaly_sink bad;
    bool begun;   /* zlib holds memory */
    bool gzip;    /* what it really is */
    bool held;    /* the first of the two bytes has come alone: */
    uint8_t byte; /* it */
    struct mark byte_at;
    uint64_t decoded; /* bytes handed on */
    z_stream zlib;
};

bool inflate_named(struct slice coding, enum inflate_format *format)
{
    bool deflate = text_same(coding, "deflate");
    *format = deflate ? INFLATE_DEFLATE : INFLATE_GZIP;
    return deflate || text_same(coding, "gzip") || text_same(coding, "x-gzip");
}

struct inflate *inflate_new(enum inflate_format format, struct byte_sink out,
                            struct anomaly_sink bad)
{
    struct inflate *z = mem_zalloc(sizeof *z);
    z->format = format;
    z->out = out;
    z->bad = bad;
    return z;
}

void inflate_free(struct inflate *z)
{
    if (z == NULL)
        return;
    if (z->begun)
        inflateEnd(&z->zlib);
    free(z);
}

/* --- output --------------------------------------------------------------------------------- */

static void hand_on(struct inflate *z, const uint8_t *p, size_t n, struct mark at)
{
    at.off = z->decoded;
    z->decoded += n;
    if (n > 0 && z->rc == TA_OK && z->out.data != NULL)
        z->rc = z->out.data(z->out.ctx, (struct span){p, n, at});
}

static void lose(struct inflate *z, const char *id, struct mark at)
{
    anomaly_note(z->bad, id, at, z->decoded);
    z->state = LOST;
}

/* --- input ---------------------------------------------------------------------------------- */

/* What the first two bytes are: gzip's magic (RFC 1952, 2.3.1), zlib's header (RFC 1950, 2.2),
 * raw deflate where that was said, or no coding. */
static void decide(struct inflate *z, uint8_t a, uint8_t b, struct mark at)
{
    bool is_gzip = a == 0x1f && b == 0x8b;
    bool is_zlib = (a & 15) == 8 && a >> 4 <= 7 && ((unsigned)a << 8 | b) % 31 == 0;
    int window = -15;
    if (is_gzip)
        window = 15 + 16;
    else if (is_zlib)
        window = 15;
    z->gzip = is_gzip;
    if (z->format == INFLATE_GZIP && !is_gzip) {
        anomaly_note(z->bad, "coding.mislabelled", at, 0);
        if (!is_zlib) {
            z->state = PLAIN;
            return;
        }
    } else if (z->format == INFLATE_DEFLATE && is_gzip) {
        anomaly_note(z->bad, "coding.mislabelled", at, 0);
    } else if (z->format == INFLATE_DEFLATE && !is_zlib) {
        anomaly_note(z->bad, "coding.raw-deflate", at, 0);
    }
    z->begun = inflateInit2(&z->zlib, window) == Z_OK;
    z->state = z->begun ? BODY : LOST;
}

/* zlib takes as much of the span as it can; returns the bytes used. */
static size_t decode(struct inflate *z, struct span in)
{
    uint8_t out[OUTPUT_BYTES];
    size_t n = in.n < 1u << 30 ? in.n : 1u << 30;
    z->zlib.next_in = (uint8_t *)(uintptr_t)in.p; /* zlib's const is a matter of how it was built */
    z->zlib.avail_in = (unsigned)n;
    int found;
    do {
        z->zlib.next_out = out;
        z->zlib.avail_out = sizeof out;
        found = inflate(&z->zlib, Z_SYNC_FLUSH);
        hand_on(z, out, sizeof out - z->zlib.avail_out, in.at);
    } while (found == Z_OK && z->zlib.avail_out == 0 && z->rc == TA_OK);
    size_t used = n - z->zlib.avail_in;
    if (found == Z_STREAM_END)
        z->state = BEHIND;
    else if (found != Z_OK && found != Z_BUF_ERROR) /* a dictionary that nobody has counts too */
        lose(z, "coding.broken", span_mark(in, used > 0 ? used - 1 : 0));
    return z->state == LOST ? in.n : used;
}

/* Behind a member: another one, or bytes that mean nothing. gzip pads with zeros (its manual). */
static size_t take_behind(struct inflate *z, struct span in)
{
    if (z->gzip && in.p[0] == 0x1f && inflateReset(&z->zlib) == Z_OK)
        z->state = BODY;
    else
        lose(z, "coding.bytes-behind", in.at);
    return 0;
}

/* Each header byte is either held or judged; what was held goes to the reader first. */
static size_t take_sniff(struct inflate *z, struct span in)
{
    if (!z->held) {
        z->held = true;
        z->byte = in.p[0];
        z->byte_at = in.at;
        return 1;
    }
    decide(z, z->byte, in.p[0], z->byte_at);
    struct span first = {&z->byte, 1, z->byte_at};
    if (z->state == PLAIN)
        hand_on(z, first.p, 1, first.at);
    else if (z->state == BODY)
        decode(z, first);
    return 0;
}

static int on_data(void *ctx, struct span in)
{
    struct inflate *z = ctx;
    size_t i = 0;
    while (i < in.n && z->rc == TA_OK) {
        struct span rest = {in.p + i, in.n - i, span_mark(in, i)};
        switch (z->state) {
        case SNIFF:
            i += take_sniff(z, rest);
            break;
        case BODY:
            i += decode(z, rest);
            break;
        case BEHIND:
            i += take_behind(z, rest);
            break;
        case PLAIN:
            hand_on(z, rest.p, rest.n, rest.at);
            return z->rc;
        case LOST:
            return z->rc;
        }
    }
    return z->rc;
}

/* How much decoded text was in n unseen bytes cannot be known, nor what comes behind them. */
static int on_gap(void *ctx, uint64_t n, struct mark at)
{
    struct inflate *z = ctx;
    if (z->rc != TA_OK)
        return z->rc;
    if (z->state == LOST)
        return TA_OK;
    if (z->state != PLAIN)
        lose(z, "coding.gap", at);
    at.off = z->decoded;
    z->decoded += n;
    if (z->out.gap != NULL)
        z->rc = z->out.gap(z->out.ctx, n, at);
    return z->rc;
}

static int on_end(void *ctx, enum end_kind why, struct mark at)
{
    struct inflate *z = ctx;
    if (z->rc == TA_OK && z->state == SNIFF && z->held) {
        z->state = PLAIN;
        anomaly_note(z->bad, "coding.mislabelled", z->byte_at, 0);
        hand_on(z, &z->byte, 1, z->byte_at);
    }
    if (z->rc == TA_OK && z->state == BODY)
        lose(z, "coding.cut-short", at);
    at.off = z->decoded;
    if (z->rc == TA_OK && z->out.end != NULL)
        z->rc = z->out.end(z->out.ctx, why, at);
    return z->rc;
}

struct byte_sink inflate_input(struct inflate *z)
{
    return (struct byte_sink){z, on_data, on_gap, on_end};
}
