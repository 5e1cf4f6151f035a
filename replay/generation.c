/* What a simulated reply says. Source: replay/PROFILES.md. */
#include "replay/generation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/dialects/openai_responses.h"
#include "traces/limits.h"

/* What a token can be: one word each, so that a count of words is the count of tokens. */
static const char *const words[] = {
    "the",     "river",  "of",      "light",  "a",      "quiet",   "engine", "turns",
    "slow",    "wheel",  "under",   "bright", "copper", "roof",    "and",    "every",
    "signal",  "finds",  "its",     "way",    "home",   "across",  "field",  "where",
    "stone",   "meets",  "water",   "small",  "clock",  "keeps",   "time",   "with",
    "patient", "hands",  "while",   "north",  "wind",   "moves",   "paper",  "maps",
    "from",    "table",  "to",      "open",   "window", "then",    "counts", "each",
    "lamp",    "along",  "harbour", "street", "before", "morning", "comes",  "again",
    "over",    "silver", "bridge",  "into",   "green",  "valley",  "near",   "station",
};
enum { WORDS = sizeof words / sizeof *words };

static const char *id_prefix(const struct dialect *d)
{
    if (d == &dialect_openai_completions || d == &dialect_llama_completion)
        return "cmpl-";
    if (d == &dialect_openai_responses)
        return "resp_";
    return d == &dialect_anthropic_messages ? "msg_" : "chatcmpl-";
}

/* Of these APIs all servers state their clock. */
static bool always_states_clock(const struct dialect *d)
{
    return d == &dialect_ollama_chat || d == &dialect_ollama_generate ||
           d == &dialect_llama_completion;
}

static void choose_usage(struct generation *x, bool asked)
{
    int when = x->profile->usage;
    x->reply.usage_with_finish = when == USAGE_WITH_FINISH || when == USAGE_WITH_FINISH_AND_ASKED;
    bool once = x->dialect == &dialect_openai_completions && x->profile->completions_one_usage;
    x->usage_event = x->dialect->put_usage != NULL && !once &&
                     (when == USAGE_ALWAYS || when == USAGE_IN_EVERY ||
                      (asked && (when == USAGE_ASKED || when == USAGE_WITH_FINISH_AND_ASKED)));
    if (when == USAGE_NEVER && x->stream && profile_is_openai(x->dialect))
        x->reply.usage.prompt = -1;
}

/* How this server's replies differ from others in the same dialect. */
static void choose_manners(struct generation *x)
{
    const struct profile *p = x->profile;
    struct dialect_reply *r = &x->reply;
    r->reasoning = p->thinking;
    r->role_in_finish = p->role_event == ROLE_IN_EVERY;
    r->role_alone = p->role_alone;
    r->finish_absent = p->finish_absent;
    r->delta_nulls = p->delta_nulls;
    r->usage_null = p->usage_null;
    r->usage_repeats = p->usage_repeats;
    r->usage_seconds = p->usage_seconds && profile_is_openai(x->dialect);
    r->usage_object = p->usage_object;
    r->timings_cached_n = p->timings_names == TIMINGS_MLX_SERVE && profile_is_openai(x->dialect);
    r->object = p->completions_object;
    r->end_mark = p->responses_done;
    r->output_count_only = p->anthropic_output_only;
    bool stops = x->dialect == &dialect_anthropic_messages && p->anthropic_says_stop;
    r->finish = p->says_stop || stops ? "stop" : "length";
}

/* Nothing of a prompt is ever cached. omlx does not say so of a reply that is no stream. */
static void choose_details(struct generation *x, int64_t output)
{
    const struct profile *p = x->profile;
    int64_t thinking = p->thinking_tokens < output ? p->thinking_tokens : output;
    int details = profile_is_openai(x->dialect) ? p->usage_details : DETAILS_REASONING;
    bool cached = details == DETAILS_CACHED || details == DETAILS_BOTH;
    if (cached && (x->stream || !p->usage_seconds))
        x->reply.usage.cached = 0;
    if (details == DETAILS_BOTH || (details == DETAILS_REASONING && thinking > 0))
        x->reply.usage.reasoning = thinking;
}

