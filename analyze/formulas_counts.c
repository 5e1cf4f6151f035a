/* What is taken for tokens: counts of one request, and counts over a whole scope. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics.h"
#include "traces/base/mem.h"

static double known(int64_t n)
{
    return n < 0 ? NAN : (double)n;
}

static double choices_of(const struct request *r)
{
    double n = r->asked.choices > 1 ? (double)r->asked.choices : 1;
    return r->choices_seen > n ? (double)r->choices_seen : n;
}

/* "p4096", "4k", "ISL 4096": a number that may be meant as the length of this prompt. */
static double label_of(const struct request *r)
{
    enum { LABEL_MIN = 16, LABEL_MARGIN = 4 };
    const char *p = r->name != NULL ? r->name : "";
    while (*p != '\0' && (*p < '0' || *p > '9'))
        p++;
    char *end;
    double n = *p != '\0' ? strtod(p, &end) : 0, prompt = (double)r->usage.prompt;
    if (*p != '\0' && (*end == 'k' || *end == 'K'))
        n *= 1000;
    return n >= LABEL_MIN && n * LABEL_MARGIN >= prompt && n <= prompt * LABEL_MARGIN ? n : NAN;
}

static double power_of(int64_t n)
{
    double power = 16;
    while (power < (double)n)
        power *= 2;
    return n >= 16 && power > (double)n ? power : NAN;
}

/* A sum of two of which none may be missing. */
static double both(int64_t a, double b)
{
    return a < 0 ? NAN : (double)a + b;
}

/* Thinking that N leaves out. */
static double beside(const struct request *r)
{
    int64_t sent = metrics_uncounted(r), all = metrics_beside(r);
    return (double)(sent > all ? sent : all);
}

static double count_of_text(const struct request *r, enum count c)
{
    const struct recount_apart *apart = r->apart;
    bool marked = apart != NULL && apart->around > 0;
    double chars = r->text.chars > 0 ? (double)r->text.chars : NAN;
    switch (c) {
    case COUNT_CHARS:
        return chars;
    case COUNT_UTF16:
        return r->text.utf16 > 0 ? (double)r->text.utf16 : NAN;
    case COUNT_QUARTER:
        return floor(chars / 4);
    case COUNT_QUARTER_UP:
        return ceil(chars / 4);
    case COUNT_WORDS:
        return r->text.words > 0 ? (double)r->text.words : NAN;
    case COUNT_CONTENT_EVENTS:
        return r->out.n > 0 ? (double)r->content_events : NAN;
    case COUNT_CONTENT_TEXT:
        return apart != NULL ? (double)apart->content : NAN;
    case COUNT_TEXT:
        return known(r->recounted);
    case COUNT_TEXT_MARKED:
        return marked ? both(r->recounted, (double)apart->around) : NAN;
    case COUNT_PIECES:
        return apart != NULL ? (double)apart->pieces : NAN;
    case COUNT_PIECES_MARKED:
        return marked ? (double)(apart->pieces + apart->around * apart->times) : NAN;
    case COUNT_PIECES_PREFIXED:
        return apart != NULL ? (double)apart->prefixed : NAN;
    default:
        return NAN;
    }
}

/* Events of a stream, those without text included; NAN where there are no such. */
static double count_of_events(const struct request *r, enum count c)
{
    uint32_t m = (uint32_t)r->out.n, n = r->events;
    if (c == COUNT_EVENTS_AND_ONE)
        n = r->choice_events > m ? m + 1 : m;
    else if (c == COUNT_EVENTS_CHOICES)
        n = r->choice_events;
    else if (c == COUNT_EVENTS_DATA && r->done_ns >= 0)
        n -= n > 0;
    return r->stream_reply && m > 0 && n > m ? (double)n : NAN;
}

