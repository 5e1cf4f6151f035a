/* What is new in texts that repeat themselves. */
#include "analyze/text_so_far.h"

#include <string.h>

#include "traces/limits.h"

enum { CHOICES_MAX = 4096 };

void text_so_far_done(struct text_so_far *t)
{
    for (size_t i = 0; i < t->choices.n; i++)
        buf_done(&t->choices.v[i].text);
    VEC_FREE(&t->choices);
}

/* NULL: nobody has so many. */
static struct said_so_far *of_choice(struct text_so_far *t, uint32_t choice)
{
    if (choice >= CHOICES_MAX)
        return NULL;
    while (t->choices.n <= choice) {
        VEC_PUSH(&t->choices, ((struct said_so_far){.bytes = 0}));
        buf_init(&t->choices.v[t->choices.n - 1].text, LIMIT_SO_FAR_BYTES);
    }
    return &t->choices.v[choice];
}

/* Bytes that both begin with, whole characters. */
static size_t common(struct slice a, struct slice b)
{
    size_t most = a.n < b.n ? a.n : b.n, n = 0;
    if (most > 0 && memcmp(a.p, b.p, most) == 0)
        return most;
    while (n < most && a.p[n] == b.p[n])
        n++;
    while (n > 0 && ((unsigned char)b.p[n] & 0xC0) == 0x80)
        n--;
    return n;
}

static void hold(struct text_so_far *t, struct said_so_far *c, struct slice text, size_t same)
{
    t->held -= c->text.n - same;
    c->text.n = same;
    c->bytes = text.n;
    if (t->held + (text.n - same) > LIMIT_SO_FAR_BYTES ||
        buf_add(&c->text, text.p + same, text.n - same) != TA_OK) {
        t->held -= c->text.n;
        buf_clear(&c->text);
        return;
    }
    t->held += text.n - same;
}

/* Which of the two it is, the texts tell: what goes on for a while and then differs was revised,
 * what never goes on is new each time. Pieces agree by chance, the second of "1" and "10" with the
 * first: once is no proof. */
static uint64_t fresh_bytes(struct text_so_far *t, struct slice before, struct slice text,
                            size_t same)
{
    if (same == before.n) {
        t->agreed += text.n > before.n;
        return t->other > t->agreed + 1 ? text.n : text.n - same;
    }
    if (same == text.n) /* its end was cut off again */
        return t->other > t->agreed + 1 ? text.n : 0;
    t->other++;
    bool revised = t->agreed > t->other || (t->agreed == t->other && 2 * same >= before.n);
    return revised ? text.n - same : text.n;
}

uint64_t text_so_far_new(struct text_so_far *t, uint32_t choice, struct slice text)
{
    struct said_so_far *c = of_choice(t, choice);
    if (c == NULL)
        return text.n;
    uint64_t fresh = text.n;
    struct slice before = {(const char *)c->text.p, c->text.n};
    size_t same = common(before, text);
    if (before.n < c->bytes) /* not held: its length is all that is known */
        fresh = text.n > c->bytes ? text.n - c->bytes : 0;
    else if (before.n > 0)
        fresh = fresh_bytes(t, before, text, same);
    hold(t, c, text, same);
    return fresh;
}
