/* From deltas to a request. */
#include "analyze/saying.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/base/text.h"

/* What one event, or one document, says. */
struct said {
    struct saying *s;
    int64_t t_ns; /* when */
    uint64_t text_bytes, identified;
    uint64_t answer_bytes;  /* of them not reasoning */
    uint64_t content_bytes; /* of them of the answer itself */
    bool first_choice;      /* text of choice 0 */
    bool counted;           /* it states completion tokens */
    struct usage usage;
    bool alive;  /* something other than a ping */
    bool choice; /* something of the answer itself */
};

/* Names and messages are for people; choices beyond these are nobody's. */
enum { TEXT_KEPT_MAX = 4096, CHOICES_MAX = 4096 };

/* Events that counts must stand with to show that each is of its event alone. */
enum { COUNTED_MIN = 4 };

const struct usage usage_none = {-1, -1, -1, -1};
const struct server_timings timings_none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

const char *saying_keep(struct arena *texts, struct slice s)
{
    if (s.p == NULL)
        return NULL;
    return arena_text(texts, (struct slice){s.p, s.n < TEXT_KEPT_MAX ? s.n : TEXT_KEPT_MAX});
}

void saying_done(struct saying *s)
{
    VEC_FREE(&s->choices);
}

/* Some servers state with each event what it held alone. The proof: nearly all events with text
 * state a count, the last is far below the number of those events, and all of them together are
 * not. */
static bool counts_one_event(const struct saying *s)
{
    const struct request *r = s->r;
    double events = (double)r->out.n, last = (double)r->usage.completion;
    return r->out.n >= COUNTED_MIN && s->counted_events >= 0.9 * events && last >= 0 &&
           last <= 0.5 * events && (double)r->stated_sum >= 0.9 * events;
}

void saying_settle(struct saying *s)
{
    struct request *r = s->r;
    if (!counts_one_event(s))
        return;
    int64_t sum = 0;
    r->stated_last = r->usage.completion;
    r->usage.completion = r->stated_sum;
    for (size_t i = 0; i < r->out.n; i++) {
        sum += r->out.v[i].stated > 0 ? r->out.v[i].stated : 0;
        r->out.v[i].stated = sum < INT32_MAX ? (int32_t)sum : INT32_MAX;
        if (r->out.v[i].packet == r->out.v[0].packet)
            r->n1 = sum;
    }
}

/* --- deltas ------------------------------------------------------------------------------- */

static void pick_int(int64_t *to, int64_t v)
{
    if (v >= 0)
        *to = v;
}

static void pick_double(double *to, double v)
{
    if (!isnan(v))
        *to = v;
}

static void pick_usage(struct usage *to, const struct usage *u)
{
    pick_int(&to->prompt, u->prompt);
    pick_int(&to->completion, u->completion);
    pick_int(&to->cached, u->cached);
    pick_int(&to->reasoning, u->reasoning);
}

/* NULL: nobody has so many. */
static struct saying_choice *choice_of(struct saying *s, const struct delta *d)
{
    if (d->choice >= CHOICES_MAX)
        return NULL;
    while (s->choices.n <= d->choice)
        VEC_PUSH(&s->choices, (struct saying_choice){0});
    return &s->choices.v[d->choice];
}

/* Of counts that are of one choice each, those of all choices so far. */
static void add_choices(struct saying *s, const struct delta *d, struct usage *u)
{
    struct saying_choice *c = choice_of(s, d);
    if (c == NULL)
        return;
    pick_int(&c->prompt, u->prompt);
    pick_int(&c->completion, u->completion);
    struct usage sum = {0};
    for (size_t i = 0; i < s->choices.n; i++) {
        sum.prompt += s->choices.v[i].prompt;
        sum.completion += s->choices.v[i].completion;
    }
    u->prompt = u->prompt >= 0 ? sum.prompt : -1;
    u->completion = u->completion >= 0 ? sum.completion : -1;
}

/* The count of a start is none: it is never n_1 and never added. */
static void take_usage(struct said *s, const struct delta *d)
{
    struct usage u = d->usage;
    struct request *r = s->s->r;
    if (d->of_choice)
        add_choices(s->s, d, &u);
    if (u.completion >= 0 && u.completion <= INT32_MAX) {
        r->stated_times++;
        r->stated_sum += u.completion;
        s->counted |= d->sort != USAGE_START;
    }
    if (u.prompt >= 0 && u.prompt <= INT32_MAX)
        r->prompt_sum += u.prompt;
    if (d->sort == USAGE_START)
        u.completion = u.reasoning = -1;
    else
        s->s->r->usage_events++;
    pick_usage(&s->usage, &u);
}

