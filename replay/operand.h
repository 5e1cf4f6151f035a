/* The operand of replay: a file, standard input, or the name of a shipped spec. */
#ifndef REPLAY_OPERAND_H
#define REPLAY_OPERAND_H

#include <stdio.h>

#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/span.h"

enum operand_kind { OPERAND_TRACE, OPERAND_PLAN, OPERAND_SPEC };

struct operand {
    enum operand_kind kind; /* told by its first bytes; a spec: anything else */
    const char *name;       /* for messages */
    FILE *f;
    struct buf head; /* read from f already: the first line, at least, or LIMIT_SPEC_BYTES */
};

/* TA_EFORMAT: an input that can't be used, whatever the reason. To be closed in any case. */
int operand_open(struct operand *s, const char *text, struct err *e) TA_NODISCARD;

struct slice operand_head(const struct operand *s);

void operand_close(struct operand *s);

#endif
