/* The data of our custom blocks (traces/FORMAT.md, "Custom blocks"): magic, version, length, JSON.
 */
#include "traces/custom.h"

#include <string.h>

#include "traces/limits.h"
#include "traces/pcapng.h"

enum { MAGIC_BYTES = 8, HEAD_BYTES = 16 };

int custom_encode(struct buf *out, struct slice json)
{
    uint8_t *head = json.n > LIMIT_CUSTOM_JSON_BYTES ? NULL : buf_reserve(out, HEAD_BYTES + json.n);
    if (head == NULL)
        return TA_ELIMIT;
    memcpy(head, CUSTOM_MAGIC, MAGIC_BYTES);
    pcapng_wr32(head + MAGIC_BYTES, CUSTOM_VERSION);
    pcapng_wr32(head + MAGIC_BYTES + 4, (uint32_t)json.n);
    memcpy(head + HEAD_BYTES, json.p, json.n);
    out->n += HEAD_BYTES + json.n;
    return TA_OK;
}

bool custom_decode(const uint8_t *p, size_t n, struct slice *json)
{
    if (n < HEAD_BYTES || memcmp(p, CUSTOM_MAGIC, MAGIC_BYTES) != 0 ||
        pcapng_rd32(p + MAGIC_BYTES, false) != CUSTOM_VERSION)
        return false;
    uint32_t json_n = pcapng_rd32(p + MAGIC_BYTES + 4, false);
    if (json_n > n - HEAD_BYTES || json_n > LIMIT_CUSTOM_JSON_BYTES)
        return false;
    *json = (struct slice){(const char *)p + HEAD_BYTES, json_n};
    return true;
}

bool custom_is(struct slice json, const char *kind)
{
    static const char start[] = "{\"kind\":\"";
    size_t before = sizeof start - 1, n = strlen(kind);
    return json.n > before + n && memcmp(json.p, start, before) == 0 &&
           memcmp(json.p + before, kind, n) == 0 && json.p[before + n] == '"';
}
