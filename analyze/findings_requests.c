/* Findings of requests: who they speak to, how they fail, and what looks like an answer and is
 * none.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/finder.h"
#include "analyze/ledger_counts.h"
#include "analyze/metrics.h"
#include "analyze/metrics_speedup.h"
#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"

/* Neither path nor body says which API it is; the replies look like one. */
static void find_guesses(struct finder *f)
{
    const struct request *first = NULL;
    size_t n = 0, others = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || !r->guessed)
            continue;
        first = first == NULL ? r : first;
        others += r->dialect != first->dialect;
        n++;
    }
    if (n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_REQUESTS_API_GUESSED,
        audit_printf(f->a,
                     "%zu requests went to paths of no API that is known here; their replies "
                     "look like %s%s, and were read so. What they asked for is not known for "
                     "sure. Say --dialect if it is another.",
                     n, first->dialect->name, others > 0 ? " and others" : ""));
    finder_cite_start(x, first);
}

/* --- requests that asked for no text -----------------------------------------------------------
 */

static void find_loads(struct finder *f)
{
    const struct request *first = NULL;
    size_t n = 0, unloads = 0;
    int64_t longest = 0;
    char took[32];
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || r->loaded == NULL)
            continue;
        first = first == NULL ? r : first;
        unloads += strcmp(r->loaded, "unload") == 0;
        n++;
        if (r->z - r->t0 > longest)
            longest = r->z - r->t0;
    }
    if (n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_REQUESTS_LOADS,
        audit_printf(f->a,
                     "%zu requests had no prompt: %zu loaded a model and %zu unloaded one; the "
                     "longest took %s. Nothing was generated: they are in no count of requests and "
                     "in no figure.",
                     n, n - unloads, unloads, units_duration(longest, took)));
    finder_cite_start(x, first);
}

/* --- requests that were never sent ----------------------------------------------------------- */

/* Coordinated omission in its plainest form: what the client could not send is slow for nobody. */
static void find_unsent(struct finder *f)
{
    const struct trace_info *t = &f->a->traces.v[f->trace];
    const struct ledger_entry **v = mem_array(t->unseen.n + 1, sizeof *v);
    struct ledger_counts counts = {0};
    struct buf text;
    for (size_t i = 0; i < t->unseen.n; i++)
        v[i] = t->unseen.v[i];
    ledger_counts_of(v, t->unseen.n, &counts);
    size_t n = ledger_counts_sum(&counts, false);
    buf_init(&text, 1024);
    ledger_counts_text(&counts, false, &text);
    if (n > 0) {
        struct finding *x = finder_add(
            f, FINDING_REQUESTS_UNSENT,
            audit_printf(f->a,
                         "%zu of the ledger's %zu requests were never sent: %s. They are in no "
                         "figure here: latencies and rates are those of the requests that got "
                         "through, not of the load that was meant.",
                         n, t->ledger.n, buf_text(&text)));
        finder_affects(x, "requests", -100 * (double)n / (double)t->ledger.n);
        finder_affects(x, "effective_latency", NAN);
    }
    buf_done(&text);
    VEC_FREE(&counts);
    free(v);
}

/* --- failed requests -------------------------------------------------------------------------- */

static const char *const failures[] = {
    [OUTCOME_HTTP_ERROR] = "with an HTTP error",
    [OUTCOME_ERROR_EVENT] = "with an error inside a 200 reply",
    [OUTCOME_CUT_SHORT] = "cut short",
    [OUTCOME_NO_FINISH] = "without a finish",
    [OUTCOME_NO_RESPONSE] = "without a response",
};

/* Bytes came for a response, and no whole head of one in them. */
static bool is_garbled(const struct request *r)
{
    static const char *const ids[] = {"http.version-0.9", "http.bad-start-line",
                                      "http.truncated-head", "http.head-too-big"};
    for (size_t i = 0; i < r->anomalies.n && r->outcome == OUTCOME_NO_RESPONSE; i++) {
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
            if (strcmp(r->anomalies.v[i], ids[k]) == 0)
                return true;
        }
    }
    return false;
}

static bool is_failure(const struct request *r)
{
    return r->dialect != NULL && (size_t)r->outcome < sizeof failures / sizeof *failures &&
           failures[r->outcome] != NULL;
}

static void cite_failures(struct finder *f, struct finding *x)
{
    size_t cited = 0;
    for (size_t i = 0; i < f->a->requests.n && cited < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || !is_failure(r))
            continue;
        finder_cite_start(x, r);
        cited++;
    }
}

