/* What fails comes first, by how far it is off. */
#include "analyze/report_text_claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/figures.h"
#include "analyze/headline.h"
#include "analyze/interval.h"
#include "traces/base/text.h"
#include "traces/base/units.h"

#define EFFECT_SAID 0.05 /* percent; the JSON has the smaller ones too */

enum { ROWS_SHOWN = 60, WHY_SHOWN = 8, CAUSES_SHOWN = 3 };
enum {
    VERDICT_WIDTH = 16,
    NAME_WIDTH_MIN = 8,
    NAME_WIDTH_MAX = 68,
    FIGURE_WIDTH = 14,
    RATIO_WIDTH = 8
};

static enum dimension dimension_of(const struct claim *c)
{
    const struct claim_name *name = claim_name_find(c->metric);
    return name != NULL ? name->dimension : DIM_RATIO;
}

/* text in a column of so many code points; too long, it is cut. */
static void cell(struct report *r, const char *text, size_t width, bool right)
{
    struct arena texts = {0};
    struct buf clean;
    buf_init(&clean, 1u << 16);
    text_terminal(&clean, slice_of(figure_cut(&texts, text, width)));
    size_t n = 0;
    for (size_t i = 0; i < clean.n; i++)
        n += (clean.p[i] & 0xC0) != 0x80;
    int pad = n < width ? (int)(width - n) : 0;
    buf_printf(r->out, "%*s%s%*s", right ? pad : 0, "", buf_text(&clean), (right ? 0 : pad) + 2,
               "");
    buf_done(&clean);
    arena_free(&texts);
}

/* As it was given, without its value: "ttft.p50", "rate@3", "mean_tpot_ms". */
static const char *name_of(struct arena *texts, const struct claim *c)
{
    size_t n = strcspn(c->text, "=");
    while (n > 0 && c->text[n - 1] == ' ')
        n--;
    return figure_text(texts, "%.*s", (int)n, c->text);
}

static size_t points_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* A name that is too long is cut in its middle: names of a tool begin and end alike. */
static const char *name_cut(struct arena *texts, const char *name, size_t width)
{
    size_t n = points_of(name), head = width / 2 - 1;
    if (n <= width)
        return name;
    const char *tail = name;
    for (size_t left = n - (width - head - 1); left > 0 || ((unsigned char)*tail & 0xC0) == 0x80;
         tail++)
        left -= ((unsigned char)*tail & 0xC0) != 0x80 && left > 0;
    return figure_text(texts, "%s%s", figure_cut(texts, name, head + 1), tail);
}

static size_t name_width(const struct claim **v, size_t n)
{
    struct arena texts = {0};
    size_t width = NAME_WIDTH_MIN;
    for (size_t i = 0; i < n; i++) {
        size_t points = points_of(name_of(&texts, v[i]));
        width = points > width ? points : width;
    }
    arena_free(&texts);
    return width < NAME_WIDTH_MAX ? width : NAME_WIDTH_MAX;
}

static const char *because(struct arena *texts, const struct claim *c)
{
    if (c->token_factor > 0)
        return "other tokens, as in all of its file";
    if (c->causes.n == 0)
        return c->verdict == VERDICT_DIFFERS      ? "unexplained"
               : c->verdict == VERDICT_IMPOSSIBLE ? "no definition gives it"
                                                  : "";
    const struct cause *x = &c->causes.v[0];
    if (fabs(x->effect_percent) < EFFECT_SAID)
        return "";
    if (!isnan(x->effect_percent))
        return figure_text(texts, "%s gives it too: %+.*f %%", x->id, fabs(x->effect_percent) < 10,
                           x->effect_percent);
    return figure_text(texts, "%s %s", x->id, x->title);
}

/* A claim that another end of what the bytes allow confirms stands beside that: "0 to 8". */
static const char *recomputed(struct arena *texts, const struct claim *c)
{
    const char *value = figure_quantity(texts, c, c->recomputed);
    if (c->verdict != VERDICT_CONFIRMED ||
        interval_meets(c->claimed_interval, interval_exact(c->recomputed)))
        return value;
    const char *range = figure_text(texts, "%s to %s", figure_quantity(texts, c, c->interval.lo),
                                    figure_quantity(texts, c, c->interval.hi));
    return points_of(range) <= FIGURE_WIDTH ? range : value;
}