static void take_timings(struct server_timings *to, const struct server_timings *t)
{
    pick_double(&to->prompt_n, t->prompt_n);
    pick_double(&to->prompt_ms, t->prompt_ms);
    pick_double(&to->predicted_n, t->predicted_n);
    pick_double(&to->predicted_ms, t->predicted_ms);
    pick_double(&to->predicted_per_second, t->predicted_per_second);
    pick_double(&to->load_ms, t->load_ms);
    pick_double(&to->total_ms, t->total_ms);
}

static void take_error(struct saying *s, struct slice text)
{
    s->failed = true;
    if (s->r->error == NULL)
        s->r->error = saying_keep(s->texts, text);
}

/* Of a text that repeats what was sent before, what is new. SGLang's server can be told not to
 * repeat it (--incremental-streaming-output): then a text does not begin with the one before. */
static uint64_t new_bytes(struct saying *s, const struct delta *d)
{
    struct saying_choice *c = d->so_far ? choice_of(s, d) : NULL;
    if (c == NULL || c->anew)
        return d->text.n;
    uint64_t before = c->bytes;
    c->anew = before > 0 &&
              (d->text.n < before || model_hash((struct slice){d->text.p, before}) != c->hash);
    c->bytes = d->text.n;
    c->hash = model_hash(d->text);
    return c->anew ? d->text.n : d->text.n - before;
}

/* Is it the piece that came 1, 2, 3 or 4 before? A text of nothing else is none. */
static void compare_piece(struct saying *s, struct slice piece)
{
    uint64_t h = model_hash(piece);
    for (uint32_t k = 1; k <= SAYING_PERIODS && k <= s->n_pieces; k++) {
        if (s->pieces[(s->n_pieces - k) % SAYING_PERIODS] == h &&
            ++s->repeats[k - 1] > s->r->repeated)
            s->r->repeated = s->repeats[k - 1];
    }
    s->pieces[s->n_pieces++ % SAYING_PERIODS] = h;
}

/* A pattern that ends at the next quote loses the rest of a piece with a quote in it (P51). */
static void cut_piece(struct request *r, struct slice piece)
{
    const char *quote = memchr(piece.p, '"', piece.n);
    if (quote == NULL)
        return;
    r->cut_events++;
    r->cut_bytes += piece.n - (size_t)(quote - piece.p);
}

/* What others may count instead of tokens. */
static void take_kind(struct said *s, const struct delta *d, struct slice piece)
{
    struct request *r = s->s->r;
    text_units_add(&r->text, piece);
    s->first_choice |= d->choice == 0 && piece.n > 0;
    if (d->choice < CHOICES_MAX && d->choice >= r->choices_seen)
        r->choices_seen = d->choice + 1;
    if (d->kind == DELTA_REASONING)
        r->reasoning_bytes += piece.n;
    if (d->kind == DELTA_TOOL)
        r->tool_bytes += piece.n;
    if (d->kind == DELTA_TEXT)
        s->content_bytes += piece.n;
}

static void take_text(struct said *s, const struct delta *d)
{
    uint64_t n = new_bytes(s->s, d);
    struct slice piece = {d->text.p + (d->text.n - n), n};
    recount_text(&s->s->recount, d->choice, d->kind, piece);
    if (n > 0) {
        compare_piece(s->s, piece);
        cut_piece(s->s->r, piece);
    }
    s->text_bytes += n;
    if (d->kind != DELTA_REASONING)
        s->answer_bytes += n;
    take_kind(s, d, piece);
}

static int take_delta(void *ctx, const struct delta *d)
{
    struct said *s = ctx;
    struct request *r = s->s->r;
    s->alive |= d->kind != DELTA_PING;
    s->choice |= d->kind <= DELTA_REFUSAL || d->kind == DELTA_FINISH || d->kind == DELTA_EMPTY;
    switch (d->kind) {
    case DELTA_TEXT:
    case DELTA_REASONING:
    case DELTA_TOOL:
    case DELTA_REFUSAL:
        take_text(s, d);
        break;
    case DELTA_USAGE:
        take_usage(s, d);
        break;
    case DELTA_TOKENS:
        s->identified += d->tokens;
        break;
    case DELTA_TIMINGS:
        take_timings(&r->timings, &d->timings);
        break;
    case DELTA_FINISH:
        s->s->finished = true;
        if (r->finish == NULL)
            r->finish = saying_keep(s->s->texts, d->text);
        break;
    case DELTA_ERROR:
        take_error(s->s, d->text);
        break;
    case DELTA_ROLE:
        if (r->role_ns < 0 && r->answer_ns < 0) /* the finish of mlx-lm names it, like all else */
            r->role_ns = s->t_ns;
        break;
    case DELTA_DONE:
        if (r->done_ns < 0)
            r->done_ns = s->t_ns;
        break;
    case DELTA_PING:
        r->pings++;
        if (r->keepalive_ns < 0)
            r->keepalive_ns = s->t_ns;
        break;
    case DELTA_EMPTY:
        break;
    }
    return TA_OK;
}

/* --- events ------------------------------------------------------------------------------- */

