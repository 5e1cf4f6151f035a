/* Fuzzes traces/verify: any file has a verdict, with a reason unless it is whole; and no trace that
 * is whole stays so when a byte of it is changed, left out or added. */
#include <stdlib.h>
#include <string.h>

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
