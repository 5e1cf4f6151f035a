/* What the file's numbers mean: the unit of its times, the size of its blocks. A guess is said with
 * its reason, and so is a result that no server's load looks like: the name `timestamp` means
 * milliseconds in one format and seconds in the next (peers-and-formats 4.1). */
#include "replay/formats_row.h"

#include <inttypes.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/base/units.h"

struct unit {
    const char *name;
    int64_t ns;
};

static const struct unit units[] = {
    {"s", NS_PER_S}, {"ms", NS_PER_MS}, {"us", NS_PER_US}, {"ns", 1}};

static const struct unit *unit_named(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    }
    return NULL;
}

static bool is_in_ms(enum formats_format f)
{
    return f == FORMAT_MOONCAKE || f == FORMAT_SINGLE_TURN || f == FORMAT_MULTI_TURN;
}

/* The first row with a fraction in its time; -1: none has. */
static int64_t first_fraction(const struct formats_rows *r)
{
    for (size_t i = 0; i < r->v.n; i++) {
        if (r->v.v[i].has_time && r->v.v[i].time.fraction)
            return (int64_t)i;
    }
    return -1;
}

static const struct unit *choose_unit(const struct formats_rows *r, struct buf *says)
{
    char place[48];
    int64_t fraction = first_fraction(r);
    if (r->format == FORMAT_AZURE)
        return unit_named("s");
    if (r->o->time_unit != NULL) {
        formats_say(r, says, "times are taken as %s (--time-unit)", r->o->time_unit);
        return unit_named(r->o->time_unit);
    }
    if (fraction >= 0 && is_in_ms(r->format)) {
        formats_say(r, says,
                    "times are taken as s: %s formats have whole ms, and the time in %s has a "
                    "fraction (--time-unit ms if they are ms all the same)",
                    formats_format_name(r->format),
                    formats_row_place(r, r->v.v[fraction].place, place));
        return unit_named("s");
    }
    const struct unit *u = unit_named(is_in_ms(r->format) ? "ms" : "s");
    formats_say(r, says, "times are taken as %s, as %s has them (else --time-unit)", u->name,
                formats_format_name(r->format));
    return u;
}

static bool is_earlier(struct formats_number a, struct formats_number b)
{
    return a.whole < b.whole || (a.whole == b.whole && a.nano < b.nano);
}

static int set_times(struct formats_rows *r, const struct unit *u, struct formats_number from,
                     struct err *e)
{
    char place[48];
    const int64_t most_ns = INT64_C(1) << 62;
    for (size_t i = 0; i < r->v.n; i++) {
        struct formats_row *row = &r->v.v[i];
        row->t_ns = -1;
        if (!row->has_time && row->previous >= 0)
            continue;
        if (!row->has_time)
            return err_set(e, TA_EFORMAT, "%s, %s: has no time, as other rows have", r->in->path,
                           formats_row_place(r, row->place, place));
        int64_t whole = row->time.whole - from.whole;
        if (whole > most_ns / u->ns)
            return err_set(e, TA_EFORMAT,
                           "%s, %s: its time, in %s, is over 146 years after the earliest; is the "
                           "unit right (--time-unit)?",
                           r->in->path, formats_row_place(r, row->place, place), u->name);
        row->t_ns =
            whole * u->ns + row->time.nano / (NS_PER_S / u->ns) - from.nano / (NS_PER_S / u->ns);
    }
    return TA_OK;
}

/* Neither a request a minute nor, where the unit is a guess, a hundred a second is a load that
 * somebody recorded of a language model: whole seconds that are taken as ms are a thousand times
 * too dense. Of who named the unit more is believed. */
static void judge(const struct formats_rows *r, const struct unit *u, int64_t span_ns, size_t n,
                  struct buf *says)
{
    const int64_t rare_ns = INT64_C(60) * NS_PER_S,
                  dense_ns = r->o->time_unit != NULL ? NS_PER_MS : NS_PER_S / 100;
    enum { FEW = 10 };
    char span[32], gap[32];
    if (n < 2)
        return;
    int64_t gap_ns = span_ns / (int64_t)(n - 1);
    formats_say(r, says, "%zu requests in %s, one every %s in the mean", n,
                units_duration(span_ns, span), units_duration(gap_ns, gap));
    if (r->format == FORMAT_AZURE || n < FEW)
        return;
    if (gap_ns >= rare_ns)
        formats_say(r, says,
                    "WARNING: that is very little load; if the times are not %s, say what "
                    "they are with --time-unit",
                    u->name);
    else if (gap_ns < dense_ns && span_ns > 0)
        formats_say(r, says,
                    "WARNING: %.0f requests a second are a very heavy load; if the times are not "
                    "%s, say what they are with --time-unit",
                    1e9 / (double)(gap_ns > 0 ? gap_ns : 1), u->name);
}

int formats_set_times(struct formats_rows *r, struct buf *says, struct err *e)
{
    struct formats_number first = {0}, last = {0};
    size_t n = 0;
    if (r->o->time_unit != NULL && unit_named(r->o->time_unit) == NULL)
        return err_set(e, TA_EUSAGE, "--time-unit: expected s, ms, us or ns, found '%.20s'",
                       r->o->time_unit);
    for (size_t i = 0; i < r->v.n; i++) {
        const struct formats_row *row = &r->v.v[i];
        r->v.v[i].t_ns = -1;
        if (!row->has_time)
            continue;
        if (n++ == 0)
            first = last = row->time;
        first = is_earlier(row->time, first) ? row->time : first;
        last = is_earlier(last, row->time) ? row->time : last;
    }
    r->timed = n > 0;
    if (!r->timed) {
        formats_say(r, says, "it has no times: its requests are sent one after the other");
        return TA_OK;
    }
    const struct unit *u = choose_unit(r, says);
    int rc = set_times(r, u, first, e);
    if (rc == TA_OK)
        judge(r, u,
              (last.whole - first.whole) * u->ns + last.nano / (NS_PER_S / u->ns) -
                  first.nano / (NS_PER_S / u->ns),
              n, says);
    return rc;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* The first row whose ids are not one for each block of so many tokens; -1: there is none. */
static int64_t first_misfit(const struct formats_rows *r, int64_t block)
{
    for (size_t i = 0; i < r->v.n; i++) {
        const struct formats_row *row = &r->v.v[i];
        if (row->kind == CONTENT_WORDS && row->content.n > 0 &&
            (int64_t)(row->content.n / sizeof(int64_t)) != (row->in + block - 1) / block)
            return (int64_t)i;
    }
    return -1;
}

int64_t formats_block_words(const struct formats_rows *r, struct buf *says)
{
    static const int64_t sizes[] = {512, 16, 64};
    char place[48];
    int64_t usual = r->format == FORMAT_MOONCAKE ? 512 : r->format == FORMAT_WEKA ? 64 : 16;
    int64_t misfit = first_misfit(r, usual);
    if (misfit < 0)
        return usual;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (first_misfit(r, sizes[i]) < 0) {
            formats_say(r, says,
                        "hash_ids stand for blocks of %" PRId64 " tokens, not of %" PRId64
                        " as %s usually has them: only so they fit input_length",
                        sizes[i], usual, formats_format_name(r->format));
            return sizes[i];
        }
    }
    formats_say(r, says,
                "WARNING: %s: its hash_ids do not fit input_length in blocks of %" PRId64
                " tokens, nor of another known size; lengths are kept, shared prefixes "
                "may be other ones",
                formats_row_place(r, r->v.v[misfit].place, place), usual);
    return usual;
}
