/* Fuzzes the reading of tokenizers and the counting with them: the input is a file (tokenizer.json
 * or ranks), a NUL, and a text. Count and ids agree, from memory too. */
#include <stdlib.h>
#include <string.h>

#include "analyze/tokenizer.h"
#include "traces/base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t n = nul != NULL ? (size_t)(nul - data) : size;
    struct slice text = {(const char *)data + n + (nul != NULL), size - n - (nul != NULL)};
    struct tokenizer *t;
    struct err e;
    int rc = tokenizer_read(&t, (struct slice){(const char *)data, n}, "cl100k_base", NULL, &e);
    if ((rc == TA_OK) != (t != NULL))
        abort();
    if (rc != TA_OK)
        return 0;
    struct token_ids ids = {NULL, 0, 0};
    const char *why = NULL;
    int64_t count = tokenizer_count(t, text, &why);
    if ((count < 0) != (why != NULL))
        abort();
    if (count >= 0 && (tokenizer_encode(t, text, &ids, &why) != count || (int64_t)ids.n != count ||
                       tokenizer_count(t, text, &why) != count))
        abort();
    VEC_FREE(&ids);
    tokenizer_close(t);
    return 0;
}
