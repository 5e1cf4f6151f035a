/* Fuzzes our custom blocks: the data of one as it stands in a file (traces/custom), and JSON of
 * several, apart by NULs, into a trace_info (analyze/blocks) and through the ledger and back. */
#include <stdlib.h>
#include <string.h>

#include "analyze/blocks.h"
#include "traces/base/json.h"
#include "traces/custom.h"
#include "traces/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_decode(const uint8_t *p, size_t n)
{
    struct slice json;
    if (custom_decode(p, n, &json) &&
        (json.p < (const char *)p || json.p + json.n > (const char *)p + n))
        abort();
}

static void fuzz_encode(struct slice json)
{
    struct buf block;
    struct slice back;
    buf_init(&block, LIMIT_BLOCK_BYTES);
    if (custom_encode(&block, json) != TA_OK || !custom_decode(block.p, block.n, &back) ||
        back.n != json.n || memcmp(back.p, json.p, json.n) != 0)
        abort();
    buf_done(&block);
}

static void fuzz_ledger(const struct ledger_entry *entry, struct arena *a)
{
    struct buf text, again;
    struct jsonw w;
    struct ledger_entry back;
    buf_init(&text, 1u << 24);
    buf_init(&again, 1u << 24);
    jsonw_init(&w, &text, 0);
    ledger_write(&w, entry);
    struct json *v = json_parse((const char *)text.p, text.n, NULL);
    if (v == NULL || !ledger_read(v, a, &back))
        abort();
    jsonw_init(&w, &again, 0);
    ledger_write(&w, &back);
    if (again.n != text.n || memcmp(again.p, text.p, text.n) != 0)
        abort();
    json_free(v);
    buf_done(&text);
    buf_done(&again);
}

static void fuzz_blocks(const char *p, size_t n)
{
    struct blocks blocks = {0};
    struct trace_info t = {0};
    struct audit audit = {0};
    while (n > 0) {
        const char *nul = memchr(p, '\0', n);
        struct slice json = {p, nul != NULL ? (size_t)(nul - p) : n};
        fuzz_encode(json);
        blocks_read(&blocks, json, &t, &audit.texts);
        size_t used = json.n + (nul != NULL);
        p += used;
        n -= used;
    }
    for (size_t i = 0; i < t.ledger.n; i++)
        fuzz_ledger(&t.ledger.v[i], &audit.texts);
    if (t.sys.n != t.samples || (t.clock_step_ns != 0 && !t.clock_known))
        abort();
    VEC_PUSH(&audit.traces, t);
    audit_free(&audit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_decode(data, size);
    fuzz_blocks((const char *)data, size);
    return 0;
}
