/* Ledger lines as they come out of a pipe, gathered into ledger blocks (traces/FORMAT.md). What
 * writes them is the load, a program of anybody's: each line must be one JSON object of bounded
 * length, or it is dropped and counted. */
#ifndef CAPTURE_LEDGER_LINES_H
#define CAPTURE_LEDGER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

enum { LEDGER_LINE_BYTES = 64 << 10, LEDGER_BLOCK_BYTES = 256 << 10 };

struct ledger_lines {
    struct buf line;  /* the one that has not ended yet */
    struct buf block; /* {"kind":"ledger","entries":[…  without its end */
    bool overlong;    /* the rest of this line is dropped */
    bool taken;       /* the next entry starts a new block */
    uint64_t entries, dropped;
};

void ledger_lines_init(struct ledger_lines *l);
void ledger_lines_done(struct ledger_lines *l);

/* Returns how many of the n bytes were used: all, or up to where the block became full. Then take
 * it, and go on. */
size_t ledger_lines_feed(struct ledger_lines *l, const char *p, size_t n);

/* The pipe ended: a last line without its newline counts too. */
void ledger_lines_end(struct ledger_lines *l);

/* The block so far as a whole JSON object, until the next call; false if it has no entry. */
bool ledger_lines_take(struct ledger_lines *l, struct slice *json);

#endif