/* P80: their text was made in the time of the run, and is in no rate. By events, as they state no
 * number of tokens yet. */
static void find_open(struct finder *f, size_t n, size_t all)
{
    const struct request *first = NULL;
    size_t events = 0, counted = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || r->dialect == NULL)
            continue;
        if (metrics_request_counts(r))
            counted += r->out.n;
        if (r->outcome != OUTCOME_OPEN)
            continue;
        first = first == NULL ? r : first;
        events += r->out.n;
    }
    struct finding *x = finder_add(
        f, FINDING_REQUESTS_OPEN,
        audit_printf(f->a,
                     "%zu of %zu requests have no end in this trace; %zu events with text came of "
                     "them, and %zu of those that are counted.",
                     n, all, events, counted));
    if (events > 0)
        finder_affects(x, "output_tps", -100 * (double)events / (double)(events + counted));
    finder_cite_start(x, first);
    finder_cite_text(x, first);
}

/* "; the ledger says 4 timeout, 1 refused": of those failures that it knows as such. */
static void put_ledger(const struct finder *f, struct buf *text)
{
    const struct ledger_entry **v = mem_array(f->a->requests.n + 1, sizeof *v);
    struct ledger_counts counts = {0};
    size_t n = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace == f->trace && is_failure(r) && r->ledger != NULL &&
            strcmp(r->ledger->outcome, "complete") != 0)
            v[n++] = r->ledger;
    }
    ledger_counts_of(v, n, &counts);
    if (ledger_counts_sum(&counts, true) > 0) {
        buf_puts(text, "; the ledger says ");
        ledger_counts_text(&counts, true, text);
    }
    VEC_FREE(&counts);
    free(v);
}

/* "2 of 8 requests failed: 2 without a response". */
static void put_failures(const struct finder *f, const size_t n[], size_t failed, size_t all,
                         struct buf *text)
{
    size_t garbled = 0;
    int status = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || r->dialect == NULL)
            continue;
        garbled += is_garbled(r);
        if (r->outcome == OUTCOME_HTTP_ERROR && status == 0)
            status = r->status;
    }
    buf_printf(text, "%zu of %zu requests failed:", failed, all);
    const char *before = " ";
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        if (failures[i] == NULL || n[i] == 0)
            continue;
        buf_printf(text, "%s%zu %s", before, n[i], failures[i]);
        before = ", ";
        if (i == OUTCOME_NO_RESPONSE && garbled > 0)
            buf_printf(text, " (bytes came for %zu of them, but no head of one)", garbled);
    }
    if (status != 0)
        buf_printf(text, " (the first is HTTP %d)", status);
    put_ledger(f, text);
}

static void find_failures(struct finder *f)
{
    size_t n[OUTCOME_NOT_LLM + 1] = {0}, all = 0, failed = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || r->dialect == NULL)
            continue;
        all++;
        n[r->outcome]++;
        failed += is_failure(r);
    }
    if (n[OUTCOME_OPEN] > 0)
        find_open(f, n[OUTCOME_OPEN], all);
    if (n[OUTCOME_UNREADABLE] > 0)
        finder_add(f, FINDING_REQUESTS_UNREADABLE,
                   audit_printf(
                       f->a,
                       "%zu of %zu replies are compressed, and were overwritten or cannot be read "
                       "here: what they say is in no figure.",
                       n[OUTCOME_UNREADABLE], all));
    if (failed == 0)
        return;
    struct buf text;
    buf_init(&text, 4096);
    put_failures(f, n, failed, all, &text);
    struct finding *x = finder_add(
        f, FINDING_REQUESTS_FAILED,
        audit_printf(f->a, "%s. They take part in no latency and no rate.", buf_text(&text)));
    buf_done(&text);
    finder_affects(x, "failed", 100 * (double)failed / (double)all);
    cite_failures(f, x);
}

/* --- no answers, though the status is 2xx ----------------------------------------------------- */

static enum shows has_error(const struct finder *f, const struct request *r, double *value)
{
    (void)f;
    (void)value;
    return r->outcome == OUTCOME_ERROR_EVENT ? SHOWS_YES : SHOWS_NO;
}

static enum shows is_empty(const struct finder *f, const struct request *r, double *value)
{
    (void)f;
    (void)value;
    return r->status / 100 == 2 && r->stream_reply && !r->damaged && r->out.n == 0 &&
                   r->identified ==
                       0 && /* of tokens that were sent as their ids there is no text */
                   (r->outcome == OUTCOME_SUCCESS || r->outcome == OUTCOME_NO_FINISH)
               ? SHOWS_YES
               : SHOWS_NO;
}

