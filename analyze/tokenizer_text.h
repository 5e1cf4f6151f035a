/* Rules that turn one text into another before it is split: the normalizers of tokenizer.json, and
 * those pre-tokenizers that rewrite. Texts are valid UTF-8. Source: Hugging Face's tokenizers 0.23,
 * src/normalizers. */
#ifndef ANALYZE_TOKENIZER_TEXT_H
#define ANALYZE_TOKENIZER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/tokenizer_pattern.h"
#include "traces/base/buf.h"
#include "traces/base/span.h"

enum text_rule_kind {
    TEXT_NFC,
    TEXT_NFD,
    TEXT_NFKC,
    TEXT_NFKD,
    TEXT_LOWERCASE,
    TEXT_PREPEND,
    TEXT_REPLACE,
    TEXT_STRIP,
    TEXT_STRIP_ACCENTS,
    TEXT_NMT,
    TEXT_BYTES /* each byte as the character that stands for it (GPT-2) */
};

struct text_rule {
    enum text_rule_kind kind;
    struct slice text;       /* PREPEND, REPLACE: what is put there */
    struct pattern *pattern; /* REPLACE */
    bool left, right;        /* STRIP */
};

bool text_is_space(uint32_t cp); /* White_Space */
bool text_is_word(uint32_t cp);  /* \w of Rust's regex */

/* *out is in or lives in work, which is the caller's. TA_EFORMAT: a text that cannot be rewritten
 * in reasonable time or room, and *why. */
int text_rule_apply(const struct text_rule *r, struct slice in, struct buf *work, struct slice *out,
                    const char **why) TA_NODISCARD;

/* All of them, one behind the other; works: two buffers. */
int text_rules_apply(const struct text_rule *r, size_t n, struct slice in, struct buf *works,
                     struct slice *out, const char **why) TA_NODISCARD;

/* in, or a valid copy of it in work: U+FFFD for each maximal part of a character (Unicode 15, 3.9;
 * what Python's and the browsers' decoders do). */
int text_valid(struct slice in, struct buf *work, struct slice *out, const char **why) TA_NODISCARD;

#endif