double formula_count_else(const struct request *r, enum count c)
{
    int64_t n = request_tokens(r), p = r->usage.prompt;
    double reasoning = r->usage.reasoning > 0 ? (double)r->usage.reasoning : 0;
    if ((c & COUNT_LESS_ONE) != 0) {
        double all = formula_count(r, (enum count)(c - COUNT_LESS_ONE));
        return all > 1 ? all - 1 : NAN;
    }
    switch (c) {
    case COUNT_EVENTS_AND_ONE:
    case COUNT_EVENTS_CHOICES:
    case COUNT_EVENTS_DATA:
    case COUNT_EVENTS_ALL:
        return count_of_events(r, c);
    case COUNT_N_LESS_R:
        return (double)n >= reasoning ? (double)n - reasoning : NAN;
    case COUNT_N_AND_BESIDE:
        return both(n, beside(r));
    case COUNT_N_AND_R:
        return both(n, reasoning);
    case COUNT_N_AND_EVENTS:
        return both(n, (double)r->out.n);
    case COUNT_STATED_LAST:
        return known(r->stated_last >= 0 ? r->stated_last : n);
    case COUNT_PROMPT_SUM:
        return r->prompt_sum > 0 ? (double)r->prompt_sum : NAN;
    case COUNT_N_TIMES:
        return both(n, 0) * choices_of(r);
    case COUNT_N_SHARE:
        return both(n, 0) / choices_of(r);
    case COUNT_P_TIMES:
        return both(p, 0) * choices_of(r);
    case COUNT_FIRST_CHOICE:
        return r->out.n > 0 ? (double)r->first_choice_events : NAN;
    case COUNT_P_EVALUATED:
        return r->timings.prompt_n;
    case COUNT_P_LABEL:
        return label_of(r);
    case COUNT_P_POWER:
        return power_of(p);
    case COUNT_P_WORDS:
        return r->asked.prompt_words > 0 ? (double)r->asked.prompt_words : NAN;
    default:
        return count_of_text(r, c);
    }
}

/* --- over a scope ------------------------------------------------------------------------- */

static void push(struct estimates *out, double value, bool sign)
{
    estimates_add(out, (struct estimate){value, interval_exact(value), NULL, sign});
}

/* n over the time from the first request to the last end. */
static void push_rate(const struct scope *s, double n, bool sign, struct estimates *out)
{
    int64_t from, to;
    scope_ends(s, &from, &to);
    estimates_add_rate(out, s, n, from, to, sign);
}

/* No count was stated, and none is taken for no tokens. */
void formula_nothing_counted(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (formula_counts(s, r) && r->out.n > 0)
            estimates_add_zero(out, r);
    }
}

/* There is text, and none of it is content. */
void formula_no_content(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (formula_counts(s, r) && r->out.n > 0 && r->content_events == 0)
            estimates_add_zero(out, r);
    }
}

/* What becomes of an answer that is a call of a tool alone, where content is looked for. */
enum no_content { LEFT_OUT, AS_ZERO, AS_ITS_END };

/* Is it a call of a tool, and nothing else is said? */
static bool calls_alone(const struct request *r)
{
    return r->out.n > 0 && r->tool_bytes > 0 && r->content_events == 0;
}

static bool any_calls_alone(const struct scope *s)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        if (formula_counts(s, scope_nth(s, i)) && calls_alone(scope_nth(s, i)))
            return true;
    }
    return false;
}

static void content_waits(const struct scope *s, enum no_content without, struct estimates *out)
{
    bool any = any_calls_alone(s);
    for (size_t i = 0; i < s->requests.n && any; i++) {
        const struct request *r = scope_nth(s, i);
        if (!scope_times(s, r))
            continue;
        if (r->content_ns >= 0)
            estimates_add_time(out, s, r, r->t0, r->content_ns, true);
        else if (without == AS_ITS_END)
            estimates_add_time(out, s, r, r->t0, r->z, true);
        else if (without == AS_ZERO)
            estimates_add_zero(out, r);
    }
}

void formula_content_ttft(const struct scope *s, struct estimates *out)
{
    content_waits(s, LEFT_OUT, out);
}

void formula_content_ttft_zeros(const struct scope *s, struct estimates *out)
{
    content_waits(s, AS_ZERO, out);
}

void formula_content_ttft_ends(const struct scope *s, struct estimates *out)
{
    content_waits(s, AS_ITS_END, out);
}

void formula_content_rate(const struct scope *s, struct estimates *out)
{
    bool any = any_calls_alone(s);
    for (size_t i = 0; i < s->requests.n && any; i++) {
        const struct request *r = scope_nth(s, i);
        double n = (double)r->content_events;
        if (!scope_times(s, r) || r->z <= r->t0)
            continue;
        if (calls_alone(r))
            estimates_add_zero(out, r);
        else
            estimates_add(
                out, (struct estimate){n / span_seconds(r->t0, r->z),
                                       interval_div(interval_exact(n), span_length(s, r->t0, r->z)),
                                       r, true});
    }
}

/* By body; the largest count of a body first. */
static int by_body(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a;
    const struct request *y = *(const struct request *const *)b;
    int order = strcmp(x->body_sha256, y->body_sha256);
    return order != 0 ? order
                      : (x->usage.prompt < y->usage.prompt) - (x->usage.prompt > y->usage.prompt);
}

static bool is_unstated(const struct scope *s, const struct request *r, enum count count)
{
    return formula_counts(s, r) && r->out.n > 0 && isnan(formula_count(r, count));
}

