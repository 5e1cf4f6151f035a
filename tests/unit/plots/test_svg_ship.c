/* What a gnuplot SVG looks like after svg_ship: against lines as gnuplot 5.4 writes them, and
 * against text that looks like markup and must not be touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "plots/svg_ship.h"
#include "traces/base/mem.h"

static const char raw[] =
    "<?xml version=\"1.0\" encoding=\"utf-8\"  standalone=\"no\"?>\n"
    "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \n"
    " \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n"
    "<svg \n viewBox=\"0 0 960 520\"\n xmlns=\"http://www.w3.org/2000/svg\"\n>\n\n"
    "<title>Gnuplot</title>\n"
    "<desc>Produced by GNUPLOT 5.4 patchlevel 4 </desc>\n\n"
    "<g id=\"gnuplot_canvas\">\n\n"
    "<rect x=\"0\" y=\"0\" width=\"960\" height=\"520\" fill=\"#FFFFFF\"/>\n"
    "<defs>\n"
    "\t<path id='gpPt0' stroke-width='0.222' stroke='currentColor' d='M-1,0 h2 M0,-1 v2'/>\n"
    "\t<path id='gpPt1' stroke-width='0.222' stroke='currentColor' d='M-1,-1 L1,1'/>\n"
    "\t<use xlink:href='#gpPt0' id='gpPt6' fill='currentColor' stroke='none'/>\n"
    "\t<filter id='textbox'>\n\t</filter>\n"
    "</defs>\n"
    "<g fill=\"none\" color=\"#FFFFFF\" stroke=\"currentColor\" stroke-width=\"1.00\">\n"
    "</g>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\">\n"
    "\t<path stroke='rgb(228, 232, 236)' d='M78.00,438.01 L767.99,438.01'/></g>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\">\n"
    "\t<g transform=\"translate(20.00,30.00)\" stroke=\"none\" fill=\"rgb(31,35,40)\" "
    "font-family=\"Liberation Sans:Bold\" font-size=\"16.50\"  text-anchor=\"start\">\n"
    "\t\t<text>a title</text>\n"
    "\t</g>\n"
    "</g>\n"
    "<g id=\"gnuplot_plot_1\" ><title>gnuplot_plot_1</title>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\">\n"
    "\t<use xlink:href='#gpPt6' transform='translate(1,2)' color='rgb(  0, 114, 178)'/>\n"
    "</g>\n</g>\n</g>\n</svg>\n";

static char *ship(const char *text, bool inline_form)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    svg_ship(&out, (struct slice){text, strlen(text)}, "phantom", "what <it> says & \"more\"",
             inline_form);
    char *shipped = mem_strdup(buf_text(&out));
    buf_done(&out);
    return shipped;
}

static void assert_has(const char *text, const char *what)
{
    if (strstr(text, what) == NULL)
        fail_msg("\"%s\" is not in\n%s", what, text);
}

static void assert_lacks(const char *text, const char *what)
{
    if (strstr(text, what) != NULL)
        fail_msg("\"%s\" is in\n%s", what, text);
}

static void colours_fonts_and_ids(void **state)
{
    (void)state;
    char *svg = ship(raw, true);
    assert_has(svg, "<path stroke='#e4e8ec'");
    assert_has(svg, "color='#0072b2'");
    assert_has(svg, "height=\"520\" fill=\"#ffffff\"");
    assert_has(svg, "fill=\"#1f2328\" font-weight=\"bold\" font-size=\"16.50\"");
    assert_has(svg, "id='phantom-gpPt6'");
    assert_has(svg, "xlink:href='#phantom-gpPt6'");
    assert_has(svg, "id=\"phantom-gnuplot_plot_1\"");
    assert_has(svg, "id='phantom-textbox'");
    assert_has(svg, "id='phantom-gpPt0' stroke-width='0.38'");
    assert_has(svg, "id='phantom-gpPt1' stroke-width='0.6'");
    assert_lacks(svg, "rgb(");
    assert_lacks(svg, "Liberation");
    free(svg);
}

static void titles_and_empty_groups(void **state)
{
    (void)state;
    char *svg = ship(raw, true);
    assert_has(svg, "<svg role=\"img\" aria-labelledby=\"phantom-t\" id=\"phantom\"");
    assert_has(svg, "<title id=\"phantom-t\">what &lt;it&gt; says &amp; &quot;more&quot;</title>");
    assert_lacks(svg, "<title>");
    assert_lacks(svg, "gnuplot_plot_1</title>");
    assert_lacks(svg, "color=\"#ffffff\""); /* only an empty group had it */
    size_t opened = 0, closed = 0;
    for (const char *p = svg; (p = strstr(p, "<g")) != NULL; p++)
        opened++;
    for (const char *p = svg; (p = strstr(p, "</g>")) != NULL; p++)
        closed++;
    assert_int_equal(opened, 6);
    assert_int_equal(opened, closed);
    free(svg);
}

static void inline_has_no_prolog_and_no_style(void **state)
{
    (void)state;
    char *in_page = ship(raw, true), *alone = ship(raw, false);
    assert_int_equal(strncmp(in_page, "<svg ", 5), 0);
    assert_lacks(in_page, "<desc>");
    assert_lacks(in_page, "<style>");
    assert_int_equal(strncmp(alone, "<?xml", 5), 0);
    assert_has(alone, "<!DOCTYPE");
    assert_has(alone, "@media (prefers-color-scheme:dark){svg [fill=\"#ffffff\"]{fill:#14171c}");
    free(in_page);
    free(alone);
}

/* gnuplot escapes & and <, and leaves quotes and >. */
static void text_is_never_edited(void **state)
{
    (void)state;
    static const char hostile[] = "<svg >\n<text>rgb(1,2,3) id='gp url(#gp font-family=\"x:Bold\" "
                                  "&lt;title&gt; #FFFFFF 0.222 > '&amp;</text>\n</svg>\n";
    char *svg = ship(hostile, true);
    assert_has(svg, "<text>rgb(1,2,3) id='gp url(#gp font-family=\"x:Bold\" &lt;title&gt; #FFFFFF "
                    "0.222 > '&amp;</text>");
    free(svg);
}

/* Whatever it is cut to, it ends, and stays within its bytes. */
static void every_prefix(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof raw; n++) {
        char *part = mem_strndup(raw, n);
        free(ship(part, true));
        free(ship(part, false));
        free(part);
    }
    free(ship("<a rgb(", true));
    free(ship("<a rgb(1,", true));
    free(ship("<a font-family=\"", true));
}

static void dark_rules_name_every_token(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    svg_dark_rules(&out, ".plot");
    const char *rules = buf_text(&out);
    assert_has(rules, ".plot [fill=\"#0072b2\"]{fill:#4aa8e0}");
    assert_has(rules, ".plot [stroke=\"#d55e00\"]{stroke:#ff8a4c}");
    assert_has(rules, ".plot [color=\"#56b4e9\"]{color:#7cc7f0}");
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_fonts_and_ids),
        cmocka_unit_test(titles_and_empty_groups),
        cmocka_unit_test(inline_has_no_prolog_and_no_style),
        cmocka_unit_test(text_is_never_edited),
        cmocka_unit_test(every_prefix),
        cmocka_unit_test(dark_rules_name_every_token),
    };
    return cmocka_run_group_tests_name("svg_ship", tests, NULL, NULL);
}