static void put_row(struct report *r, const struct claim *c, size_t names)
{
    struct arena texts = {0};
    report_marked(r, report_look_of_verdict(c->verdict), "");
    buf_puts(r->out, " ");
    cell(r, verdict_name(c->verdict), VERDICT_WIDTH - 2, false);
    cell(r, name_cut(&texts, name_of(&texts, c), names), names, false);
    cell(r, figure_claimed(&texts, c), FIGURE_WIDTH, true);
    cell(r, recomputed(&texts, c), FIGURE_WIDTH, true);
    cell(r, c->verdict == VERDICT_CONFIRMED ? "" : figure_off_by(&texts, c->claimed, c->recomputed),
         RATIO_WIDTH, true);
    report_safe(r, because(&texts, c));
    while (r->out->n > 0 && r->out->p[r->out->n - 1] == ' ')
        r->out->n--;
    buf_puts(r->out, "\n");
    arena_free(&texts);
}

static void put_cause(struct report *r, const struct cause *c, enum dimension dim)
{
    char value[64];
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_printf(&line, "%s %s: %s = %s (%s)%s%s", c->id, c->title, c->formula,
               claim_value_text(dim, c->value, value),
               c->by_sign ? "its sign is on the wire" : "only the number fits",
               c->note != NULL ? "; " : "", c->note != NULL ? c->note : "");
    report_paragraph(r, 4, 4, buf_text(&line));
    buf_done(&line);
}

static void put_why(struct report *r, const struct claim *c)
{
    report_marked(r, report_look_of_verdict(c->verdict), verdict_name(c->verdict));
    buf_puts(r->out, "  ");
    report_safe(r, c->text);
    buf_puts(r->out, "\n");
    if (c->reason != NULL)
        report_paragraph(r, 4, 4, c->reason);
    for (size_t i = 0; i < c->causes.n && i < CAUSES_SHOWN; i++)
        put_cause(r, &c->causes.v[i], dimension_of(c));
    report_evidence(r, c->evidence.v, c->evidence.n);
}

static bool has_row(const struct claim *c)
{
    return !c->unopposed;
}

static void put_table(struct report *r, const struct claim **v, size_t n)
{
    size_t rows = 0, more = 0, names = name_width(v, n);
    for (size_t i = 0; i < n; i++)
        rows += has_row(v[i]);
    if (rows == 0)
        return;
    cell(r, "Claims", VERDICT_WIDTH, false);
    cell(r, "", names, false);
    cell(r, "claimed", FIGURE_WIDTH, true);
    cell(r, "the bytes say", FIGURE_WIDTH, true);
    cell(r, "off by", RATIO_WIDTH, true);
    buf_puts(r->out, "because\n");
    for (size_t i = 0, shown = 0; i < n; i++) {
        if (!has_row(v[i]))
            continue;
        if (shown++ < ROWS_SHOWN)
            put_row(r, v[i], names);
        else
            more++;
    }
    if (more > 0)
        buf_printf(r->out, "  and %zu more; --format json has them all\n", more);
    buf_puts(r->out, "\n");
}

/* Of result files without a trace. */
static void put_unopposed(struct report *r, const struct claim **v, size_t n)
{
    char count[32];
    size_t unopposed = 0;
    for (size_t i = 0; i < n; i++)
        unopposed += v[i]->unopposed;
    if (unopposed == 0)
        return;
    report_marked(r, &report_warn, verdict_name(VERDICT_NOT_MEASURABLE));
    buf_printf(
        r->out, "  %s figure%s: nothing in the file speaks against %s, and no trace was given\n",
        units_count(unopposed, count), unopposed == 1 ? "" : "s", unopposed == 1 ? "it" : "them");
    buf_puts(r->out, "\n");
}

void report_text_claims(struct report *r)
{
    size_t n = r->a->claims.n, shown = 0, left = 0;
    const struct claim **v = headline_order(r->a);
    put_table(r, v, n);
    for (size_t i = 0; i < n; i++) {
        if (v[i]->verdict == VERDICT_CONFIRMED || !has_row(v[i]))
            continue;
        if (shown++ < WHY_SHOWN)
            put_why(r, v[i]);
        else
            left++;
    }
    if (left > 0)
        buf_printf(r->out, "and %zu more that are not confirmed; --format json says why\n", left);
    if (shown > 0)
        buf_puts(r->out, "\n");
    put_unopposed(r, v, n);
    free(v);
}
