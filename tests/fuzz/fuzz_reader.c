/* Fuzzes traces/reader with gz, pcapng and pcap_file below it: a whole file, gzip'd or not. Frames
 * rise, no packet is longer than it was on the wire, the file is read to its end; and a file says
 * the same when it comes inside one gzip member. */
#include <string.h>

#include "tests/fuzz/split.h"
#include "tests/fuzz/stdin.h"
#include "traces/gz.h"
#include "traces/limits.h"
#include "traces/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void said_record(struct said *s, const struct rec *r)
{
    said_u64(s, r->kind);
    said_u64(s, r->frame);
    said_u64(s, (uint64_t)r->t_ns);
    said_u64(s, r->has_time);
    said_u64(s, r->link);
    said_u64(s, r->n);
    said_bytes(s, r->p, r->n);
    said_u64(s, r->wire_n);
    said_text(s, r->json);
    said_u64(s, r->received);
    said_u64(s, r->dropped);
    said_u64(s, r->if_dropped);
}

static void check_record(const struct rec *r, uint64_t *last_frame)
{
    if (r->kind == REC_COUNTS)
        return;
    if (r->frame <= *last_frame || r->n > r->wire_n || r->n > LIMIT_BLOCK_BYTES ||
        r->json.n > LIMIT_CUSTOM_JSON_BYTES)
        abort();
    *last_frame = r->frame;
}

static void check_health(const struct reader_health *h, size_t size)
{
    if (h->file_bytes != size || strlen(h->sha256) != 64)
        abort();
    if ((h->truncated || h->damaged_members > 0 || h->bad_blocks > 0) && h->note[0] == '\0')
        abort(); /* damage that nobody is told of */
}

/* The hash of all that the reader says of a file; 0 if it cannot be used. */
static uint64_t read_all(const void *p, size_t n)
{
    struct said s = {14695981039346656037u};
    struct reader *r = NULL;
    struct rec rec;
    struct err e = {0};
    uint64_t frame = 0;
    stdin_give(p, n);
    int rc = reader_open(&r, "-", &e);
    if (rc != TA_OK) {
        if (rc != TA_EFORMAT || e.msg[0] == '\0')
            abort();
        return 0;
    }
    while ((rc = reader_next(r, &rec, &e)) == 1) {
        check_record(&rec, &frame);
        said_record(&s, &rec);
    }
    if (rc != 0 || reader_next(r, &rec, &e) != 0)
        abort();
    check_health(reader_health(r), n);
    said_u64(&s, reader_health(r)->truncated);
    said_u64(&s, reader_health(r)->skipped_blocks);
    said_u64(&s, reader_health(r)->bad_blocks);
    reader_close(r);
    return s.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char starts[] = "\x0a\xa1\xd4\x4d\x34"; /* of pcapng and of pcap's kinds */
    uint64_t plain = read_all(data, size);
    /* Of what is no capture, gzip members are looked for behind the damage: in the file alone. */
    if (size == 0 || memchr(starts, data[0], sizeof starts - 1) == NULL)
        return 0;
    struct gz_maker *m = gz_maker_new();
    struct buf file;
    struct slice part = {(const char *)data, size};
    buf_init(&file, 64u << 20);
    if (gz_member(m, &file, &part, 1) != TA_OK || read_all(file.p, file.n) != plain)
        abort();
    buf_done(&file);
    gz_maker_free(m);
    return 0;
}
