/* Tokens by every way of counting, side by side. */
#include "analyze/report_recount.h"

#include <inttypes.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/base/units.h"

static void add(struct recount_sums *s, const struct request *r)
{
    int64_t stated = request_tokens(r);
    s->counted++;
    if (stated < 0)
        return;
    s->n++;
    s->stated += (uint64_t)stated;
    s->events += r->out.n;
    s->recounted += (uint64_t)r->recounted;
    if (r->out.n > 0 && request_stated(r, r->out.n - 1) >= 0) {
        s->stating++;
        s->per_event += (uint64_t)request_stated(r, r->out.n - 1);
    }
}

struct recount_sums report_recount_sums(const struct audit *a, size_t trace)
{
    struct recount_sums s = {.n = 0};
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        if (r->trace == trace && r->recounted >= 0)
            add(&s, r);
    }
    return s;
}

static void put_sums(struct buf *out, const struct recount_sums *s)
{
    char text[32];
    if (s->n == 0) {
        buf_printf(out, "   tokens: recounted for %s requests, of which none has a stated count\n",
                   units_count(s->counted, text));
        return;
    }
    buf_printf(out, "   tokens of %s request%s: ", units_count(s->n, text), s->n == 1 ? "" : "s");
    buf_printf(out, "stated %s, ", units_count(s->stated, text));
    if (s->stating == s->n)
        buf_printf(out, "by the last output event %s, ", units_count(s->per_event, text));
    buf_printf(out, "output events %s, ", units_count(s->events, text));
    buf_printf(out, "recounted %s", units_count(s->recounted, text));
    if (s->stated > 0 && s->recounted != s->stated)
        buf_printf(out, " (%+.1f %% of stated)",
                   100.0 * ((double)s->recounted - (double)s->stated) / (double)s->stated);
    buf_puts(out, "\n");
}

/* Each reason once, with how many it holds for. */
static void put_reasons(const struct audit *a, size_t trace, struct buf *out)
{
    enum { SHOWN = 4 };
    const char *seen[SHOWN];
    size_t n = 0;
    for (size_t i = 0; i < a->requests.n && n < SHOWN; i++) {
        const struct request *r = &a->requests.v[i];
        bool is_new = r->trace == trace && r->recounted < 0 && r->recount_why != NULL;
        for (size_t k = 0; k < n && is_new; k++)
            is_new = strcmp(seen[k], r->recount_why) != 0;
        if (is_new)
            seen[n++] = r->recount_why;
    }
    for (size_t k = 0; k < n; k++) {
        size_t times = 0;
        for (size_t i = 0; i < a->requests.n; i++) {
            const struct request *r = &a->requests.v[i];
            times += r->trace == trace && r->recounted < 0 && r->recount_why != NULL &&
                     strcmp(seen[k], r->recount_why) == 0;
        }
        char text[32];
        buf_printf(out, "   recount of %s request%s not measurable: ", units_count(times, text),
                   times == 1 ? "" : "s");
        text_terminal(out, slice_of(seen[k]));
        buf_puts(out, "\n");
    }
}

void report_recount_text(const struct audit *a, size_t trace, struct buf *out)
{
    struct recount_sums s = report_recount_sums(a, trace);
    if (s.counted > 0)
        put_sums(out, &s);
    put_reasons(a, trace, out);
}
