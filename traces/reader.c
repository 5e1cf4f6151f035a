/* The records of a trace or capture: blocks and records cut out of the pieces that traces/gz.c
 * gives. */
#include "traces/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/custom.h"
#include "traces/gz_ahead.h"
#include "traces/limits.h"
#include "traces/pcap_file.h"
#include "traces/pcapng.h"

struct reader {
    struct gz_ahead *source;
    struct gz_piece piece;
    size_t at;        /* used of the piece */
    struct buf carry; /* a block whose bytes came in several pieces: what is there of it */
    uint64_t
        offset;   /* of the block at hand, in the inflated stream; piece and carry count from it */
    bool classic; /* pcap, not pcapng */
    bool ended;
    struct pcap_file pcap;
    struct pcapng section;
    uint64_t frame;
    struct reader_health health;
};

static void note(struct reader *r, const char *what)
{
    if (r->health.note[0] == '\0')
        snprintf(r->health.note, sizeof r->health.note, "%s at offset %" PRIu64 "%s", what,
                 r->offset, gz_ahead_is_gzip(r->source) ? " of the inflated file" : " of the file");
}

/* --- bytes --------------------------------------------------------------------------------------
 */

enum { HAVE = 1, END = 0, LOST = 2 };

/* The next `want` bytes from the start of the block at hand, in one stretch, without using them up.
 * END: there are not so many (carry holds what there is). LOST: bytes are missing here, and the
 * block at hand begins anew behind them. */
static int peek(struct reader *r, size_t want, const uint8_t **p, struct err *e)
{
    for (;;) {
        size_t left = r->piece.n - r->at;
        if (r->carry.n == 0 && left >= want) {
            *p = r->piece.p + r->at;
            return HAVE;
        }
        size_t missing = r->carry.n < want ? want - r->carry.n : 0;
        size_t n = left < missing ? left : missing;
        if (n > 0 && buf_add(&r->carry, r->piece.p + r->at, n) != TA_OK)
            return err_set(e, TA_ELIMIT, "a block is larger than %u bytes", LIMIT_BLOCK_BYTES);
        r->at += n;
        if (n == missing)
            break;
        int rc = gz_ahead_next(r->source, &r->piece, e);
        r->at = 0;
        if (rc <= 0) {
            r->piece.n = 0;
            return rc;
        }
        if (r->piece.lost) {
            r->offset += r->carry.n;
            buf_clear(&r->carry);
            return LOST;
        }
    }
    *p = r->carry.p;
    return HAVE;
}

/* Uses up the n bytes that were peeked at last. */
static void consume(struct reader *r, size_t n)
{
    r->offset += n;
    if (r->carry.n > 0)
        buf_clear(&r->carry);
    else
        r->at += n;
}

/* Does the block end with its length, as it began? */
static bool ends_well(const struct reader *r, const uint8_t *p, uint32_t n)
{
    bool section = pcapng_rd32(p, false) == PCAPNG_SECTION;
    bool big = section ? pcapng_is_big(p) : r->section.big;
    return pcapng_rd32(p + n - 4, big) == n;
}

static int finish(struct reader *r, struct err *e)
{
    r->ended = true;
    return gz_ahead_drain(r->source, e);
}

/* The file ends; bytes that are left over are a record cut short. */
static int end_of_file(struct reader *r, struct err *e)
{
    if (r->carry.n > 0) {
        r->health.truncated = true;
        note(r, "the end comes inside the block");
    }
    return finish(r, e);
}

/* No block stands here. In a gzip file of several members one may stand at the start of a later
 * one. */
static int resync(struct reader *r, const char *what, struct err *e)
{
    note(r, what);
    r->health.bad_blocks++;
    r->offset += r->carry.n;
    buf_clear(&r->carry);
    while (gz_ahead_is_gzip(r->source) && !r->classic) {
        r->offset += r->piece.n - r->at;
        r->at = 0;
        int rc = gz_ahead_next(r->source, &r->piece, e);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            r->piece.n = 0;
            break;
        }
        if (r->piece.starts && pcapng_begins(&r->section, r->piece.p, r->piece.n))
            return TA_OK;
    }
    return finish(r, e);
}