void generation_init(struct generation *x, const struct dialect_request *q, int64_t created_s)
{
    const struct profile *p = x->profile;
    int64_t output = x->job.output_tokens;
    buf_init(&x->event, LIMIT_DOCUMENT_BYTES); /* the last event may repeat all of the text */
    snprintf(x->id, sizeof x->id, "%s%016" PRIx64 "-%" PRIu64, id_prefix(x->dialect), x->seed,
             x->number);
    x->reply = (struct dialect_reply){
        .id = x->id,
        .model = p->model,
        .fingerprint = "tokaudit-serve-" TOKAUDIT_VERSION "-simulated",
        .created_s = created_s,
        .usage = {q->prompt_words, output, -1, -1},
    };
    choose_manners(x);
    choose_details(x, output);
    choose_usage(x, q->usage_asked);
}

void generation_done(struct generation *x)
{
    VEC_FREE(&x->made_ns);
    buf_done(&x->event);
    dialect_writing_done(&x->writing);
}

/* --- texts ---------------------------------------------------------------------------------- */

/* Words with a blank before each but the very first. */
static void add_words(const struct generation *x, struct buf *out, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        buf_printf(out, "%s%s", i > 0 ? " " : "", words[engine_mix(x->seed, (uint64_t)i) % WORDS]);
}

static enum delta_kind kind_of(const struct generation *x, int64_t index)
{
    return index < x->profile->thinking_tokens ? DELTA_REASONING : DELTA_TEXT;
}

/* An event carries tokens of one kind. */
int64_t generation_tokens(const struct generation *x)
{
    const struct profile *p = x->profile;
    if (x->told == x->job.output_tokens)
        return 0;
    int64_t n = p->delivery == DELIVERY_ONE_PIECE ? x->job.output_tokens
                : p->tokens_per_event > 1         ? p->tokens_per_event
                                                  : 1;
    int64_t end =
        kind_of(x, x->told) == DELTA_REASONING && p->thinking_tokens < x->job.output_tokens
            ? p->thinking_tokens
            : x->job.output_tokens;
    return n < end - x->told ? n : end - x->told;
}

/* --- events --------------------------------------------------------------------------------- */

void generation_begin(struct generation *x)
{
    buf_clear(&x->event);
    x->reply.role_in_every = x->profile->role_event == ROLE_IN_EVERY;
    x->dialect->put_begin(&x->event, &x->reply, &x->writing);
    x->reply.role_in_every |= x->profile->role_in_every;
}

/* Steps so far, over the time since the first token; the next one's due time is the end of the last
 * step, and the last token has no next. */
static double pace_of(const struct generation *x)
{
    const struct engine_job *job = &x->job;
    int64_t steps = job->made < job->output_tokens ? job->made : job->made - 1;
    return job->due_ns > job->first_ns
               ? (double)steps * NS_PER_S / (double)(job->due_ns - job->first_ns)
               : 0;
}

static void next_piece(struct generation *x)
{
    struct buf text;
    buf_init(&text, LIMIT_DOCUMENT_BYTES);
    add_words(x, &text, x->told, x->told + x->event_tokens);
    x->reply.usage_in_every = x->profile->usage == USAGE_IN_EVERY;
    if (x->reply.usage_in_every)
        x->reply.usage.completion = x->told + x->event_tokens;
    if (x->profile->timings_in_every)
        x->reply.pace = pace_of(x);
    struct dialect_part part = {kind_of(x, x->told), {buf_text(&text), text.n}};
    x->dialect->put_piece(&x->event, &x->reply, &x->writing, part);
    buf_done(&text);
}

/* A token's time is when it was made, however late its event leaves. */
static void state_time(struct generation *x)
{
    x->reply.at_ns =
        x->event_tokens > 0 ? x->made_ns.v[x->told + x->event_tokens - 1] : clock_real_ns();
    if (x->profile->created_per_event)
        x->reply.created_s = x->reply.at_ns / NS_PER_S;
    if (x->profile->completions_new_ids && x->dialect == &dialect_openai_completions)
        snprintf(x->id, sizeof x->id, "%s%08" PRIx32, id_prefix(x->dialect),
                 (uint32_t)engine_mix(x->seed ^ x->number, (uint64_t)(x->told + x->after)));
}

