/* Overwriting, and checksums. */
#include "traces/redact_edit.h"

#include <string.h>

#include "traces/limits.h"

enum { TCP_CHECKSUM_AT = 16 };

void redact_edit_init(struct redact_edit *e, struct redact_totals *totals)
{
    *e = (struct redact_edit){.totals = totals};
    buf_init(&e->scratch, LIMIT_BLOCK_BYTES);
}

void redact_edit_done(struct redact_edit *e)
{
    buf_done(&e->scratch);
}

void redact_edit_begin(struct redact_edit *e, const uint8_t *p, size_t n, size_t data)
{
    e->in = p;
    e->n = n;
    e->out = NULL;
    e->data = data;
    e->base = 0;
    e->checksum = 0;
}

uint8_t redact_edit_filled(uint8_t c, enum redact_fill how)
{
    if (c == '\r' || c == '\n')
        return c;
    switch (how) {
    case FILL_SECRET:
    case FILL_UNJUDGED:
        return '*';
    case FILL_DIGITS:
        return c >= '0' && c <= '9' ? '1' : c;
    case FILL_TEXT:
    case FILL_BODY:
        break;
    }
    return 'x';
}

static void count_bytes(struct redact_totals *t, size_t n, enum redact_fill how)
{
    if (how == FILL_SECRET)
        t->secret_bytes += n;
    else if (how == FILL_UNJUDGED)
        t->unjudged_bytes += n;
    else if (how == FILL_BODY)
        t->whole_bytes += n;
    else
        t->string_bytes += n;
}

void redact_edit_fill(void *ctx, size_t from, size_t to, enum redact_fill how)
{
    struct redact_edit *e = ctx;
    if (e->out == NULL) {
        buf_clear(&e->scratch);
        e->out = buf_reserve(&e->scratch, e->n);
        memcpy(e->out, e->in, e->n);
    }
    uint8_t *p = e->out + e->data + e->base;
    for (size_t i = from; i < to; i++) {
        uint8_t c = redact_edit_filled(p[i], how);
        int difference = c - p[i];
        e->checksum += (e->base + i) & 1 ? difference : difference * 256;
        e->changed += difference != 0;
        p[i] = c;
    }
    count_bytes(e->totals, to - from, how);
}

/* The TCP header before the payload: its ports and numbers are those of the segment. NULL: not
 * found. */
static uint8_t *tcp_header(uint8_t *p, size_t data, const struct segment *s)
{
    for (size_t n = 20; n <= 60 && n <= data; n += 4) {
        uint8_t *h = p + data - n;
        uint32_t seq =
            (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | (uint32_t)h[7];
        if ((size_t)(h[12] >> 4) * 4 == n && (h[0] << 8 | h[1]) == s->from.port &&
            (h[2] << 8 | h[3]) == s->to.port && seq == s->seq)
            return h;
    }
    return NULL;
}

void redact_edit_mend(const struct redact_edit *e, const struct segment *s)
{
    uint8_t *h = e->checksum != 0 ? tcp_header(e->out, e->data, s) : NULL;
    if (h == NULL)
        return;
    int64_t sum = (0xffff - (h[TCP_CHECKSUM_AT] << 8 | h[TCP_CHECKSUM_AT + 1])) + e->checksum;
    sum %= 0xffff;
    if (sum <= 0)
        sum += 0xffff;
    uint16_t v = (uint16_t)(0xffff - sum);
    h[TCP_CHECKSUM_AT] = (uint8_t)(v >> 8);
    h[TCP_CHECKSUM_AT + 1] = (uint8_t)v;
}
