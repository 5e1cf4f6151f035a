/* The closing words. */
#include "replay/summary.h"

#include <inttypes.h>
#include <string.h>

#include "traces/base/units.h"

enum { P99_VALUES = 100 }; /* of fewer, a p99 is but the largest */

/* "p50 12.3 us, p99 45 us, max 61 us" */
static const char *spread(int64_t *v, size_t n, char out[160])
{
    char p50[32], p99[32], most[32];
    const char *middle = units_duration(sendlog_quantile(v, n, 0.5), p50),
               *max = units_duration(sendlog_quantile(v, n, 1), most);
    if (n < P99_VALUES)
        snprintf(out, 160, "p50 %s, max %s", middle, max);
    else
        snprintf(out, 160, "p50 %s, p99 %s, max %s", middle,
                 units_duration(sendlog_quantile(v, n, 0.99), p99), max);
    return out;
}

static void print_requests(const struct summary *s, FILE *to)
{
    char took[32];
    const struct driver_report *r = s->report;
    fprintf(to, "requests    %" PRIu64 " of %zu answered in %s%s\n", r->log.answered,
            s->plan->requests.n, units_duration(r->took_ns, took),
            r->ended_by_signal ? ", ended by a signal"
            : r->out_of_time   ? ", ended when its time was over"
                               : "");
}

static void print_outcomes(const struct driver_report *r, FILE *to)
{
    const struct sendlog *l = &r->log;
    fprintf(to, "outcomes    ");
    for (size_t i = 0; i < l->outcomes.n; i++)
        fprintf(to, "%s%s %" PRIu64, i ? ", " : "", l->outcomes.v[i].outcome, l->outcomes.v[i].n);
    if (r->unsent > 0)
        fprintf(to, "%snot sent %" PRIu64, l->outcomes.n ? ", " : "", r->unsent);
    fprintf(to, "; HTTP 2xx %" PRIu64 ", other status %" PRIu64, l->good, l->answered - l->good);
    if (l->redirected > 0)
        fprintf(to, " (redirects: %" PRIu64 "; they are not followed)", l->redirected);
    fprintf(to, "\n");
}

static void print_times(struct sendlog *l, FILE *to)
{
    char line[160];
    if (l->send_error_ns.n > 0)
        fprintf(to, "send error  %s (%zu request%s that %s due at a time)\n",
                spread(l->send_error_ns.v, l->send_error_ns.n, line), l->send_error_ns.n,
                l->send_error_ns.n == 1 ? "" : "s", l->send_error_ns.n == 1 ? "was" : "were");
    else
        fprintf(to, "send error  none: %s\n",
                l->sent > 0 ? "each request started when the one before it ended"
                            : "nothing was sent");
    if (l->skew_ns.n > 0)
        fprintf(to, "release     skew %s (%zu group%s)\n", spread(l->skew_ns.v, l->skew_ns.n, line),
                l->skew_ns.n, l->skew_ns.n == 1 ? "" : "s");
    else
        fprintf(to, "release     %s\n", l->sent > 0 ? "no groups" : "none: nothing was sent");
}

static void print_connections(const struct driver_report *r, FILE *to)
{
    fprintf(to, "connections %" PRIu64 " opened", r->connections);
    if (r->planned > 0)
        fprintf(to, " for %" PRIu64 " of the plan%s", r->planned,
                r->connections > r->planned + r->reopened + r->renewed ? " and to stand by" : "");
    if (r->moved > 0)
        fprintf(to, "; %" PRIu64 " %s due while theirs was busy and went over another", r->moved,
                r->moved == 1 ? "request was" : "requests were");
    if (r->reopened > 0)
        fprintf(to, "; %" PRIu64 " found theirs closed by the server", r->reopened);
    if (r->renewed > 0)
        fprintf(to, "; %" PRIu64 " opened another, theirs having been torn with a request given up",
                r->renewed);
    fprintf(to, "\n");
}

static void print_seeds(const struct plan *p, FILE *to)
{
    if (p->text_is_made)
        fprintf(to, "made        prompts, with seed %" PRId64 "\n", p->text_seed);
    if (p->arrivals_are_made)
        fprintf(to, "made        arrivals, with seed %" PRId64 "\n", p->arrivals_seed);
}

void summary_print(const struct summary *s, FILE *to)
{
    print_requests(s, to);
    print_outcomes(s->report, to);
    print_times(&s->report->log, to);
    print_connections(s->report, to);
    print_seeds(s->plan, to);
    replaced_print(s->replaced, s->target->authority, to);
    if (s->insecure)
        fprintf(to, "TLS         the certificate of %s was not verified\n", s->target->url);
    if (strcmp(s->trace, "-") == 0)
        fprintf(to, "trace       written to stdout; see: tokaudit analyze -\n");
    else
        fprintf(to, "trace       %s; see: tokaudit analyze %s\n", s->trace, s->trace);
}