/* The same body is the same prompt, to the same model. */
static void add_prompts_of_bodies(const struct scope *s, struct estimates *out)
{
    const struct request **v = mem_array(s->requests.n + 1, sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        if (formula_counts(s, scope_nth(s, i)) && scope_nth(s, i)->body_sha256 != NULL)
            v[n++] = scope_nth(s, i);
    }
    qsort(v, n, sizeof *v, by_body);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (strcmp(v[i]->body_sha256, v[first]->body_sha256) != 0)
            first = i;
        if (v[first]->usage.prompt < 0 || !is_unstated(s, v[i], COUNT_P))
            continue;
        out->unstated.sum += (double)v[first]->usage.prompt;
        out->unstated.unknown--;
    }
    free(v);
}

void formula_unstated(const struct scope *s, enum count count, struct estimates *out)
{
    bool asked = (count == COUNT_P || count == COUNT_N || count == COUNT_N_AND_BESIDE) && !s->one &&
                 !s->as_tool;
    size_t before = out->unstated.n;
    for (size_t i = 0; i < s->requests.n && asked; i++)
        out->unstated.n += is_unstated(s, scope_nth(s, i), count);
    out->unstated.unknown += out->unstated.n - before;
    if (out->unstated.n > before && count == COUNT_P)
        add_prompts_of_bodies(s, out);
}

/* The count of each reply that states one, and 0 for the others. */
static void stated_or_zero(const struct scope *s, enum count count, struct estimates *out)
{
    size_t stated = 0, before = out->all.n;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double n = formula_count(r, count);
        if (!formula_counts(s, r) || r->out.n == 0)
            continue;
        if (isnan(n))
            n = 0;
        else
            stated++;
        estimates_add(out, (struct estimate){n, interval_exact(n), r, true});
    }
    if (stated == 0 || stated == out->all.n - before)
        out->all.n = before;
}

void formula_input_zeros(const struct scope *s, struct estimates *out)
{
    stated_or_zero(s, COUNT_P, out);
}

void formula_output_zeros(const struct scope *s, struct estimates *out)
{
    stated_or_zero(s, COUNT_N, out);
}

void formula_output_tps_zeros(const struct scope *s, struct estimates *out)
{
    struct estimates all = {0};
    double n = 0;
    stated_or_zero(s, COUNT_N, &all);
    for (size_t i = 0; i < all.all.n; i++)
        n += all.all.v[i].value;
    estimates_free(&all);
    push_rate(s, n, true, out);
}

/* Each of the n answers of a request counted as a request. */
static double choices_in(const struct scope *s, bool *sign)
{
    double n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        n += r->dialect != NULL ? choices_of(r) : 0;
        *sign |= r->dialect != NULL && choices_of(r) > 1;
    }
    return n;
}

void formula_choices(const struct scope *s, struct estimates *out)
{
    bool sign = false;
    double n = choices_in(s, &sign);
    if (sign)
        push(out, n, true);
}

void formula_choice_rate(const struct scope *s, struct estimates *out)
{
    bool sign = false;
    double n = choices_in(s, &sign);
    if (sign)
        push_rate(s, n, true, out);
}

/* Does an answer go on in another call? It ends with a call of a tool, and the next request of the
 * same model is sent once it has ended. */
static bool goes_on(const struct scope *s, size_t i)
{
    const struct request *r = scope_nth(s, i);
    if (r->tool_bytes == 0 || r->z < 0)
        return false;
    for (size_t k = i + 1; k < s->requests.n; k++) {
        const struct request *next = scope_nth(s, k);
        if (next->trace != r->trace || next->dialect == NULL)
            continue;
        if (next->t0 >= r->z)
            return model_same_text(next->model, r->model) &&
                   next->asked.prompt_words > r->asked.prompt_words;
    }
    return false;
}

/* Tokens of the last calls alone; NAN: no answer took several. */
static double last_calls(const struct scope *s)
{
    double n = 0;
    bool several = false;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        bool on = formula_counts(s, r) && goes_on(s, i);
        several |= on;
        if (formula_counts(s, r) && !on)
            n += formula_count(r, COUNT_N);
    }
    return several ? n : NAN;
}

void formula_last_calls(const struct scope *s, struct estimates *out)
{
    double n = last_calls(s);
    if (n > 0)
        push(out, n, true);
}

void formula_last_calls_rate(const struct scope *s, struct estimates *out)
{
    push_rate(s, last_calls(s), true, out);
}

/* The server's own figure of its prefill. */
void formula_stated_prompt_rate(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double rate = r->timings.prompt_n / (r->timings.prompt_ms / 1000);
        if (formula_counts(s, r) && isfinite(rate) && rate > 0)
            estimates_add(out, (struct estimate){rate, interval_exact(rate), r, false});
    }
}
