/* Whose the counts of a reply with several choices are. */
#include "analyze/choice_counts.h"

void choice_counts_done(struct choice_counts *c)
{
    VEC_FREE(&c->v);
    VEC_FREE(&c->sums);
}

/* NULL: nobody has so many. */
static struct choice_count *count_of(struct choice_counts *c, uint32_t choice)
{
    if (choice >= CHOICE_COUNTS_MAX)
        return NULL;
    while (c->v.n <= choice)
        VEC_PUSH(&c->v, ((struct choice_count){.prompt = -1, .completion = -1}));
    return &c->v.v[choice];
}

void choice_counts_text(struct choice_counts *c, uint32_t choice)
{
    struct choice_count *own = count_of(c, choice);
    if (own == NULL || own->spoke)
        return;
    own->spoke = true;
    c->speakers++;
    c->unstated += own->completion < 0;
}

void choice_counts_finish(struct choice_counts *c, uint32_t choice)
{
    c->finishes++;
    c->last_finish = choice;
}

/* What is far above all that a reply can have stays above it, and sums stay in range. */
static int64_t held(int64_t n)
{
    return n < UINT32_MAX ? n : UINT32_MAX;
}

static void state(struct choice_counts *c, struct choice_count *own, const struct usage *u)
{
    if (u->prompt >= 0)
        own->prompt = held(u->prompt);
    if (u->completion < 0)
        return;
    if (own->completion < 0) {
        c->stated++;
        c->unstated -= own->spoke;
        own->completion = 0;
    }
    c->sum += held(u->completion) - own->completion;
    own->completion = held(u->completion);
}

void choice_counts_own(struct choice_counts *c, uint32_t choice, const struct usage *u)
{
    struct choice_count *own = count_of(c, choice);
    c->own = true;
    if (own != NULL)
        state(c, own, u);
}

/* A count beside text, with that of the same choice before it and with that of another. */
static void compare(struct choice_counts *c, uint32_t choice, int64_t before, int64_t n)
{
    if (before > 0) {
        c->steps++;
        c->grew += n > before;
    }
    if (choice != c->last_choice && c->last > 0) {
        c->turns++;
        c->equal += n == c->last;
        c->fell += n < c->last;
    }
    c->last = n;
    c->last_choice = choice;
}

void choice_counts_beside(struct choice_counts *c, uint32_t choice, const struct usage *u,
                          bool text)
{
    struct choice_count *own = count_of(c, choice);
    if (own == NULL)
        return;
    if (text)
        compare(c, choice, own->completion, u->completion);
    state(c, own, u);
    c->beside++;
    c->finishes = 0;
}

void choice_counts_alone(struct choice_counts *c, const struct usage *u, bool several)
{
    struct choice_count *own = NULL;
    if (!several && c->finishes == 1)
        own = count_of(c, c->last_finish);
    c->alone++;
    c->finishes = 0;
    if (own == NULL) {
        c->total = held(u->completion);
        return;
    }
    c->behind++;
    if (c->beside == 0)
        state(c, own, u);
}

void choice_counts_event(struct choice_counts *c, size_t n, const int32_t *stated, size_t n_stated)
{
    if (c->v.n < 2 || c->beside == 0)
        return;
    for (size_t i = c->sums.n; i < n; i++)
        VEC_PUSH(&c->sums, i < n_stated ? stated[i] : -1);
    int64_t sum = choice_counts_completion(c);
    VEC_PUSH(&c->sums, sum < INT32_MAX ? (int32_t)sum : INT32_MAX);
}

int64_t choice_counts_completion(const struct choice_counts *c)
{
    return c->stated > 0 && c->unstated == 0 ? c->sum : -1;
}

int64_t choice_counts_prompt(const struct choice_counts *c, size_t choices_of_prompt)
{
    int64_t sum = -1;
    for (size_t first = 0; first < c->v.n; first += choices_of_prompt) {
        int64_t prompt = -1;
        bool spoke = false;
        for (size_t i = first; i < c->v.n && i - first < choices_of_prompt; i++) {
            const struct choice_count *x = &c->v.v[i];
            prompt = prompt >= 0 ? prompt : x->prompt;
            spoke |= x->spoke;
        }
        if (spoke && prompt < 0)
            return -1;
        if (prompt >= 0)
            sum = (sum < 0 ? 0 : sum) + prompt;
    }
    return sum;
}

/* Most tokens have an event of their own, and few events less than one. */
static bool is_of(int64_t n, size_t events)
{
    return n >= 0 && (double)n >= 0.9 * (double)events && (double)n <= 1.1 * (double)events + 2;
}

/* A sum so far grows with each text, whoever says it, and never falls. */
enum choice_reading choice_counts_read(const struct choice_counts *c, size_t events, int64_t last)
{
    if (c->speakers < 2)
        return CHOICES_ALL;
    if (c->own)
        return CHOICES_EACH;
    if (c->steps > 0 && c->turns > 0) {
        bool apart = c->fell > 0 || 4 * c->equal >= c->turns;
        return apart && 4 * c->grew >= 3 * c->steps ? CHOICES_EACH : CHOICES_ALL;
    }
    bool finished_each = c->beside > 0 ? c->total == 0 : c->alone > 0 && c->alone == c->behind;
    if (!finished_each)
        return CHOICES_ALL;
    bool all = is_of(last, events), each = is_of(choice_counts_completion(c), events);
    return all == each ? CHOICES_UNKNOWN : all ? CHOICES_ALL : CHOICES_EACH;
}
