/* From a text to words. */
#include "analyze/tokenizer_split.h"

#include <string.h>

/* A split under way: segments come from left to right, some are joined to the one before. */
struct splitting {
    struct stage *s;
    size_t n; /* stages behind s */
    struct slice text;
    bool at_start;
    struct word_sink out;
    const char **why;
    bool held; /* there is a piece that may go on */
    bool match;
    size_t start, end;
};

static int emit(struct splitting *sp, size_t start, size_t end)
{
    if (start == end)
        return TA_OK;
    struct slice piece = {sp->text.p + start, end - start};
    if (sp->n == 0)
        return sp->out.word(sp->out.ctx, piece);
    return stages_run(sp->s + 1, sp->n, piece, sp->at_start && start == 0, sp->out, sp->why);
}

static bool goes_on(const struct splitting *sp, bool match)
{
    if (!sp->held)
        return false;
    switch (sp->s->behaviour) {
    case SPLIT_CONTIGUOUS:
        return match == sp->match;
    case SPLIT_WITH_PREVIOUS:
        return match && !sp->match;
    case SPLIT_WITH_NEXT:
        return !match && sp->match;
    default:
        return false;
    }
}

static int segment(struct splitting *sp, size_t start, size_t end, bool match)
{
    match ^= sp->s->inverted;
    if (sp->s->behaviour == SPLIT_ISOLATED)
        return emit(sp, start, end);
    if (sp->s->behaviour == SPLIT_REMOVED)
        return match ? TA_OK : emit(sp, start, end);
    int rc = TA_OK;
    if (!goes_on(sp, match)) {
        if (sp->held)
            rc = emit(sp, sp->start, sp->end);
        sp->start = start;
    }
    sp->held = true;
    sp->end = end;
    sp->match = match;
    return rc;
}

static int split(struct splitting *sp)
{
    struct pattern_walk w = {.text = sp->text};
    size_t done = 0, start, end;
    int more, rc = TA_OK;
    while ((more = pattern_next(sp->s->pattern, &w, &start, &end)) > 0) {
        if (start > done)
            rc = segment(sp, done, start, false);
        if (rc == TA_OK)
            rc = segment(sp, start, end, true);
        if (rc != TA_OK)
            return rc;
        done = end;
    }
    if (more < 0) {
        *sp->why = "a pattern of the tokenizer takes too many steps on its text";
        return TA_EFORMAT;
    }
    if (done < sp->text.n)
        rc = segment(sp, done, sp->text.n, false);
    if (rc == TA_OK && sp->held)
        rc = emit(sp, sp->start, sp->end);
    return rc;
}

static bool begins(struct slice text, struct slice with)
{
    return text.n >= with.n && memcmp(text.p, with.p, with.n) == 0;
}

int stages_run(struct stage *s, size_t n, struct slice text, bool at_start, struct word_sink out,
               const char **why)
{
    for (; n > 0 && text.n > 0; s++, n--) {
        if (s->kind == STAGE_SPLIT) {
            struct splitting sp = {s, n - 1, text, at_start, out, why, false, false, 0, 0};
            return split(&sp);
        }
        struct text_rule put = {.kind = TEXT_PREPEND, .text = s->prefix};
        if (s->kind == STAGE_PREFIX && ((s->only_first && !at_start) || begins(text, s->prefix)))
            continue;
        int rc =
            text_rule_apply(s->kind == STAGE_RULE ? &s->rule : &put, text, &s->work, &text, why);
        if (rc != TA_OK)
            return rc;
    }
    return text.n > 0 ? out.word(out.ctx, text) : TA_OK;
}