/* Before the finish, zeros beside text are filled in (Ollama's /v1/completions). */
static void add_usage(const struct said *s)
{
    struct request *r = s->s->r;
    struct usage u = s->usage;
    if (!s->s->finished && u.completion == 0 && s->text_bytes + r->text_bytes > 0) {
        u.completion = -1;
        u.prompt = u.prompt > 0 ? u.prompt : -1;
    }
    if (u.completion == 0 && r->usage.completion > 0) /* zeros behind a count take nothing back */
        u = usage_none;
    pick_usage(&r->usage, &u);
}

/* Tokens up to here, by the server's count, else by the ids it gave; -1: not stated. */
static int64_t stated(const struct request *r)
{
    if (r->usage.completion >= 0)
        return r->usage.completion;
    return r->identified > 0 ? (int64_t)r->identified : -1;
}

/* Marks of an event's last byte into the request, once it is known what it said. */
static void take_event(const struct said *s, struct mark last)
{
    struct request *r = s->s->r;
    r->identified += s->identified;
    add_usage(s);
    int64_t count = stated(r);
    if (s->alive && r->c1 < 0) {
        r->c1 = last.t_ready;
        r->c1_packet = last.rel;
        r->c1_offset = last.off;
    }
    if (s->text_bytes > 0) {
        uint32_t bytes = s->text_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)s->text_bytes;
        VEC_PUSH(&r->out, ((struct output_event){last.t_ready, last.rel, bytes,
                                                 count > INT32_MAX ? INT32_MAX : (int32_t)count}));
        r->text_bytes += s->text_bytes;
        if (r->out.n == 1)
            r->o1_offset = last.off;
        r->om_offset = last.off;
    }
    if (s->answer_bytes > 0 && r->answer_ns < 0)
        r->answer_ns = last.t_ready;
    if (s->content_bytes > 0 && r->content_ns < 0)
        r->content_ns = last.t_ready;
    r->content_events += s->content_bytes > 0;
    r->first_choice_events += s->first_choice;
    s->s->counted_events += s->counted && s->text_bytes > 0;
    if (s->choice) {
        r->choice_ns = last.t_ready;
        r->choice_events++;
    }
    /* n_1 is what was readable with o_1: the last count stated in the same read. */
    if (r->out.n > 0 && r->out.v[0].packet == last.rel && count >= 0)
        r->n1 = count;
}

int saying_event(struct saying *s, const struct event *ev, struct mark last, struct buf *scratch)
{
    struct said said = {.s = s, .t_ns = ev->last.t_ready, .usage = usage_none};
    int rc = s->r->dialect->event(ev, scratch, (struct delta_sink){&said, take_delta});
    take_event(&said, last);
    return rc;
}

int saying_document(struct saying *s, struct slice body, struct mark last, struct buf *scratch)
{
    struct said said = {.s = s, .t_ns = last.t_ready, .usage = usage_none};
    int rc = s->r->dialect->document(body, scratch, (struct delta_sink){&said, take_delta});
    take_event(&said, last);
    return rc;
}

/* --- the head ----------------------------------------------------------------------------- */

/* A number that fills the field; NAN: none. */
static double field_number(const struct exchange *x, const char *name)
{
    struct slice s = exchange_response_field(x, name);
    char text[32], *end;
    if (s.n == 0 || s.n >= sizeof text || strspn(s.p, "0123456789.") < s.n)
        return NAN;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    double v = strtod(text, &end);
    return *end == '\0' ? v : NAN;
}

static int64_t field_count(const struct exchange *x, const char *name)
{
    double v = field_number(x, name);
    return v >= 0 && v < 1e15 ? (int64_t)v : -1;
}

/* x-time-per-token is x-inference-time (prefill and decoding) over the tokens: no decode rate. */
void saying_fields(struct saying *s, const struct exchange *x)
{
    struct usage u = {field_count(x, "x-prompt-tokens"), field_count(x, "x-generated-tokens"), -1,
                      -1};
    pick_usage(&s->r->usage, &u);
    if (u.completion >= 0) {
        s->r->timings.predicted_n = (double)u.completion;
        pick_double(&s->r->timings.prompt_n, field_number(x, "x-prompt-tokens"));
    }
}

/* --- ids ---------------------------------------------------------------------------------- */

uint64_t saying_sent_id(const struct exchange *x)
{
    for (size_t i = 0; i < x->n_request_fields; i++) {
        const struct http_field *f = &x->request_fields[i];
        if (text_same(f->name, "x-request-id") && f->value.n > 0)
            return model_hash(f->value);
    }
    return 0;
}

uint64_t saying_reply_id(struct slice event)
{
    struct jscan s = jscan_over(event);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return 0;
    while (jscan_pair(&s, &key)) {
        if (slice_is(key, "id") && s.last == JT_STRING && s.text.n > 0)
            return model_hash(s.text);
        jscan_finish(&s);
    }
    return 0;
}