static bool has_end_mark(const struct generation *x)
{
    return x->dialect->put_done != NULL &&
           (x->dialect != &dialect_openai_responses || x->reply.end_mark);
}

bool generation_more(const struct generation *x)
{
    return x->told < x->job.output_tokens || x->after < 1 + x->usage_event + has_end_mark(x);
}

void generation_next(struct generation *x)
{
    const struct dialect *d = x->dialect;
    buf_clear(&x->event);
    x->event_tokens = generation_tokens(x);
    state_time(x);
    if (x->event_tokens > 0)
        next_piece(x);
    else if (x->after == 0)
        d->put_finish(&x->event, &x->reply, &x->writing);
    else if (x->after == 1 && x->usage_event)
        d->put_usage(&x->event, &x->reply, &x->writing);
    else
        d->put_done(&x->event, &x->reply, &x->writing);
}

void generation_clock(struct generation *x)
{
    const struct engine_job *job = &x->job;
    x->reply.at_ns = x->made_ns.v[x->made_ns.n - 1];
    if (!x->profile->timings && !x->profile->usage_seconds && !always_states_clock(x->dialect))
        return;
    double made_ms = (double)(job->due_ns - job->first_ns) / 1e6, n = (double)job->output_tokens;
    x->reply.timings = (struct server_timings){
        .prompt_n = (double)job->prompt_tokens,
        .prompt_ms = (double)(job->first_ns - job->start_ns) / 1e6,
        .predicted_n = n,
        .predicted_ms = made_ms,
        .predicted_per_second = made_ms > 0 ? 1000 * n / made_ms : 0,
    };
}

void generation_document(const struct generation *x, struct buf *out)
{
    struct dialect_part parts[2];
    struct buf texts[2];
    size_t n = 0;
    int64_t output = x->job.output_tokens, thinking = x->profile->thinking_tokens;
    thinking = thinking < output ? thinking : output;
    const int64_t edges[] = {0, thinking, output};
    for (size_t i = 0; i < 2; i++) {
        buf_init(&texts[i], LIMIT_DOCUMENT_BYTES);
        add_words(x, &texts[i], edges[i], edges[i + 1]);
        if (texts[i].n > 0)
            parts[n++] = (struct dialect_part){i == 0 ? DELTA_REASONING : DELTA_TEXT,
                                               {buf_text(&texts[i]), texts[i].n}};
    }
    x->dialect->put_document(out, &x->reply, parts, n);
    buf_done(&texts[0]);
    buf_done(&texts[1]);
}

/* --- silence -------------------------------------------------------------------------------- */

static void fill_in(struct buf *out, const char *line, const char *name, int64_t value,
                    const char **rest)
{
    const char *at = strstr(line, name);
    *rest = line;
    if (at == NULL)
        return;
    buf_printf(out, "%.*s%" PRId64, (int)(at - line), line, value);
    *rest = at + strlen(name);
}

bool generation_beats(const struct generation *x)
{
    return x->dialect == &dialect_openai_responses && x->profile->responses_heartbeat;
}

void generation_keepalive(struct generation *x, int64_t done, struct buf *out)
{
    const char *line = x->profile->keepalive;
    if (!x->stream) {
        buf_puts(out, " "); /* a JSON text may begin with blanks */
    } else if (x->dialect == &dialect_anthropic_messages) {
        x->dialect->put_ping(out);
    } else if (generation_beats(x)) {
        if (x->role_sent)
            openai_responses_put_progress(out, &x->reply, &x->writing);
    } else if (x->dialect->put_ping != NULL &&
               (line[0] == ':' || x->dialect == &dialect_openai_chat)) {
        fill_in(out, line, "{done}", done, &line);
        fill_in(out, line, "{total}", x->job.prompt_tokens, &line);
        buf_printf(out, "%s\n\n", line);
    }
}
