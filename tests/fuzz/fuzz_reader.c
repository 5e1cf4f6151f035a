/* Fuzzes traces/reader with gz, pcapng and pcap_file below it: a whole file, gzip'd or not. Frames
 * rise, no packet is longer than it was on the wire, the file is read to its end; a file says the
 * same when it is inflated by a thread beside its reading, and when it comes inside one gzip
 * member. */
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

/* The hash of all that the reader says of a file; 0 if it cannot be used. after: of
 * reader_open_ahead. */
static uint64_t read_all(const void *p, size_t n, size_t after, struct reader_health *health)
{
    struct said s = {14695981039346656037u};
    struct reader *r = NULL;
    struct rec rec;
    struct err e = {0};
    uint64_t frame = 0;
    *health = (struct reader_health){0};
    stdin_give(p, n);
    int rc = reader_open_ahead(&r, "-", after, &e);
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
    *health = *reader_health(r);
    reader_close(r);
    return s.hash;
}

static void check_ahead(const void *p, size_t n, uint64_t alone, const struct reader_health *h)
{
    struct reader_health ahead;
    if (read_all(p, n, 0, &ahead) != alone || ahead.damaged_members != h->damaged_members ||
        strcmp(ahead.note, h->note) != 0 || strcmp(ahead.sha256, h->sha256) != 0)
        abort();
}

static bool is_capture(const uint8_t *p, size_t n)
{
    static const char starts[][5] = {"\x0a\x0d\x0d\x0a", "\xa1\xb2\xc3\xd4", "\xd4\xc3\xb2\xa1",
                                     "\xa1\xb2\x3c\x4d", "\x4d\x3c\xb2\xa1", "\xa1\xb2\xcd\x34",
                                     "\x34\xcd\xb2\xa1"};
    for (size_t i = 0; n >= 4 && i < sizeof starts / sizeof *starts; i++)
        if (memcmp(p, starts[i], 4) == 0)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader_health health;
    uint64_t plain = read_all(data, size, SIZE_MAX, &health);
    check_ahead(data, size, plain, &health);
    /* Of what is no capture, gzip members are looked for behind the damage: in the file alone. */
    if (!is_capture(data, size))
        return 0;
    struct gz_maker *m = gz_maker_new();
    struct buf file;
    struct slice part = {(const char *)data, size};
    buf_init(&file, 64u << 20);
    if (gz_member(m, &file, &part, 1) != TA_OK || read_all(file.p, file.n, 0, &health) != plain)
        abort();
    buf_done(&file);
    gz_maker_free(m);
    return 0;
}
