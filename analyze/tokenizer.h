/* How many tokens is a text? Counted as the model's own tokenizer does, from the file that comes
 * with the model, exact to the token: a tokenizer.json of Hugging Face with the model BPE
 * (byte-level, or with byte fallback), or the ranks of a .tiktoken. Special tokens that a server
 * adds around a text are not counted; those that stand in the text are (tokenizer.json).
 *
 * Characters are classed as Unicode 16 does, as the reference does (tokenizer_young.h). Normal
 * forms are utf8proc's; the reference composes by tables of about 2016, so that a mark younger than
 * that may be counted differently where there is a normalizer.
 *
 * Not for two threads at once. */
#ifndef ANALYZE_TOKENIZER_H
#define ANALYZE_TOKENIZER_H

#include <stdint.h>

#include "analyze/tokenizer_bpe.h"
#include "traces/base/err.h"
#include "traces/base/span.h"

struct tokenizer;

/* pattern: how a .tiktoken splits words, as the file does not say: the name of an encoding
 * (cl100k_base, o200k_base, o200k_harmony, p50k_base, r50k_base, qwen, qwen3_5,
 * qwen3_6) or a regular
 * expression; NULL: the encoding that the file is named after. Without meaning for a
 * tokenizer.json.
 *
 * TA_STOP: a tokenizer that is not counted with here (another model, an unknown part), and e names
 * what. TA_EFORMAT: not to be read, or no tokenizer. *out is NULL then. Freed by
 * tokenizer_close. */
int tokenizer_open(struct tokenizer **out, const char *path, const char *pattern, struct err *e)
    TA_NODISCARD;

/* The same from the bytes of a file; name is for messages and for the encoding. */
int tokenizer_read(struct tokenizer **out, struct slice file, const char *name, const char *pattern,
                   struct err *e) TA_NODISCARD;

/* Tokens of a text, at most LIMIT_RECOUNT_BYTES. What is not valid UTF-8 counts as U+FFFD. -1: not
 * countable, and *why (static text). */
int64_t tokenizer_count(struct tokenizer *t, struct slice text, const char **why);

/* The same, and adds their ids. */
int64_t tokenizer_encode(struct tokenizer *t, struct slice text, struct token_ids *ids,
                         const char **why);

/* Special tokens that it puts around a text when it is asked to (a BOS, an EOS), as its
 * post-processor says; 0: none, or the file does not say. */
int64_t tokenizer_around(const struct tokenizer *t);

void tokenizer_close(struct tokenizer *t);

#endif