static enum shows broke_off(const struct finder *f, const struct request *r, double *age_s)
{
    (void)f;
    *age_s = (double)(r->t_end - r->t0) / NS_PER_S;
    bool text = r->out.n > 0 && r->out.v[0].t_ns <= r->t_end; /* no client that left had it */
    return r->status / 100 == 2 && text && !r->damaged &&
                   (r->outcome == OUTCOME_CUT_SHORT || r->outcome == OUTCOME_NO_FINISH)
               ? SHOWS_YES
               : SHOWS_NO;
}

static void find_errors(struct finder *f)
{
    struct found found = finder_gather(f, has_error);
    if (found.n == 0)
        return;
    const char *error = f->a->requests.v[found.first[0]].error;
    struct finding *x =
        finder_add(f, FINDING_REQUESTS_ERROR_IN_SUCCESS,
                   audit_printf(f->a,
                                "%zu of %zu replies have an error behind status 200, the first "
                                "\"%.200s\": who counts by status takes them for answers.",
                                found.n, found.of, error != NULL ? error : ""));
    finder_affects(x, "request_tps", 100 * (double)found.n / fmax(1, (double)(found.of - found.n)));
    finder_cite_found(f, x, &found, false);
}

static void find_empty(struct finder *f)
{
    struct found found = finder_gather(f, is_empty);
    if (found.n == 0)
        return;
    struct finding *x =
        finder_add(f, FINDING_REQUESTS_EMPTY,
                   audit_printf(f->a,
                                "%zu of %zu requests got a stream without any text: it has no time "
                                "to first text, and who takes it for 0 gets a better one.",
                                found.n, found.of));
    finder_affects(x, "ttft", -100 * (double)found.n / (double)found.of);
    finder_cite_found(f, x, &found, false);
}

static void find_broken_off(struct finder *f)
{
    struct found found = finder_gather(f, broke_off);
    size_t resets = 0, left = 0;
    if (found.n == 0)
        return;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        double age;
        bool broke = broke_off(f, r, &age) == SHOWS_YES;
        resets += broke && r->end == END_RST && !r->left;
        left += broke && r->left;
    }
    struct finding *x =
        finder_add(f, FINDING_REQUESTS_CUT_SHORT,
                   audit_printf(f->a,
                                "%zu of %zu replies end after some text without a finish or in the "
                                "middle of the message, %zu of them by a reset of the server's "
                                "side, %zu by the client: who takes any text for an answer counts "
                                "them, with less latency and fewer tokens.",
                                found.n, found.of, resets, left));
    finder_affects(x, "e2el", NAN);
    finder_affects(x, "output_tokens", NAN);
    finder_cite_found(f, x, &found, true);
}

/* --- attempts --------------------------------------------------------------------------------- */

static enum shows is_retry(const struct finder *f, const struct request *r, double *wait_s)
{
    if (r->retry_of == 0)
        return SHOWS_NO;
    *wait_s = (double)(r->t0 - f->a->requests.v[r->retry_of - 1].t_end) / NS_PER_S;
    return SHOWS_YES;
}

static void find_retries(struct finder *f)
{
    struct found found = finder_gather(f, is_retry);
    char wait[32];
    if (found.n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_REQUESTS_RETRIED,
        audit_printf(f->a,
                     "%zu of %zu requests are the same body again after a failure, typically %s "
                     "later: requests are fewer than attempts, and a latency may begin at the "
                     "first or at the last of them.",
                     found.n, found.of, units_duration(llround(found.typical * NS_PER_S), wait)));
    finder_affects(x, "requests", 100 * (double)found.n / fmax(1, (double)(found.of - found.n)));
    finder_affects(x, "e2el", NAN);
    finder_cite_found(f, x, &found, false);
}

/* --- timeouts (P88) --------------------------------------------------------------------------- */

enum { TIMEOUTS_MIN = 3 };
#define TIMEOUT_AGE_NS NS_PER_S    /* what is younger failed of something else … */
#define LEFT_AGE_NS (NS_PER_S / 2) /* … unless the client ended it */
#define TIMEOUT_SLACK_NS (20 * (int64_t)NS_PER_MS)

static int64_t age_of(const struct request *r)
{
    return r->t_end - r->t0;
}

static int by_age(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    int64_t p = age_of(x), q = age_of(y);
    return p != q ? (p > q) - (p < q) : (x->id > y->id) - (x->id < y->id);
}

