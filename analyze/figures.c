/* What all figures share: texts that are safe and short enough, names, quantities. */
#include "analyze/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/report_table.h"
#include "traces/base/clock.h"
#include "traces/base/text.h"

enum { TEXT_BYTES = 1 << 20, NAME_MAX_POINTS = 40, CLAIMED_POINTS = 24, SHA_SHOWN = 12 };

/* Places of style.gp, px: font sizes (the title is bold, some 6 % wider) and room on a page of 960.
 */
static const double title_px = 17.5, title_room = 915, sub_px = 12, sub_room = 915, foot_px = 9.5,
                    foot_room = 770;

const char *figure_text(struct arena *texts, const char *fmt, ...)
{
    struct buf b;
    buf_init(&b, TEXT_BYTES);
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    const char *text = arena_text(texts, (struct slice){(const char *)b.p, b.n});
    buf_done(&b);
    return text;
}

const char *figure_cut(struct arena *texts, const char *text, size_t max)
{
    size_t len = strnlen(text, 4 * max + 4), at = 0, points = 0, keep = 0;
    struct buf safe;
    buf_init(&safe, 4 * len + 64);
    while (at < len && points < max) {
        uint32_t cp;
        at += utf8_next((const uint8_t *)text + at, len - at, &cp);
        points++;
        keep = points == max - 1 ? at : keep;
    }
    bool whole = text[at] == '\0';
    text_terminal(&safe, (struct slice){text, whole ? at : keep});
    if (!whole)
        buf_puts(&safe, "…");
    const char *cut = arena_text(texts, (struct slice){(const char *)safe.p, safe.n});
    buf_done(&safe);
    return cut;
}

static const double cairo_wider = 1.25; /* pngcairo sets text so much wider than svg */

static double em_of(uint32_t cp)
{
    static const struct {
        const char *set;
        double em;
    } widths[] = {
        {"ijl'|", 0.23}, {" .,:;!ft/\\[]I", 0.28},           {"r()-`\"", 0.36}, {"mM", 0.85},
        {"W@%", 0.95},   {"wABCDEFGHJKLNOPQRSTUVXYZ", 0.72},
    };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        if (cp < 0x80 && strchr(widths[i].set, (int)cp) != NULL)
            return widths[i].em;
    }
    return cp < 0x80 ? 0.556 : cp < 0x2E80 ? 0.7 : 1;
}

/* The bytes of text that are no wider than em. */
static size_t bytes_within(const char *text, double em)
{
    size_t len = strlen(text), at = 0;
    double width = 0;
    while (at < len) {
        uint32_t cp;
        size_t n = utf8_next((const uint8_t *)text + at, len - at, &cp);
        width += em_of(cp);
        if (width > em)
            break;
        at += n;
    }
    return at;
}

double figure_width_em(const char *text)
{
    size_t len = strlen(text);
    double width = 0;
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        at += utf8_next((const uint8_t *)text + at, len - at, &cp);
        width += em_of(cp);
    }
    return width * cairo_wider;
}

const char *figure_fit(struct arena *texts, const char *text, double font_px, double max_px)
{
    double em = max_px / font_px;
    const char *safe = figure_cut(texts, text, (size_t)(em / 0.2) + 2);
    if (figure_width_em(safe) <= em)
        return safe;
    return figure_text(texts, "%.*s…", (int)bytes_within(safe, em / cairo_wider - 1), safe);
}

