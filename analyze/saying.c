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
    uint32_t speaker;       /* the choice that it is about, of … */
    unsigned speakers;      /* … so many; 2: more than one */
    bool turns;             /* a call of a tool begins, or text of another kind */
    struct usage usage;
    bool alive;  /* something other than a ping */
    bool choice; /* something of the answer itself */
};

/* Names and messages are for people; choices beyond these are nobody's. */
enum { TEXT_KEPT_MAX = 4096, CHOICES_MAX = 4096, ID_BYTES = 256 };

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
    choice_counts_done(&s->counts);
    text_so_far_done(&s->so_far);
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

static void settle_events(struct saying *s)
{
    struct request *r = s->r;
    int64_t sum = 0;
    r->stated_last = r->usage.completion;
    r->usage.completion = r->stated_sum;
    r->total_stated = 0;
    for (size_t i = 0; i < r->out.n; i++) {
        sum += request_stated(r, i) > 0 ? request_stated(r, i) : 0;
        request_state(r, i, sum);
        if (r->out.v[i].packet == r->out.v[0].packet)
            r->n1 = sum;
    }
}

/* A server's clock of one choice, its cached and its thinking tokens say nothing of all. */
static void drop_parts(struct request *r)
{
    r->timings = timings_none;
    r->total_stated = 0;
    r->usage.cached = r->usage.reasoning = -1;
}

/* All choices of a chat have one prompt. */
static int64_t prompt_of_choices(const struct saying *s)
{
    int64_t n = s->r->asked.choices < 1 ? 1 : s->r->asked.choices;
    if (n > CHOICE_COUNTS_MAX || s->r->dialect == &dialect_openai_chat)
        n = CHOICE_COUNTS_MAX;
    return choice_counts_prompt(&s->counts, (size_t)n);
}

/* By output event as the choices had together. */
static void settle_sums(struct saying *s)
{
    struct request *r = s->r;
    if (s->counts.own)
        return;
    r->n1 = -1;
    if (s->counts.sums.n == 0)
        r->out_stated.n = 0;
    for (size_t i = 0; i < s->counts.sums.n && i < r->out.n; i++) {
        request_state(r, i, s->counts.sums.v[i]);
        if (r->out.v[i].packet == r->out.v[0].packet && s->counts.sums.v[i] > 0)
            r->n1 = s->counts.sums.v[i];
    }
}

static void settle_choices(struct saying *s)
{
    struct request *r = s->r;
    int64_t sum = choice_counts_completion(&s->counts), total = s->counts.total;
    settle_sums(s);
    if (total > 0 && total >= sum) {
        r->usage.completion = total;
        return;
    }
    r->usage.completion = sum;
    r->usage.prompt = prompt_of_choices(s);
    drop_parts(r);
}

/* Nobody can say how many tokens there were. */
static void settle_unknown(struct saying *s)
{
    struct request *r = s->r;
    drop_parts(r);
    r->usage.completion = r->n1 = -1;
    r->out_stated.n = 0;
    if (r->dialect != &dialect_openai_chat)
        r->usage.prompt = -1;
}

/* A count from before the first text that is less than there is text is what a server begins with,
 * and no count (vLLM's first event of a choice states 0). */
static void drop_early(struct saying *s)
{
    struct request *r = s->r;
    if (!s->stated && r->out.n > 0 && r->usage.completion < (int64_t)r->out.n)
        r->usage.completion = -1;
}

