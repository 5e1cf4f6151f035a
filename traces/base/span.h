/* Bytes, and where and when they were seen. Every stage between packet and event speaks these
 * types.
 *
 * Times are int64_t nanoseconds since the Unix epoch, as the trace stamped them. */
#ifndef TRACES_BASE_SPAN_H
#define TRACES_BASE_SPAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A position in one direction of one connection. */
struct mark {
    uint64_t off;    /* offset in the TCP stream; 0 = first data byte */
    int64_t t_seen;  /* first packet that carried this byte */
    int64_t t_ready; /* no earlier byte missing any more; >= t_seen */
    uint64_t pkt;    /* frame number of the packet first seen with it */
    uint64_t rel;    /* frame number of the packet that released it; != pkt after a filled hole */
};

/* Borrowed bytes or text; never NUL-terminated. */
struct slice {
    const char *p;
    size_t n;
};

/* Bytes of one packet (or one read): at is the mark of p[0] and true for all n, but for off. */
struct span {
    const uint8_t *p;
    size_t n;
    struct mark at;
};

enum end_kind {
    END_FIN,   /* closed in order */
    END_RST,   /* torn down */
    END_TRACE, /* the trace ended first: the end was not seen */
    END_GAP    /* unseen bytes made the rest unreadable */
};

/* What every byte-consuming stage looks like. data and gap come in stream order, then end once.
 * A callback returns TA_OK, TA_STOP ("enough"), or a negative TA_E…; nonzero stops the stage, is
 * returned unchanged and is sticky. Spans die when the callback returns. */
struct byte_sink {
    void *ctx;
    int (*data)(void *ctx, struct span in);
    int (*gap)(void *ctx, uint64_t n, struct mark at); /* n bytes were sent and never captured */
    int (*end)(void *ctx, enum end_kind why, struct mark at);
};

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static inline int slice_is(struct slice s, const char *text)
{
    size_t n = strlen(text);
    return s.n == n && memcmp(s.p, text, n) == 0;
}

/* The mark of in.p[i]. */
static inline struct mark span_mark(struct span in, size_t i)
{
    in.at.off += i;
    return in.at;
}

#endif
