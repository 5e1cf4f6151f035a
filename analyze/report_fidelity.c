/* How faithfully a load was driven, in words and in JSON. */
#include "analyze/report_fidelity.h"

#include <inttypes.h>
#include <math.h>

#include "analyze/fidelity.h"
#include "analyze/ledger_counts.h"
#include "traces/base/clock.h"
#include "traces/base/text.h"
#include "traces/base/units.h"

static void put_spread(struct buf *out, const struct spread *s)
{
    char p50[32], p99[32], max[32];
    buf_printf(out, "p50 %s, ", units_duration(s->p50, p50));
    if (s->n >= SPREAD_P99_MIN)
        buf_printf(out, "p99 %s, ", units_duration(s->p99, p99));
    buf_printf(out, "max %s", units_duration(s->max, max));
}

static void put_label(struct buf *out, const struct fidelity *f, const char *label)
{
    buf_printf(out, "%zu  %-12s", f->trace + 1, label);
}

static void put_sent(struct buf *out, const struct fidelity *f)
{
    put_label(out, f, "sent");
    buf_printf(out, "%zu of the ledger's %zu requests are on the wire", f->found, f->entries);
    if (f->bodies_same + f->bodies_differ > 0)
        buf_printf(out, "; bodies as meant: %zu of %zu", f->bodies_same,
                   f->bodies_same + f->bodies_differ);
    if (f->statuses_same + f->statuses_differ > 0)
        buf_printf(out, "; same status as recorded: %zu of %zu", f->statuses_same,
                   f->statuses_same + f->statuses_differ);
    buf_puts(out, "\n");
}

static void put_unseen(struct buf *out, const struct fidelity *f, bool sent, const char *what)
{
    if (ledger_counts_sum(&f->unseen, sent) == 0)
        return;
    struct buf text;
    buf_init(&text, 4096);
    ledger_counts_text(&f->unseen, sent, &text);
    put_label(out, f, what);
    text_terminal(out, (struct slice){(const char *)text.p, text.n});
    buf_puts(out, sent ? " (by the ledger they were sent)\n"
                       : " (in no time, rate or count that follows)\n");
    buf_done(&text);
}

static void put_send_error(struct buf *out, const struct fidelity *f)
{
    put_label(out, f, "send error");
    if (f->send_error.n == 0) {
        buf_puts(out, "not measurable: each request waited for the one before it, and no recording "
                      "says when it should have been sent\n");
        return;
    }
    put_spread(out, &f->send_error);
    buf_printf(out, " (%zu requests, %s)", f->send_error.n,
               f->basis == FIDELITY_DUE
                   ? "against the time they were due"
                   : "against the recording: these waited for each other's answers");
    if (!isnan(f->drift))
        buf_printf(out, "; drift %+.3g us a second", f->drift * 1e6);
    buf_puts(out, "\n");
}

static void put_in_flight(struct buf *out, const struct fidelity *f)
{
    if (isnan(f->now.average))
        return;
    put_label(out, f, "in flight");
    buf_printf(out, "average %.3g, peak %zu", f->now.average, f->now.peak);
    if (!isnan(f->recorded.average))
        buf_printf(out, "; in the recording %.3g and %zu", f->recorded.average, f->recorded.peak);
    buf_puts(out, "\n");
}

static void put_connections(struct buf *out, const struct fidelity *f)
{
    if (f->connections_recorded == 0 && f->follow_ups == 0)
        return;
    put_label(out, f, "connections");
    buf_printf(out, "%zu", f->connections);
    if (f->connections_recorded > 0)
        buf_printf(out, "; in the recording %zu", f->connections_recorded);
    if (f->follow_ups > 0)
        buf_printf(out, "; %zu of %zu follow-up requests went over the connection meant for them",
                   f->kept, f->follow_ups);
    buf_puts(out, "\n");
}

static void put_counts(struct buf *out, const struct fidelity *f)
{
    if (f->counted == 0)
        return;
    put_label(out, f, "tokens");
    buf_printf(out,
               "prompt %" PRId64 ", recorded %" PRId64 "; output %" PRId64 ", recorded %" PRId64
               " (as both servers stated); %zu of %zu requests differ\n",
               f->input, f->input_recorded, f->output, f->output_recorded, f->counts_differ,
               f->counted);
}

static void put_latency(struct buf *out, const struct fidelity *f)
{
    if (f->effective.n == 0)
        return;
    put_label(out, f, "latency");
    buf_puts(out, "from the due time ");
    put_spread(out, &f->effective);
    buf_puts(out, " (effective_latency); from the first byte sent ");
    put_spread(out, &f->e2el);
    buf_printf(out, " (%zu requests)\n", f->effective.n);
}