void saying_settle(struct saying *s)
{
    drop_early(s);
    switch (choice_counts_read(&s->counts, s->r->out.n, s->r->usage.completion)) {
    case CHOICES_EACH:
        settle_choices(s);
        break;
    case CHOICES_UNKNOWN:
        settle_unknown(s);
        break;
    case CHOICES_ALL:
        if (counts_one_event(s))
            settle_events(s);
        break;
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

/* The count of a start is none: it is never n_1 and never added. */
static void take_usage(struct said *s, const struct delta *d)
{
    struct usage u = d->usage;
    struct request *r = s->s->r;
    if (u.completion >= 0 && u.completion <= INT32_MAX) {
        r->stated_times++;
        r->stated_sum += u.completion;
        s->counted |= d->sort != USAGE_START;
    }
    if (u.prompt >= 0 && u.prompt <= INT32_MAX)
        r->prompt_sum += u.prompt;
    if (d->of_choice) {
        choice_counts_own(&s->s->counts, d->choice, &u);
        u.completion = u.completion >= 0 ? choice_counts_completion(&s->s->counts) : -1;
    }
    if (d->sort != USAGE_START && u.completion >= 0)
        r->total_stated = d->of_choice ? 0 : d->total;
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

/* Where marks were generated that no text was sent of. Choices that come between each other turn
 * nothing. */
static void take_turn(struct said *s, const struct delta *d)
{
    struct request *r = s->s->r;
    bool first = r->text_bytes + s->text_bytes == 0;
    bool other = first || (d->kind != r->last_kind && d->choice == 0 && r->choices_seen <= 1);
    r->calls += d->opens;
    r->thoughts += other && d->kind == DELTA_REASONING;
    s->turns |= !first && (other || d->opens);
    if (first)
        r->first_kind = d->kind;
    r->last_kind = d->kind;
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
    if (d->of_message && s->s->by_deltas) /* the end repeats all of it */
        return;
    s->s->by_deltas |= !d->of_message;
    uint64_t n = d->so_far ? text_so_far_new(&s->s->so_far, d->choice, d->text) : d->text.n;
    choice_counts_text(&s->s->counts, d->choice);
    struct slice piece = {d->text.p + (d->text.n - n), n};
    recount_text(&s->s->recount, d->choice, d->kind, piece);
    s->s->r->said_hash = model_hash_more(s->s->r->said_hash, piece);
    if (n > 0) {
        take_turn(s, d);
        compare_piece(s->s, piece);
        cut_piece(s->s->r, piece);
    }
    s->text_bytes += n;
    if (d->kind != DELTA_REASONING)
        s->answer_bytes += n;
    take_kind(s, d, piece);
}

/* Which choice the event is about: its counts may be of that one. */
static void take_speaker(struct said *s, const struct delta *d)
{
    if (d->kind > DELTA_REFUSAL && d->kind != DELTA_TOKENS && d->kind != DELTA_FINISH)
        return;
    if (s->speakers == 0)
        s->speaker = d->choice;
    else if (s->speaker == d->choice)
        return;
    s->speakers++;
}

/* Where each event has the ids of those before it too, what is new. */
static uint64_t new_tokens(const struct said *s, const struct delta *d)
{
    uint64_t before = d->so_far ? s->s->r->identified + s->identified : 0;
    return d->tokens > before ? d->tokens - before : 0;
}

static int take_delta(void *ctx, const struct delta *d)
{
    struct said *s = ctx;
    struct request *r = s->s->r;
    take_speaker(s, d);
    s->alive |= d->kind != DELTA_PING;
    s->choice |= d->kind <= DELTA_REFUSAL || d->kind == DELTA_FINISH || d->kind == DELTA_EMPTY ||
                 d->kind == DELTA_HIDDEN;
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
        s->identified += new_tokens(s, d);
        break;
    case DELTA_TIMINGS:
        take_timings(&r->timings, &d->timings);
        break;
    case DELTA_FINISH:
        s->s->finished = true;
        choice_counts_finish(&s->s->counts, d->choice);
        if (r->finish == NULL)
            r->finish = saying_keep(s->s->texts, d->text);
        break;
    case DELTA_ERROR:
        take_error(s->s, d->text);
        break;
    case DELTA_LOADED:
        r->loaded = saying_keep(s->s->texts, d->text);
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
    case DELTA_HIDDEN:
        r->hidden |= !d->unless_sent || r->reasoning_bytes == 0;
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
    s->s->stated |= s->counted && u.completion >= 0 && s->text_bytes + r->text_bytes > 0;
    pick_usage(&r->usage, &u);
}

/* Whose the count is that the event states. */
static void add_count(const struct said *s)
{
    struct choice_counts *c = &s->s->counts;
    if (c->own || !s->counted || s->usage.completion <= 0)
        return;
    if (s->speakers == 1)
        choice_counts_beside(c, s->speaker, &s->usage, s->text_bytes > 0);
    else
        choice_counts_alone(c, &s->usage, s->speakers > 1);
}

/* Tokens up to here, by the server's count, else by the ids it gave; -1: not stated. A count from
 * before the first text is none of what came since. */
static int64_t tokens_by_now(const struct saying *s)
{
    const struct request *r = s->r;
    if (s->stated && s->counts.own)
        return choice_counts_completion(&s->counts);
    if (s->stated && r->usage.completion > 0)
        return r->usage.completion;
    return r->identified > 0 ? (int64_t)r->identified : -1;
}

/* Marks of an event's last byte into the request, once it is known what it said. */
static void take_event(const struct said *s, struct mark last)
{
    struct request *r = s->s->r;
    r->identified += s->identified;
    add_usage(s);
    add_count(s);
    int64_t count = tokens_by_now(s->s);
    if (s->alive && r->c1 < 0) {
        r->c1 = last.t_ready;
        r->c1_packet = last.rel;
        r->c1_offset = last.off;
    }
    if (s->text_bytes > 0) {
        uint32_t bytes = s->text_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)s->text_bytes;
        VEC_PUSH(&r->out, ((struct output_event){last.t_ready, (uint32_t)last.rel, bytes}));
        request_state(r, r->out.n - 1, count);
        choice_counts_event(&s->s->counts, r->out.n - 1, r->out_stated.v, r->out_stated.n);
        r->text_bytes += s->text_bytes;
        if (s->turns)
            VEC_PUSH(&r->turns, ((struct text_turn){(uint32_t)(r->out.n - 1), r->last_kind}));
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
    if (r->out.n > 0 && r->out.v[0].packet == last.rel && count > 0)
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
    s->stated |= u.completion >= 0;
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

/* However it is spelled. */
static uint64_t hash_id(const struct jscan *s)
{
    char room[ID_BYTES];
    struct slice id = s->text;
    if (s->escaped && !jscan_plain(s->text, room, sizeof room, &id))
        return 0;
    return model_hash(id);
}

uint64_t saying_reply_id(struct slice event)
{
    struct jscan s = jscan_over(event);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return 0;
    while (jscan_pair(&s, &key)) {
        if (slice_is(key, "id") && s.last == JT_STRING && s.text.n > 0)
            return hash_id(&s);
        jscan_finish(&s);
    }
    return 0;
}
