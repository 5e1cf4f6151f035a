/* Repairs gnuplot's SVG: colours come as "rgb(0,1,2)" and "rgb(  0,   1,   2)", bold fonts as
 * "Family:Bold", ids repeat in every file, each curve has a tooltip "gnuplot_plot_1", nearly half
 * of the groups are empty (gnuplot 5.2 to 6.0). Only tags are edited: text between them may say
 * anything, and gnuplot leaves quotes in it as they are. */
#include "plots/svg_ship.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"

enum { TAG_BYTES = 64 << 20 };

/* The tokens of style.gp, light and dark. */
static const char *const twins[][2] = {
    {"#ffffff", "#14171c"}, {"#1f2328", "#e6edf3"}, {"#59636e", "#9aa4af"}, {"#8c959f", "#6b7580"},
    {"#e4e8ec", "#2a3038"}, {"#818b95", "#8b949e"}, {"#b04a00", "#ff8a4c"}, {"#8a5f00", "#e8b04a"},
    {"#007a59", "#2fc39a"}, {"#a3477d", "#dd9fc3"}, {"#0072b2", "#4aa8e0"}, {"#d55e00", "#ff8a4c"},
    {"#e69f00", "#e8b04a"}, {"#009e73", "#2fc39a"}, {"#cc79a7", "#dd9fc3"}, {"#56b4e9", "#7cc7f0"},
};

void svg_dark_rules(struct buf *out, const char *selector)
{
    static const char *const attributes[] = {"fill", "stroke", "color"};
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        for (size_t a = 0; a < 3; a++)
            buf_printf(out, "%s [%s=\"%s\"]{%s:%s}", selector, attributes[a], twins[i][0],
                       attributes[a], twins[i][1]);
    }
}

/* What is being made: a tag at a time. */
struct ship {
    struct buf *out;
    const char *id, *alt;
    bool inline_form;
    struct buf tag;  /* the tag in work; edits replace whole ranges */
    struct buf held; /* an opened group that may turn out to be empty, and the blanks behind it */
    bool titled;
};

static const char *find(struct ship *s, size_t from, const char *what)
{
    return strstr(buf_text(&s->tag) + from, what);
}

static size_t place(const struct ship *s, const char *p)
{
    return (size_t)(p - (const char *)s->tag.p);
}

static void replace(struct ship *s, size_t at, size_t n, const char *by)
{
    struct buf *t = &s->tag;
    size_t grown = strlen(by), rest = t->n - at - n;
    if (grown > n && buf_reserve(t, grown - n) == NULL)
        return;
    memmove(t->p + at + grown, t->p + at + n, rest);
    memcpy(t->p + at, by, grown);
    t->n = t->n - n + grown;
}

static void replace_all(struct ship *s, const char *what, const char *by)
{
    size_t from = 0;
    for (const char *p; (p = find(s, from, what)) != NULL;) {
        size_t at = place(s, p);
        replace(s, at, strlen(what), by);
        from = at + strlen(by);
    }
}

static void fix_colours(struct ship *s)
{
    for (const char *p; (p = find(s, 0, "rgb(")) != NULL;) {
        unsigned long part[3];
        const char *next = p + 4;
        for (int i = 0; i < 3; i++) {
            char *end;
            part[i] = strtoul(next, &end, 10) & 255;
            next = end + (*end == ',' || *end == ')');
        }
        char hex[8];
        snprintf(hex, sizeof hex, "#%02lx%02lx%02lx", part[0], part[1], part[2]);
        replace(s, place(s, p), (size_t)(next - p), hex);
    }
    replace_all(s, "#FFFFFF", "#ffffff");
}

static void fix_fonts(struct ship *s)
{
    static const char attribute[] = "font-family=\"";
    for (const char *p; (p = find(s, 0, attribute)) != NULL;) {
        const char *end = strchr(p + sizeof attribute - 1, '"');
        if (end == NULL)
            return;
        const char *bold = strstr(p, ":Bold\"");
        replace(s, place(s, p), (size_t)(end - p) + 1,
                bold != NULL && bold < end ? "font-weight=\"bold\"" : "");
    }
}