/* --- records ------------------------------------------------------------------------------------
 */

static bool give(struct reader *r, enum pcapng_what what, const struct pcapng_block *b,
                 struct rec *out)
{
    *out = (struct rec){.t_ns = b->t_ns, .has_time = b->has_time};
    switch (what) {
    case PCAPNG_IS_PACKET:
        out->kind = REC_PACKET;
        out->frame = ++r->frame;
        out->link = b->link;
        out->interface = b->interface;
        out->interfaces = (uint32_t)r->section.n;
        out->p = b->p;
        out->n = b->n;
        out->wire_n = b->wire_n;
        return true;
    case PCAPNG_IS_CUSTOM:
        out->kind = REC_CUSTOM;
        out->frame = ++r->frame;
        out->json = b->json;
        return true;
    case PCAPNG_IS_COUNTS:
        out->kind = REC_COUNTS;
        /* dumpcap states as received what libpcap counts behind the filter. */
        out->received = b->accepted != UINT64_MAX ? b->accepted : b->received;
        out->dropped = b->os_dropped;
        out->if_dropped = b->if_dropped;
        return true;
    case PCAPNG_IS_FRAME:
        r->frame++;
        return false;
    case PCAPNG_IS_UNKNOWN:
        r->health.skipped_blocks++;
        return false;
    case PCAPNG_IS_BAD:
        r->health.bad_blocks++;
        note(r, "a block that contradicts itself");
        return false;
    case PCAPNG_IS_NOTHING:
        break;
    }
    return false;
}

/* One block. 1: *out is set; 0: go on (or r->ended). */
static int next_block(struct reader *r, struct rec *out, struct err *e)
{
    const uint8_t *p;
    uint32_t n = 0;
    int rc = peek(r, PCAPNG_HEAD_BYTES, &p, e);
    if (rc == END)
        return end_of_file(r, e);
    if (rc != HAVE)
        return rc == LOST ? 0 : rc;
    enum pcapng_frame frame = pcapng_frame(&r->section, p, &n);
    if (frame != PCAPNG_FRAME_OK)
        return resync(r, frame == PCAPNG_FRAME_BAD ? "no pcapng block" : "a block over 16 MiB", e);
    rc = peek(r, n, &p, e);
    if (rc == END)
        return end_of_file(r, e);
    if (rc != HAVE)
        return rc == LOST ? 0 : rc;
    if (!ends_well(r, p, n))
        return resync(r, "a block whose two lengths differ", e);
    if (r->section.foreign)
        note(r, "a section of a pcapng version that is not known");
    struct pcapng_block b;
    enum pcapng_what what = pcapng_read(&r->section, p, n, &b);
    bool given = give(r, what, &b, out);
    /* The block's bytes stay where they are until the next piece or carry: they are only counted as
     * used here. */
    consume(r, n);
    return given;
}

static int next_classic(struct reader *r, struct rec *out, struct err *e)
{
    const uint8_t *p;
    struct pcap_record record;
    size_t head = r->pcap.record_head_bytes;
    int rc = peek(r, head, &p, e);
    if (rc == END)
        return end_of_file(r, e);
    if (rc != HAVE)
        return rc == LOST ? resync(r, "records behind damage, which pcap cannot find again,", e)
                          : rc;
    if (!pcap_file_record(&r->pcap, p, &record))
        return resync(r, "no pcap record", e);
    rc = peek(r, head + record.n, &p, e);
    if (rc == END)
        return end_of_file(r, e);
    if (rc != HAVE)
        return rc == LOST ? resync(r, "records behind damage, which pcap cannot find again,", e)
                          : rc;
    *out = (struct rec){.kind = REC_PACKET,
                        .frame = ++r->frame,
                        .t_ns = record.t_ns,
                        .has_time = true,
                        .link = r->pcap.link,
                        .interfaces = 1,
                        .p = p + head,
                        .n = record.n,
                        .wire_n = record.wire_n};
    consume(r, head + record.n);
    return 1;
}

