/* pcapng blocks: draft-ietf-opsawg-pcapng, sections 3 (blocks and options) and 4 (block types). */
#include "traces/pcapng.h"

#include <stdlib.h>

#include "traces/base/mem.h"
#include "traces/custom.h"
#include "traces/limits.h"

enum {
    ORDER_MAGIC = 0x1A2B3C4D,
    OPT_END = 0,
    OPT_COMMENT = 1,
    SHB_USERAPPL = 4,
    IF_NAME = 2,
    IF_TSRESOL = 9,
    IF_FILTER = 11,
    IF_TSOFFSET = 14,
    ISB_IFRECV = 4, /* COUNT_RECEIVED, and so on */
    ISB_IFDROP = 5,
    ISB_FILTERACCEPT = 6,
    ISB_OSDROP = 7
};

uint16_t pcapng_rd16(const uint8_t *p, bool big)
{
    return (uint16_t)(big ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}

uint32_t pcapng_rd32(const uint8_t *p, bool big)
{
    return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
               : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

uint64_t pcapng_rd64(const uint8_t *p, bool big)
{
    uint64_t first = pcapng_rd32(p, big), second = pcapng_rd32(p + 4, big);
    return big ? first << 32 | second : second << 32 | first;
}

static void wr16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

void pcapng_wr32(uint8_t *p, uint32_t v)
{
    wr16(p, (uint16_t)v);
    wr16(p + 2, (uint16_t)(v >> 16));
}

static void wr64(uint8_t *p, uint64_t v)
{
    pcapng_wr32(p, (uint32_t)v);
    pcapng_wr32(p + 4, (uint32_t)(v >> 32));
}

static size_t padded(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

/* --- writing ------------------------------------------------------------------------------------
 */

/* A block under construction: room for it was made at once, so that nothing half-made is ever left.
 */
struct maker {
    struct buf *out;
    uint8_t *start, *p;
};

static int make(struct maker *m, struct buf *out, uint32_t type, size_t body_bytes)
{
    m->out = out;
    m->start =
        body_bytes > LIMIT_BLOCK_BYTES - 12 ? NULL : buf_reserve(out, padded(body_bytes) + 12);
    if (m->start == NULL)
        return TA_ELIMIT;
    pcapng_wr32(m->start, type);
    m->p = m->start + 8;
    return TA_OK;
}

static void make32(struct maker *m, uint32_t v)
{
    pcapng_wr32(m->p, v);
    m->p += 4;
}

static void make_bytes(struct maker *m, const void *p, size_t n)
{
    if (n > 0)
        memcpy(m->p, p, n);
    memset(m->p + n, 0, padded(n) - n);
    m->p += padded(n);
}

static int made(struct maker *m)
{
    uint32_t n = (uint32_t)(m->p + 4 - m->start);
    pcapng_wr32(m->start + 4, n);
    make32(m, n);
    m->out->n += n;
    return TA_OK;
}

static size_t option_bytes(struct slice v)
{
    return v.n == 0 || v.n > UINT16_MAX ? 0 : 4 + padded(v.n);
}

static void make_option(struct maker *m, uint16_t code, struct slice v)
{
    if (option_bytes(v) == 0)
        return;
    wr16(m->p, code);
    wr16(m->p + 2, (uint16_t)v.n);
    m->p += 4;
    make_bytes(m, v.p, v.n);
}

static void make_u64_option(struct maker *m, uint16_t code, uint64_t v)
{
    uint8_t bytes[8];
    wr64(bytes, v);
    if (v != UINT64_MAX)
        make_option(m, code, (struct slice){(const char *)bytes, sizeof bytes});
}

static struct slice slice_or_none(const char *text)
{
    return text == NULL ? (struct slice){"", 0} : slice_of(text);
}

int pcapng_add_section(struct buf *out, const char *application, struct slice comment)
{
    struct maker m;
    struct slice app = slice_or_none(application);
    if (make(&m, out, PCAPNG_SECTION, 16 + option_bytes(app) + option_bytes(comment) + 4) != TA_OK)
        return TA_ELIMIT;
    make32(&m, ORDER_MAGIC);
    make32(&m, 1); /* version 1.0 */
    make32(&m, UINT32_MAX);
    make32(&m, UINT32_MAX); /* section length: not known beforehand */
    make_option(&m, OPT_COMMENT, comment);
    make_option(&m, SHB_USERAPPL, app);
    make32(&m, OPT_END);
    return made(&m);
}

int pcapng_add_interface(struct buf *out, uint16_t link, uint32_t snaplen, const char *name,
                         const char *filter)
{
    struct maker m;
    struct buf bpf;
    struct slice device = slice_or_none(name), text = {"", 0};
    buf_init(&bpf, UINT16_MAX);
    /* The option's first byte says what follows: 0, the text that libpcap compiles. */
    if (filter != NULL && buf_add(&bpf, "", 1) == TA_OK &&
        buf_add(&bpf, filter, strlen(filter)) == TA_OK)
        text = (struct slice){(const char *)bpf.p, bpf.n};
    int rc = make(&m, out, PCAPNG_INTERFACE, 8 + option_bytes(device) + 8 + option_bytes(text) + 4);
    if (rc == TA_OK) {
        make32(&m, link);
        make32(&m, snaplen);
        make_option(&m, IF_NAME, device);
        make_option(&m, IF_TSRESOL, (struct slice){"\x09", 1});
        make_option(&m, IF_FILTER, text);
        make32(&m, OPT_END);
        made(&m);
    }
    buf_done(&bpf);
    return rc;
}

int pcapng_add_packet(struct buf *out, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n)
{
    struct maker m;
    if (wire_n > UINT32_MAX || n > LIMIT_BLOCK_BYTES ||
        make(&m, out, PCAPNG_PACKET, 20 + n) != TA_OK)
        return TA_ELIMIT;
    make32(&m, 0);
    make32(&m, (uint32_t)((uint64_t)t_ns >> 32));
    make32(&m, (uint32_t)t_ns);
    make32(&m, (uint32_t)n);
    make32(&m, (uint32_t)wire_n);
    make_bytes(&m, p, n);
    return made(&m);
}

int pcapng_add_statistics(struct buf *out, int64_t t_ns, uint64_t accepted, uint64_t if_dropped,
                          uint64_t os_dropped)
{
    struct maker m;
    if (make(&m, out, PCAPNG_STATISTICS, (size_t)12 + 3 * 12 + 4) != TA_OK)
        return TA_ELIMIT;
    make32(&m, 0);
    make32(&m, (uint32_t)((uint64_t)t_ns >> 32));
    make32(&m, (uint32_t)t_ns);
    make_u64_option(&m, ISB_IFDROP, if_dropped);
    make_u64_option(&m, ISB_FILTERACCEPT, accepted);
    make_u64_option(&m, ISB_OSDROP, os_dropped);
    make32(&m, OPT_END);
    return made(&m);
}

int pcapng_add_custom(struct buf *out, struct slice json)
{
    struct maker m;
    struct buf data;
    buf_init(&data, 2 * LIMIT_CUSTOM_JSON_BYTES);
    int rc = custom_encode(&data, json);
    if (rc == TA_OK)
        rc = make(&m, out, PCAPNG_CUSTOM, 4 + data.n);
    if (rc == TA_OK) {
        make32(&m, CUSTOM_PEN);
        make_bytes(&m, data.p, data.n);
        made(&m);
    }
    buf_done(&data);
    return rc;
}

/* --- reading ------------------------------------------------------------------------------------
 */

void pcapng_done(struct pcapng *s)
{
    free(s->interfaces);
    *s = (struct pcapng){0};
}

bool pcapng_is_big(const uint8_t *p)
{
    return pcapng_rd32(p + 8, true) == ORDER_MAGIC;
}

enum pcapng_frame pcapng_frame(const struct pcapng *s, const uint8_t *p, uint32_t *block_bytes)
{
    bool big = s->big;
    /* A section header's type reads the same in both orders; its length only once the magic is
     * known. */
    bool section = pcapng_rd32(p, false) == PCAPNG_SECTION;
    if (section) {
        big = pcapng_is_big(p);
        if (!big && pcapng_rd32(p + 8, false) != ORDER_MAGIC)
            return PCAPNG_FRAME_BAD;
    } else if (!s->open) {
        return PCAPNG_FRAME_BAD;
    }
    uint32_t n = pcapng_rd32(p + 4, big);
    *block_bytes = n;
    if (n % 4 != 0 || n < (section ? 28u : 12u))
        return PCAPNG_FRAME_BAD;
    return n > LIMIT_BLOCK_BYTES ? PCAPNG_FRAME_TOO_LARGE : PCAPNG_FRAME_OK;
}

static bool type_is_common(uint32_t type)
{
    return type == PCAPNG_SECTION || (type >= 1 && type <= 0xA) ||
           (type >= 0x201 && type <= 0x222) || type == PCAPNG_CUSTOM ||
           type == PCAPNG_CUSTOM_NO_COPY;
}

bool pcapng_begins(const struct pcapng *s, const uint8_t *p, size_t n)
{
    uint32_t bytes;
    if (n < PCAPNG_HEAD_BYTES || pcapng_frame(s, p, &bytes) != PCAPNG_FRAME_OK)
        return false;
    uint32_t type = pcapng_rd32(p, s->big);
    bool big = type == PCAPNG_SECTION ? pcapng_is_big(p) : s->big;
    return type_is_common(type) && (n < bytes || pcapng_rd32(p + bytes - 4, big) == bytes);
}

struct option {
    uint16_t code;
    const uint8_t *p;
    size_t n;
};

/* The next option of p[0..*n); false at their end, which some writers do not mark. */
static bool option_next(bool big, const uint8_t **p, size_t *n, struct option *out)
{
    if (*n < 4)
        return false;
    *out = (struct option){pcapng_rd16(*p, big), *p + 4, pcapng_rd16(*p + 2, big)};
    if (out->code == OPT_END || padded(out->n) > *n - 4)
        return false;
    *n -= 4 + padded(out->n);
    *p += 4 + padded(out->n);
    return true;
}

static void add_counts(struct pcapng_counts *to, const struct pcapng_counts *more)
{
    for (int i = 0; i < PCAPNG_COUNTS; i++) {
        if (!more->stated[i])
            continue;
        to->stated[i] = true;
        to->n[i] = more->n[i] > UINT64_MAX - 1 - to->n[i] ? UINT64_MAX - 1 : to->n[i] + more->n[i];
    }
}

/* What was counted up to here, on all interfaces of all sections (N4, N21). */
static struct pcapng_counts counts_so_far(const struct pcapng *s)
{
    struct pcapng_counts sum = s->before;
    for (size_t i = 0; i < s->n; i++)
        add_counts(&sum, &s->interfaces[i].counts);
    return sum;
}

static enum pcapng_what read_section(struct pcapng *s, const uint8_t *block)
{
    const uint8_t *body = block + 8;
    s->before = counts_so_far(s);
    s->open = true;
    s->big = pcapng_is_big(block);
    uint16_t major = pcapng_rd16(body + 4, s->big), minor = pcapng_rd16(body + 6, s->big);
    s->foreign = major != 1 || (minor != 0 && minor != 2);
    s->n = 0; /* interface numbers begin again */
    return s->foreign ? PCAPNG_IS_UNKNOWN : PCAPNG_IS_NOTHING;
}

static enum pcapng_what read_interface(struct pcapng *s, const uint8_t *p, size_t n)
{
    if (n < 8 || s->n == LIMIT_INTERFACES)
        return PCAPNG_IS_BAD;
    struct pcapng_interface i = {
        .link = pcapng_rd16(p, s->big), .snaplen = pcapng_rd32(p + 4, s->big), .tsresol = 6};
    struct option o;
    p += 8;
    n -= 8;
    while (option_next(s->big, &p, &n, &o)) {
        if (o.code == IF_TSRESOL && o.n == 1)
            i.tsresol = o.p[0];
        else if (o.code == IF_TSOFFSET && o.n == 8)
            i.tsoffset_s = (int64_t)pcapng_rd64(o.p, s->big);
    }
    if (s->n == s->cap) {
        s->cap = s->cap == 0 ? 4 : s->cap * 2;
        s->interfaces = mem_resize(s->interfaces, s->cap * sizeof *s->interfaces);
    }
    s->interfaces[s->n++] = i;
    return PCAPNG_IS_NOTHING;
}

/* ticks * 10^9 / 2^bits of a part of a second, exactly: the product may need 94 bits. */
static uint64_t binary_fraction_ns(uint64_t ticks, unsigned bits)
{
    uint64_t low = (ticks & UINT32_MAX) * 1000000000u;
    uint64_t high = (ticks >> 32) * 1000000000u + (low >> 32);
    low &= UINT32_MAX;
    return bits >= 32 ? high >> (bits - 32) : high << (32 - bits) | low >> bits;
}

bool pcapng_time(const struct pcapng_interface *i, uint64_t ticks, int64_t *t_ns)
{
    unsigned exponent = i->tsresol & 0x7f;
    uint64_t seconds, ns;
    if (i->tsresol & 0x80) {
        if (exponent > 63)
            return false;
        seconds = ticks >> exponent;
        ns = binary_fraction_ns(ticks - (seconds << exponent), exponent);
    } else {
        if (exponent > 19)
            return false;
        uint64_t a_second = 1;
        for (unsigned k = 0; k < exponent; k++)
            a_second *= 10;
        seconds = ticks / a_second;
        ns = ticks % a_second;
        for (unsigned k = exponent; k < 9; k++)
            ns *= 10;
        for (unsigned k = 9; k < exponent; k++)
            ns /= 10;
    }
    const int64_t most = INT64_MAX / 1000000000 - 1;
    if (seconds > (uint64_t)most || i->tsoffset_s > most || i->tsoffset_s < -most)
        return false;
    int64_t sum = (int64_t)seconds + i->tsoffset_s;
    if (sum > most)
        return false;
    *t_ns = sum * 1000000000 + (int64_t)ns;
    return true;
}

static void stamp(const struct pcapng *s, const struct pcapng_interface *i, const uint8_t *high_low,
                  struct pcapng_block *out)
{
    uint64_t ticks =
        (uint64_t)pcapng_rd32(high_low, s->big) << 32 | pcapng_rd32(high_low + 4, s->big);
    out->has_time = pcapng_time(i, ticks, &out->t_ns);
}

/* Enhanced and obsolete packet blocks differ in their first word alone: an interface of 32 bits, or
 * one of 16 and a count of drops. */
static enum pcapng_what read_packet(const struct pcapng *s, bool old, const uint8_t *p, size_t n,
                                    struct pcapng_block *out)
{
    if (n < 20)
        return PCAPNG_IS_BAD;
    uint32_t id = old ? pcapng_rd16(p, s->big) : pcapng_rd32(p, s->big);
    out->n = pcapng_rd32(p + 12, s->big);
    out->wire_n = pcapng_rd32(p + 16, s->big);
    if (id >= s->n || out->n > n - 20)
        return PCAPNG_IS_BAD;
    if (out->wire_n < out->n)
        out->wire_n = out->n;
    out->p = p + 20;
    out->link = s->interfaces[id].link;
    out->interface = id;
    stamp(s, &s->interfaces[id], p + 4, out);
    return PCAPNG_IS_PACKET;
}

/* No interface (it is the first), no time, no captured length. */
static enum pcapng_what read_simple(const struct pcapng *s, const uint8_t *p, size_t n,
                                    struct pcapng_block *out)
{
    if (n < 4 || s->n == 0)
        return PCAPNG_IS_BAD;
    uint32_t snaplen = s->interfaces[0].snaplen;
    out->wire_n = pcapng_rd32(p, s->big);
    out->n = snaplen != 0 && out->wire_n > snaplen ? snaplen : out->wire_n;
    if (out->n > n - 4)
        return PCAPNG_IS_BAD;
    out->p = p + 4;
    out->link = s->interfaces[0].link;
    return PCAPNG_IS_PACKET;
}

static enum pcapng_what read_statistics(struct pcapng *s, const uint8_t *p, size_t n,
                                        struct pcapng_block *out)
{
    if (n < 12 || pcapng_rd32(p, s->big) >= s->n)
        return PCAPNG_IS_BAD;
    struct pcapng_interface *i = &s->interfaces[pcapng_rd32(p, s->big)];
    stamp(s, i, p + 4, out);
    struct option o;
    p += 12;
    n -= 12;
    while (option_next(s->big, &p, &n, &o)) {
        if (o.n != 8 || o.code < ISB_IFRECV || o.code > ISB_OSDROP)
            continue;
        i->counts.stated[o.code - ISB_IFRECV] = true;
        i->counts.n[o.code - ISB_IFRECV] = pcapng_rd64(o.p, s->big);
    }
    struct pcapng_counts sum = counts_so_far(s);
    out->received = sum.stated[COUNT_RECEIVED] ? sum.n[COUNT_RECEIVED] : UINT64_MAX;
    out->if_dropped = sum.stated[COUNT_IF_DROPPED] ? sum.n[COUNT_IF_DROPPED] : UINT64_MAX;
    out->accepted = sum.stated[COUNT_ACCEPTED] ? sum.n[COUNT_ACCEPTED] : UINT64_MAX;
    out->os_dropped = sum.stated[COUNT_OS_DROPPED] ? sum.n[COUNT_OS_DROPPED] : UINT64_MAX;
    return PCAPNG_IS_COUNTS;
}

static enum pcapng_what read_custom(const struct pcapng *s, const uint8_t *p, size_t n,
                                    struct pcapng_block *out)
{
    if (n < 4)
        return PCAPNG_IS_BAD;
    if (pcapng_rd32(p, s->big) == CUSTOM_PEN && custom_decode(p + 4, n - 4, &out->json))
        return PCAPNG_IS_CUSTOM;
    return PCAPNG_IS_FRAME;
}

enum pcapng_what pcapng_read(struct pcapng *s, const uint8_t *block, size_t n,
                             struct pcapng_block *out)
{
    const uint8_t *body = block + 8;
    size_t body_n = n - 12;
    *out = (struct pcapng_block){0};
    uint32_t type = pcapng_rd32(block, s->big);
    if (type == PCAPNG_SECTION)
        return read_section(s, block);
    if (s->foreign)
        return PCAPNG_IS_UNKNOWN;
    switch (type) {
    case PCAPNG_INTERFACE:
        return read_interface(s, body, body_n);
    case PCAPNG_PACKET:
    case PCAPNG_OLD_PACKET:
        return read_packet(s, type == PCAPNG_OLD_PACKET, body, body_n, out);
    case PCAPNG_SIMPLE_PACKET:
        return read_simple(s, body, body_n, out);
    case PCAPNG_STATISTICS:
        return read_statistics(s, body, body_n, out);
    case PCAPNG_CUSTOM:
    case PCAPNG_CUSTOM_NO_COPY:
        return read_custom(s, body, body_n, out);
    case PCAPNG_JOURNAL:
    case PCAPNG_SYSDIG_EVENT:
    case PCAPNG_SYSDIG_EVENT_V2:
    case PCAPNG_SYSDIG_EVENT_V2_LARGE:
        return PCAPNG_IS_FRAME;
    case PCAPNG_NAMES:
    case 0xA: /* decryption secrets: nothing of them is wanted here */
        return PCAPNG_IS_NOTHING;
    default:
        return PCAPNG_IS_UNKNOWN;
    }
}
