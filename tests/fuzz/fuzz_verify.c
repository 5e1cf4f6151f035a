/* Fuzzes traces/verify: any file has a verdict, with a reason unless it is whole; and no trace that
 * is whole stays so when a byte of it is changed, left out or added, unless what it holds is the
 * same: the last member has no hash behind it, and the time in its header, say, is no content. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/fuzz/stdin.h"
#include "traces/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum verify_state verdict(const uint8_t *p, size_t n)
{
    struct verify_result r = {0};
    struct err e = {0};
    stdin_give(p, n);
    if (verify_file("-", &r, &e) != TA_OK)
        abort();
    if (r.state > VERIFY_FOREIGN || (r.state == VERIFY_WHOLE) != (r.why[0] == '\0'))
        abort();
    if (r.file_bytes != n || strlen(r.sha256) != 64 || r.offset > n || r.packets > r.blocks)
        abort();
    return r.state;
}

/* All that a file of gzip members holds. free()d by the caller. */
static uint8_t *content(const uint8_t *p, size_t n, size_t *out_n)
{
    enum { MOST = 1 << 22 };
    uint8_t *out = malloc(MOST);
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)p, .avail_in = (uInt)n};
    if (out == NULL || inflateInit2(&z, 15 + 16) != Z_OK)
        abort();
    z.next_out = out;
    z.avail_out = MOST;
    int rc = Z_OK;
    while (rc == Z_OK && z.avail_out > 0) {
        rc = inflate(&z, Z_NO_FLUSH);
        if (rc == Z_STREAM_END && z.avail_in > 0)
            rc = inflateReset(&z);
    }
    *out_n = (size_t)(z.next_out - out);
    inflateEnd(&z);
    return out;
}

static bool holds_the_same(const uint8_t *p, const uint8_t *q, size_t n)
{
    size_t n_p, n_q;
    uint8_t *in_p = content(p, n, &n_p), *in_q = content(q, n, &n_q);
    bool same = n_p == n_q && memcmp(in_p, in_q, n_p) == 0;
    free(in_p);
    free(in_q);
    return same;
}

static void must_not_be_whole(const uint8_t *p, size_t n, const char *what, size_t at)
{
    if (verdict(p, n) != VERIFY_WHOLE)
        return;
    fprintf(stderr, "still whole with byte %zu %s\n", at, what);
    abort();
}

static void damage(const uint8_t *data, size_t n)
{
    uint32_t chance = 2166136261u;
    for (size_t i = 0; i < n; i++)
        chance = (chance ^ data[i]) * 16777619u;
    size_t at = chance % n;
    uint8_t *p = malloc(n + 1);
    if (p == NULL)
        abort();
    memcpy(p, data, n);
    p[at] ^= (uint8_t)(1u << (chance >> 16) % 8);
    if (!holds_the_same(p, data, n))
        must_not_be_whole(p, n, "changed", at);
    memcpy(p, data, at);
    must_not_be_whole(p, at, "and all behind it left out", at);
    memcpy(p + at, data + at + 1, n - at - 1);
    must_not_be_whole(p, n - 1, "left out", at);
    memcpy(p, data, n);
    p[n] = (uint8_t)(chance >> 8);
    must_not_be_whole(p, n + 1, "added", n);
    free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (verdict(data, size) == VERIFY_WHOLE)
        damage(data, size);
    return 0;
}