int reader_next(struct reader *r, struct rec *out, struct err *e)
{
    while (!r->ended) {
        int rc = r->classic ? next_classic(r, out, e) : next_block(r, out, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* --- opening ------------------------------------------------------------------------------------
 */

static const struct {
    const char *magic;
    size_t n;
    const char *what;
} known_files[] = {
    {"\xff\xd8\xff", 3, "a JPEG picture"},
    {"\x89PNG", 4, "a PNG picture"},
    {"%PDF", 4, "a PDF document"},
    {"PK\x03\x04", 4, "a ZIP archive; unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, "zstd-compressed; decompress it first: zstd -d"},
    {"\xfd"
     "7zXZ",
     5, "xz-compressed; decompress it first: xz -d"},
    {"BZh", 3, "bzip2-compressed; decompress it first: bzip2 -d"},
    {"\x04\x22\x4d\x18", 4, "lz4-compressed; decompress it first: lz4 -d"},
    {"snoop\0\0\0", 8, "a snoop capture; convert it first: editcap -F pcapng"},
    {"\x7f"
     "ELF",
     4, "an ELF program"},
    {"\xd4\xc3\xb2\xa1", 4, "a pcap file of an unknown version"},
    {"\xa1\xb2\xc3\xd4", 4, "a pcap file of an unknown version"},
    {"\x1f\x8b", 2, "gzip-compressed twice; decompress it once: gunzip"},
    {"<", 1, "markup text"},
    {"{", 1, "JSON text"},
    {"[", 1, "JSON text"},
};

/* What the bytes are, for people. */
static void describe(const uint8_t *p, size_t n, char *out, size_t out_n)
{
    for (size_t i = 0; i < sizeof known_files / sizeof *known_files; i++) {
        if (n >= known_files[i].n && memcmp(p, known_files[i].magic, known_files[i].n) == 0) {
            snprintf(out, out_n, "it is %s", known_files[i].what);
            return;
        }
    }
    int k = snprintf(out, out_n, "it starts with");
    for (size_t i = 0; i < n && i < 8; i++)
        k += snprintf(out + k, out_n - (size_t)k, " %02x", p[i]);
}

static int not_a_capture(struct reader *r, const char *path, const uint8_t *p, size_t n,
                         struct err *e)
{
    char what[128];
    bool gzip = gz_ahead_is_gzip(r->source);
    if (r->health.file_bytes == 0)
        return err_set(e, TA_EFORMAT, "%s is empty; expected a pcapng or pcap file", path);
    if (n == 0 || r->health.damaged_members > 0)
        return err_set(
            e, TA_EFORMAT,
            "%s is damaged from its start (%s): the capture's first header is gone, and nothing "
            "behind it can be read without it",
            path, r->health.note[0] != '\0' ? r->health.note : "no data in the gzip file");
    describe(p, n, what, sizeof what);
    return err_set(e, TA_EFORMAT,
                   "%s is not a capture%s: %s; expected pcapng or pcap, gzip'd or not", path,
                   gzip ? " inside its gzip" : "", what);
}

/* --- without the first member -------------------------------------------------------------------
 */

enum { MEMBER_LOOK = PCAPNG_HEAD_BYTES + 16 + 16 }; /* up to the end of {"kind":"member" */

/* By the first PCAPNG_HEAD_BYTES. */
static bool is_our_custom(const uint8_t *p)
{
    uint32_t n = pcapng_rd32(p + 4, false);
    return pcapng_rd32(p, false) == PCAPNG_CUSTOM && n % 4 == 0 && n > MEMBER_LOOK &&
           n <= LIMIT_BLOCK_BYTES && pcapng_rd32(p + 8, false) == CUSTOM_PEN;
}

/* Does a `member` block stand here? p[0..n) may hold its start alone. */
static bool is_member_block(const uint8_t *p, size_t n)
{
    return n >= MEMBER_LOOK && is_our_custom(p) &&
           memcmp(p + 12, CUSTOM_MAGIC, sizeof CUSTOM_MAGIC - 1) == 0 &&
           memcmp(p + MEMBER_LOOK - 16, "{\"kind\":\"member\"", 16) == 0;
}

/* The headers are lost with the first member; every other one of a trace of ours repeats what is
 * needed of them. *yes: the block at hand is such a one, and the section is open. */
static int adopt(struct reader *r, bool *yes, struct err *e)
{
    const uint8_t *p;
    struct slice text;
    int64_t link, snaplen;
    int rc = peek(r, MEMBER_LOOK, &p, e);
    if (rc != HAVE || !is_member_block(p, MEMBER_LOOK))
        return rc < 0 ? rc : TA_OK;
    uint32_t n = pcapng_rd32(p + 4, false);
    rc = peek(r, n, &p, e);
    if (rc != HAVE || !custom_decode(p + 12, n - 16, &text))
        return rc < 0 ? rc : TA_OK;
    struct json *v = json_parse(text.p, text.n, NULL);
    if (json_int(v, "link", &link) && json_int(v, "snaplen", &snaplen) && link >= 0 &&
        link <= UINT16_MAX && snaplen >= 0 && snaplen <= UINT32_MAX) {
        struct pcapng_interface only = {
            .link = (uint16_t)link, .snaplen = (uint32_t)snaplen, .tsresol = 9};
        r->section.open = *yes = true;
        r->section.interfaces = mem_alloc(sizeof only);
        r->section.interfaces[0] = only;
        r->section.n = r->section.cap = 1;
        note(r, "the first member is missing: found without it");
        r->health.damaged_members += r->health.damaged_members == 0;
    }
    json_free(v);
    return TA_OK;
}

/* Reads as far as the first header, which tells the format. */
static int identify(struct reader *r, const char *path, struct err *e)
{
    const uint8_t *p = NULL;
    uint32_t n;
    int rc;
    do
        rc = peek(r, PCAPNG_HEAD_BYTES, &p, e);
    while (rc == LOST);
    if (rc < 0)
        return rc;
    if (rc == END)
        return not_a_capture(r, path, r->carry.p, r->carry.n, e);
    if (pcapng_frame(&r->section, p, &n) == PCAPNG_FRAME_OK) {
        rc = peek(r, n, &p, e);
        if (rc < 0)
            return rc;
        if (rc == HAVE && ends_well(r, p, n))
            return TA_OK;
        if (rc == HAVE)
            return err_set(e, TA_EFORMAT,
                           "%s is damaged: the lengths of its first pcapng block differ", path);
        return err_set(e, TA_EFORMAT, "%s ends inside its first header: nothing in it can be read",
                       path);
    }
    uint8_t first[PCAPNG_HEAD_BYTES];
    memcpy(first, p, sizeof first);
    bool adopted = false;
    rc = is_our_custom(p) ? adopt(r, &adopted, e) : TA_OK;
    if (rc < 0 || adopted)
        return rc;
    rc = peek(r, PCAP_FILE_HEAD_BYTES, &p, e);
    if (rc < 0)
        return rc;
    if (rc != HAVE || !pcap_file_head(&r->pcap, p))
        return not_a_capture(r, path, first, sizeof first, e);
    r->classic = true;
    consume(r, PCAP_FILE_HEAD_BYTES);
    return TA_OK;
}

static bool begins(void *ctx, const uint8_t *p, size_t n)
{
    struct reader *r = ctx;
    return !r->classic &&
           (pcapng_begins(&r->section, p, n) || (!r->section.open && is_member_block(p, n)));
}

int reader_open_ahead(struct reader **out, const char *path, size_t after, struct err *e)
{
    struct reader *r = mem_zalloc(sizeof *r);
    buf_init(&r->carry, LIMIT_BLOCK_BYTES + PCAP_RECORD_HEAD_BYTES);
    int rc = gz_ahead_open(&r->source, path, after, (struct gz_resume){r, begins}, &r->health, e);
    if (rc == TA_OK)
        rc = identify(r, path, e);
    if (rc != TA_OK) {
        reader_close(r);
        return rc;
    }
    *out = r;
    return TA_OK;
}

int reader_open(struct reader **out, const char *path, struct err *e)
{
    return reader_open_ahead(out, path, READER_AHEAD_AFTER, e);
}

const struct reader_health *reader_health(const struct reader *r)
{
    return &r->health;
}

void reader_close(struct reader *r)
{
    if (r == NULL)
        return;
    gz_ahead_close(r->source);
    pcapng_done(&r->section);
    buf_done(&r->carry);
    free(r);
}
