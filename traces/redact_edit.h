/* The packet under work: its payload overwritten in a copy, which is made with the first byte that
 * must change; its TCP checksum following by the difference (RFC 1624), so that a wrong one stays
 * wrong. */
#ifndef TRACES_REDACT_EDIT_H
#define TRACES_REDACT_EDIT_H

#include "traces/base/buf.h"
#include "traces/link.h"
#include "traces/redact_fill.h"

struct redact_edit {
    const uint8_t *in;
    size_t n;
    uint8_t *out;     /* NULL: unchanged so far */
    size_t data;      /* where its payload begins … */
    size_t base;      /* … and what is added to what the parts say */
    int64_t checksum; /* by how much the sum has changed */
    uint64_t changed; /* bytes that became others, of all packets */
    struct buf scratch;
    struct redact_totals *totals;
};

void redact_edit_init(struct redact_edit *e, struct redact_totals *totals);
void redact_edit_done(struct redact_edit *e);

/* The packet p[0..n) from here on, its payload from data; borrowed. */
void redact_edit_begin(struct redact_edit *e, const uint8_t *p, size_t n, size_t data);

/* A filler's, ctx is the edit; from and to count from e->base in the payload. */
void redact_edit_fill(void *ctx, size_t from, size_t to, enum redact_fill how);

/* What a byte becomes. */
uint8_t redact_edit_filled(uint8_t c, enum redact_fill how);

/* The checksum of the segment s, which is in e->in. */
void redact_edit_mend(const struct redact_edit *e, const struct segment *s);

#endif
