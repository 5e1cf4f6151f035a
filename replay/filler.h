/* Prompts of a wanted length, from common short words: about one token a word. */
#ifndef REPLAY_FILLER_H
#define REPLAY_FILLER_H

#include "traces/base/buf.h"

enum { FILLER_WORD_BYTES = 6 }; /* of a word and its blank: 5.4 in the mean */

/* Appends a prompt of n >= 1 words or so. salt: its first line is eight words made from it, others
 * for every salt, which count in n, so that no such prompt is shorter; NULL: no such line. The rest
 * depends on name, seed and n alone, and ends with an instruction to write where there is room for
 * one. */
void filler_add(struct buf *out, const char *salt, const char *name, int64_t seed, int64_t n);

/* Appends n words, each behind a blank but for the first of an empty out, that depend on id and
 * seed alone: the first n of one endless text. Requests that share blocks of text share prefixes.
 */
void filler_add_block(struct buf *out, int64_t id, int64_t seed, int64_t n);

/* Appends the first line alone. */
void filler_add_salt(struct buf *out, const char *salt, int64_t seed);

#endif