/* Given up by a side before they were whole; how many, by age. */
static size_t gather_given_up(const struct finder *f, const struct request **v)
{
    size_t n = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if ((r->outcome == OUTCOME_CUT_SHORT || r->outcome == OUTCOME_NO_RESPONSE) &&
            (r->end != END_TRACE || r->left) && !r->damaged &&
            age_of(r) >= (r->left ? LEFT_AGE_NS : TIMEOUT_AGE_NS))
            v[n++] = r;
    }
    if (n > 0)
        qsort(v, n, sizeof *v, by_age);
    return n;
}

/* They end at the same age; a server that dies ends all at the same moment. */
static bool at_one_moment(const struct request *const *v, size_t n)
{
    int64_t first = v[0]->t_end, last = v[0]->t_end;
    for (size_t i = 1; i < n; i++) {
        first = v[i]->t_end < first ? v[i]->t_end : first;
        last = v[i]->t_end > last ? v[i]->t_end : last;
    }
    return last - first < 2 * (age_of(v[n - 1]) - age_of(v[0]) + TIMEOUT_SLACK_NS);
}

static void find_timeouts(struct finder *f)
{
    const struct request **v = mem_array(f->scope->n + 1, sizeof *v);
    size_t n = gather_given_up(f, v), from = 0, most = 0;
    for (size_t i = 0, end = 0; i < n; i++) {
        double limit = (double)age_of(v[i]) * (1 + f->o->timeout_spread) + TIMEOUT_SLACK_NS;
        while (end < n && (double)age_of(v[end]) <= limit)
            end++;
        if (end - i > most) {
            from = i;
            most = end - i;
        }
    }
    if (most >= TIMEOUTS_MIN && 2 * most > n && !at_one_moment(v + from, most)) {
        char age[32];
        struct finding *x = finder_add(
            f, FINDING_REQUESTS_TIMEOUTS,
            audit_printf(f->a,
                         "%zu of %zu requests were given up at an age of %s: a limit of "
                         "the client, or of something between, ends them. They are "
                         "missing from latencies, which are too good without them.",
                         most, f->scope->n, units_duration(age_of(v[from + most / 2]), age)));
        finder_affects(x, "e2el", NAN);
        finder_affects(x, "output_tps", NAN);
        for (size_t i = from; i < from + most && i < from + CITED_MOST; i++)
            finder_cite_left(x, v[i]);
    }
    free(v);
}

/* --- what was asked and answered -------------------------------------------------------------- */

static enum shows asks_one(const struct finder *f, const struct request *r, double *value)
{
    (void)f;
    (void)value;
    return r->asked.max_tokens == 1 ? SHOWS_YES : SHOWS_NO;
}

static void find_budget(struct finder *f)
{
    struct found found = finder_gather(f, asks_one);
    if (found.n == 0 || 2 * found.n < found.of)
        return;
    struct finding *x = finder_add(
        f, FINDING_REQUESTS_BUDGET_ONE,
        audit_printf(f->a,
                     "%zu of %zu requests allow one token of output: their times are those of the "
                     "prompt, and output rates over them say nothing of decoding.",
                     found.n, found.of));
    finder_affects(x, "output_tps", NAN);
    finder_cite_found(f, x, &found, false);
}

enum { PIECES_MIN = 32 };

static enum shows is_degenerate(const struct finder *f, const struct request *r, double *share)
{
    if (!metrics_request_counts(r) || r->out.n < PIECES_MIN)
        return SHOWS_SILENT;
    *share = (double)r->repeated / (double)r->out.n;
    return *share > f->o->repeat_share ? SHOWS_YES : SHOWS_NO;
}

static void find_degenerate(struct finder *f)
{
    struct found found = finder_gather(f, is_degenerate);
    if (found.n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_TEXT_DEGENERATE,
        audit_printf(f->a,
                     "In %zu of %zu replies of %d events and more the text repeats itself "
                     "(typically %.3g %% of the pieces are those of a moment before): speed of "
                     "text that nobody wants, and of easy guesses for speculative decoding.",
                     found.n, found.of, PIECES_MIN, 100 * found.typical));
    finder_affects(x, "output_tps_user", NAN);
    finder_cite_found(f, x, &found, true);
}

void findings_requests(struct finder *f)
{
    find_guesses(f);
    find_loads(f);
    find_unsent(f);
    find_failures(f);
    find_errors(f);
    find_empty(f);
    find_broken_off(f);
    find_retries(f);
    find_timeouts(f);
    find_budget(f);
    find_degenerate(f);
}