void report_fidelity_text(const struct audit *a, struct buf *out)
{
    if (a->fidelity.n > 0)
        buf_puts(out, "\nFidelity of the load\n");
    for (size_t i = 0; i < a->fidelity.n; i++) {
        const struct fidelity *f = &a->fidelity.v[i];
        put_sent(out, f);
        put_unseen(out, f, false, "never sent");
        put_unseen(out, f, true, "not seen");
        if (f->found == 0)
            continue;
        put_send_error(out, f);
        if (f->release_skew.n > 0) {
            put_label(out, f, "release");
            buf_printf(out, "%zu groups, skew ", f->release_skew.n);
            put_spread(out, &f->release_skew);
            buf_puts(out, "\n");
        }
        put_in_flight(out, f);
        put_connections(out, f);
        put_counts(out, f);
        put_latency(out, f);
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_spread(struct jsonw *w, const char *key, const struct spread *s)
{
    if (s->n == 0) {
        jsonw_null(w, key);
        return;
    }
    jsonw_object(w, key);
    jsonw_u64(w, "n", s->n);
    jsonw_int(w, "p50_ns", s->p50);
    if (s->n >= SPREAD_P99_MIN)
        jsonw_int(w, "p99_ns", s->p99);
    else
        jsonw_null(w, "p99_ns");
    jsonw_int(w, "max_ns", s->max);
    jsonw_end(w);
}

static void json_in_flight(struct jsonw *w, const char *key, const struct in_flight *s)
{
    if (isnan(s->average)) {
        jsonw_null(w, key);
        return;
    }
    jsonw_object(w, key);
    jsonw_double(w, "average", s->average);
    jsonw_u64(w, "peak", s->peak);
    jsonw_end(w);
}

static void json_pair(struct jsonw *w, const char *key, size_t same, size_t differ)
{
    jsonw_object(w, key);
    jsonw_u64(w, "same", same);
    jsonw_u64(w, "differ", differ);
    jsonw_end(w);
}

static void json_unseen(struct jsonw *w, const struct ledger_counts *c)
{
    enum { OUTCOMES_MOST = 100 };
    jsonw_array(w, "unseen");
    for (size_t i = 0; i < c->n && i < OUTCOMES_MOST; i++) {
        jsonw_object(w, NULL);
        jsonw_text(w, "outcome", c->v[i].outcome);
        jsonw_bool(w, "sent", c->v[i].sent);
        jsonw_u64(w, "n", c->v[i].n);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void json_counts(struct jsonw *w, const struct fidelity *f)
{
    if (f->counted == 0) {
        jsonw_null(w, "tokens");
        return;
    }
    jsonw_object(w, "tokens");
    jsonw_u64(w, "n", f->counted);
    jsonw_u64(w, "differ", f->counts_differ);
    jsonw_int(w, "prompt", f->input);
    jsonw_int(w, "prompt_recorded", f->input_recorded);
    jsonw_int(w, "output", f->output);
    jsonw_int(w, "output_recorded", f->output_recorded);
    jsonw_end(w);
}

void report_fidelity_json(struct jsonw *w, const struct fidelity *f)
{
    if (f == NULL) {
        jsonw_null(w, "fidelity");
        return;
    }
    jsonw_object(w, "fidelity");
    jsonw_u64(w, "entries", f->entries);
    jsonw_u64(w, "found", f->found);
    json_unseen(w, &f->unseen);
    json_pair(w, "bodies", f->bodies_same, f->bodies_differ);
    json_pair(w, "statuses", f->statuses_same, f->statuses_differ);
    jsonw_text(w, "send_error_against", fidelity_basis_name(f->basis));
    json_spread(w, "send_error", &f->send_error);
    jsonw_double(w, "drift", f->drift);
    json_spread(w, "release_skew", &f->release_skew);
    json_in_flight(w, "in_flight", &f->now);
    json_in_flight(w, "in_flight_recorded", &f->recorded);
    jsonw_u64(w, "connections", f->connections);
    jsonw_u64(w, "connections_recorded", f->connections_recorded);
    jsonw_u64(w, "follow_ups", f->follow_ups);
    jsonw_u64(w, "kept", f->kept);
    json_counts(w, f);
    json_spread(w, "e2el", &f->e2el);
    json_spread(w, "effective_latency", &f->effective);
    jsonw_end(w);
}