const char *figure_trace_name(const struct trace_info *t)
{
    const char *slash = strrchr(t->path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : t->path;
}

const char *figure_server_name(const struct audit *a, const struct request *r)
{
    const char *name = NULL;
    if (r->run < a->runs.n)
        name = run_server_name(a, &a->runs.v[r->run]);
    if (name == NULL)
        name = r->server;
    return name != NULL ? name : "server";
}

const char *figure_server(struct arena *texts, const struct audit *a, const struct request *r)
{
    const char *name = figure_cut(texts, figure_server_name(a, r), NAME_MAX_POINTS);
    return a->traces.v[r->trace].simulated == NULL ? name
                                                   : figure_text(texts, "%s (simulated)", name);
}

void figure_begin(struct figure *f, const char *name, const char *template)
{
    *f = (struct figure){0};
    f->name = arena_text(&f->texts, slice_of(name));
    plot_init(&f->plot, f->name, template, NULL);
}

void figure_heads(struct figure *f, const char *title, const char *subtitle)
{
    const char *short_title =
        figure_fit(&f->texts, figure_cut(&f->texts, title, FIGURE_TITLE_MAX), title_px, title_room);
    f->plot.alt = short_title;
    plot_text(&f->plot, "TITLE", short_title);
    plot_text(&f->plot, "SUB", figure_fit(&f->texts, subtitle, sub_px, sub_room));
}

void figure_done(struct figure *f)
{
    plot_done(&f->plot);
    VEC_FREE(&f->notes);
    arena_free(&f->texts);
}

void figure_origin(struct figure *f, const struct audit *a, const size_t *traces, size_t n)
{
    enum { SHOWN = 3 };
    struct buf b;
    buf_init(&b, TEXT_BYTES);
    buf_puts(&b, "tokaudit " TOKAUDIT_VERSION);
    bool simulated = false;
    for (size_t i = 0; i < n; i++) {
        const struct trace_info *t = &a->traces.v[traces[i]];
        if (t->simulated != NULL && !simulated) {
            simulated = true;
            buf_puts(&b, "   SIMULATED SERVER");
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct trace_info *t = &a->traces.v[traces[i]];
        if (i < SHOWN)
            buf_printf(&b, "   trace %s   sha256 %.*s",
                       figure_cut(&f->texts, figure_trace_name(t), n > 1 ? 24 : NAME_MAX_POINTS),
                       SHA_SHOWN, t->health.sha256);
    }
    if (n > SHOWN)
        buf_printf(&b, "   and %zu more", n - SHOWN);
    if (n == 1) {
        char utc[32];
        clock_utc(a->traces.v[traces[0]].epoch_ns, utc);
        utc[10] = ' ';
        buf_printf(&b, "   recorded %.16s UTC", utc);
    }
    const char *foot = arena_text(&f->texts, (struct slice){(const char *)b.p, b.n});
    plot_text(&f->plot, "FOOT", figure_fit(&f->texts, foot, foot_px, foot_room));
    buf_done(&b);
}

/* The claim's digits are kept; only whole numbers get their thousands apart. */
const char *figure_claimed(struct arena *texts, const struct claim *c)
{
    if (c->claimed_text == NULL)
        return figure_quantity(texts, c, c->claimed);
    size_t n = strspn(c->claimed_text, "+-0123456789.,eE");
    size_t whole = strspn(c->claimed_text, "0123456789");
    const char *unit = c->claimed_text + n, *base = "";
    unit += strspn(unit, " ");
    bool bare = *unit == '\0' || (strchr("kKMG", *unit) != NULL && unit[1] == '\0');
    if (bare && c->unit != NULL && strcmp(c->unit, "1") != 0)
        base = c->unit; /* "14k" says no unit */
    char digits[64];
    snprintf(digits, sizeof digits, "%.*s", (int)(n < 40 ? n : 40), c->claimed_text);
    double printed = strtod(digits, NULL);
    if (*unit == '\0' && isfinite(c->claimed) && fabs(printed - c->claimed) > 1e-6 * fabs(printed))
        return figure_quantity(texts, c, c->claimed); /* a file's "mean_tpot_ms": 0.0703 */
    if (whole == n && n > 3 && n < 16) {
        char grouped[32];
        snprintf(digits, sizeof digits, "%s", table_number(strtod(digits, NULL), grouped));
    }
    const char *text = figure_text(texts, "%s%s%.60s%s%.20s", digits, bare ? "" : " ", unit,
                                   *base ? " " : "", base);
    return figure_cut(texts, text, CLAIMED_POINTS);
}

const char *figure_quantity(struct arena *texts, const struct claim *c, double v)
{
    if (isnan(v))
        return "–";
    if (isinf(v))
        return "no bound";
    const struct claim_name *name = claim_name_find(c->metric);
    char text[64];
    if (name != NULL)
        return figure_text(texts, "%s", claim_value_text(name->dimension, v, text));
    return figure_text(texts, "%s", table_number(v, text));
}

const char *figure_off_by(struct arena *texts, double claimed, double recomputed)
{
    char text[32];
    double ratio = claimed / recomputed;
    if (claimed == recomputed)
        return "0 %";
    if (!isfinite(ratio) || ratio <= 0)
        return "–";
    if (ratio >= 2 || ratio <= 0.5) {
        double times = ratio >= 2 ? ratio : 1 / ratio;
        snprintf(text, sizeof text, "%.*f", times >= 10 ? 0 : 1, times);
        if (times >= 1000)
            table_number(times, text);
        return figure_text(texts, "%s%s", ratio >= 2 ? "×" : "÷", text);
    }
    double percent = 100 * (ratio - 1);
    snprintf(text, sizeof text, "%.*f", fabs(percent) < 1 ? 1 : 0, fabs(percent));
    if (strspn(text, "0.") == strlen(text))
        return "0 %";
    return figure_text(texts, "%s%s %%", percent < 0 ? "−" : "+", text);
}

const char *figure_range(struct arena *texts, const char *lo, const char *hi, const char *between)
{
    const char *unit = strrchr(lo, ' '), *same = strrchr(hi, ' ');
    int n = (int)strlen(lo);
    if (unit != NULL && same != NULL && strcmp(unit, same) == 0)
        n = (int)(unit - lo);
    return figure_text(texts, "%.*s%s%s", n, lo, between, hi);
}