/* The id goes between the two halves. */
static void fix_ids(struct ship *s)
{
    static const char *const kinds[][2] = {
        {"id='", "gp"},      {"xlink:href='#", "gp"}, {"url(#", "gp"},
        {"id='", "textbox"}, {"id='", "greybox"},     {"id=\"", "gnuplot_"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char found[32], fixed[160];
        snprintf(found, sizeof found, "%s%s", kinds[i][0], kinds[i][1]);
        snprintf(fixed, sizeof fixed, "%s%.80s-%s", kinds[i][0], s->id, kinds[i][1]);
        replace_all(s, found, fixed);
    }
}

/* gnuplot's svg ignores the line width of points, whose strokes are too thin at these sizes. */
static void thicken_points(struct ship *s)
{
    if (find(s, 0, "id='gpPt1'") != NULL)
        replace_all(s, "0.222", "0.6");
    else if (find(s, 0, "id='gpPt") != NULL)
        replace_all(s, "0.222", "0.38");
}

static bool starts(struct slice s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static bool is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr(" \t\r\n", s.p[i]) == NULL)
            return false;
    }
    return true;
}

/* Over the maximum of out a picture is cut off, which nobody can overlook; SVG_BYTES of plot.c
 * keeps it from that. */
static void put(struct buf *out, struct slice s)
{
    if (buf_add(out, s.p, s.n) != TA_OK)
        return;
}

static void let_go(struct ship *s)
{
    put(s->out, (struct slice){(const char *)s->held.p, s->held.n});
    buf_clear(&s->held);
}

static void put_title(struct ship *s)
{
    buf_printf(s->out, "<title id=\"%.80s-t\">", s->id);
    text_html(s->out, slice_of(s->alt));
    buf_puts(s->out, "</title>");
    if (s->inline_form)
        return;
    buf_puts(s->out, "\n<style>text{font-family:'Liberation Sans',Arial,Helvetica,sans-serif}"
                     "@media (prefers-color-scheme:dark){");
    svg_dark_rules(s->out, "svg");
    buf_puts(s->out, "}</style>");
}

static void put_tag(struct ship *s, struct slice tag)
{
    if (starts(tag, "</g>") && s->held.n > 0) {
        buf_clear(&s->held);
        return;
    }
    let_go(s);
    buf_clear(&s->tag);
    put(&s->tag, tag);
    if (starts(tag, "<svg")) {
        char head[256];
        snprintf(head, sizeof head, "<svg role=\"img\" aria-labelledby=\"%.80s-t\" id=\"%.80s\"",
                 s->id, s->id);
        replace(s, 0, 4, head);
    }
    fix_colours(s);
    thicken_points(s);
    fix_fonts(s);
    fix_ids(s);
    struct slice fixed = {buf_text(&s->tag), s->tag.n};
    put(starts(tag, "<g fill=\"none\" color=\"") ? &s->held : s->out, fixed);
}

/* What stands between tags. A line break after what was left out goes with it. */
static void put_between(struct ship *s, struct slice text)
{
    struct buf *to = s->held.n > 0 && is_blank(text) ? &s->held : s->out;
    if (to == s->out)
        let_go(s);
    if (!is_blank(text) || (to->n > 0 && to->p[to->n - 1] != '\n'))
        put(to, text);
}

/* The whole element or declaration at p that is left out, or 0. gnuplot's first title is the
 * document's, the later ones are tooltips. */
static size_t dropped(struct ship *s, struct slice rest)
{
    static const struct {
        const char *from, *to;
        bool always;
    } parts[] = {
        {"<title>", "</title>", true},
        {"<desc>", "</desc>", false},
        {"<?xml", "?>", false},
        {"<!DOCTYPE", ">", false},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!starts(rest, parts[i].from) || !(parts[i].always || s->inline_form))
            continue;
        const char *end = strstr(rest.p, parts[i].to);
        return end == NULL ? rest.n : (size_t)(end - rest.p) + strlen(parts[i].to);
    }
    return 0;
}

void svg_ship(struct buf *out, struct slice raw, const char *id, const char *alt, bool inline_form)
{
    struct ship s = {.out = out, .id = id, .alt = alt, .inline_form = inline_form};
    struct buf text; /* raw, ended by a NUL */
    buf_init(&s.tag, TAG_BYTES);
    buf_init(&s.held, TAG_BYTES);
    buf_init(&text, raw.n + 1);
    put(&text, raw);
    const char *p = buf_text(&text), *end = p + text.n;
    while (p < end) {
        size_t n = strcspn(p, "<");
        n = n == 0 && *p == '\0' ? 1 : n;
        if (n > 0)
            put_between(&s, (struct slice){p, n});
        p += n;
        if (p >= end)
            break;
        n = dropped(&s, (struct slice){p, (size_t)(end - p)});
        if (n > 0 && !s.titled && starts((struct slice){p, n}, "<title>")) {
            s.titled = true;
            put_title(&s);
        }
        if (n == 0) {
            n = strcspn(p, ">");
            n += p[n] == '>';
            put_tag(&s, (struct slice){p, n});
        }
        p += n;
    }
    let_go(&s);
    buf_done(&text);
    buf_done(&s.held);
    buf_done(&s.tag);
}
