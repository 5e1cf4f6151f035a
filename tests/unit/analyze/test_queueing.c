/* Serial queues, with and without a decode rate: named where each answer waits for the end of the
 * one before, and not where it was its own prompt, the reading of others' or the text's length. */
#include "tests/unit/analyze/finding_test.h"

/* What one request of a scene takes, in s after its group was released, or after the last was sent.
 */
struct turn {
    double at, first, last;
    int64_t prompt, tokens;
    bool whole; /* its text comes in one piece, at last */
};

static void put(struct audit *a, double t, struct turn x)
{
    double first = x.whole ? x.last : x.first;
    scene_add(a, (struct act){.t0 = t + x.at,
                              .first = t + first,
                              .last = t + x.last,
                              .events = x.whole ? 1 : (size_t)x.tokens,
                              .tokens = x.tokens,
                              .prompt = x.prompt,
                              .no_stream = x.whole});
}

static void judged(struct audit *a, const struct audit_options *o, bool named, const char *what)
{
    finding_all(a, o);
    const struct finding *x = finding_look(a, "server.serial-queue");
    if ((x != NULL) != named)
        fail_msg("%s: the queue is %s%s", what, x != NULL ? "wrong: " : "missing",
                 x != NULL ? x->detail : "");
    if (named)
        assert_true(finding_needs(a, "server.serial-queue")->evidence.n >= 2);
    audit_free(a);
}

/* The same turns so many times, a minute apart. */
static void groups(size_t times, const struct turn *v, size_t n, bool named, const char *what)
{
    struct audit a = {0};
    made_trace(&a);
    for (size_t g = 0; g < times; g++) {
        for (size_t i = 0; i < n; i++)
            put(&a, 60 * (double)g, v[i]);
    }
    judged(&a, &audit_defaults, named, what);
}
#define STREAM(...)                                                                                \
    (struct turn)                                                                                  \
    {                                                                                              \
        __VA_ARGS__, false                                                                         \
    }
#define WHOLE(at, last, prompt, tokens)                                                            \
    (struct turn)                                                                                  \
    {                                                                                              \
        at, 0, last, prompt, tokens, true                                                          \
    }
#define GROUPS(times, named, what, ...)                                                            \
    groups(times, (struct turn[]){__VA_ARGS__},                                                    \
           sizeof(struct turn[]){__VA_ARGS__} / sizeof(struct turn), named, what)

static void streams_one_after_the_other(void **state)
{
    (void)state;
    GROUPS(5, true, "pairs", STREAM(0, 0.1, 0.5, 46, 40), STREAM(0.001, 0.6, 1.0, 46, 40));
    GROUPS(5, true, "the one sent last comes first", STREAM(0, 0.6, 1.0, 46, 40),
           STREAM(0.001, 0.1, 0.5, 46, 40));
    GROUPS(5, true, "unlike answers", STREAM(0, 0.1, 0.5, 46, 40),
           STREAM(0.001, 0.6, 1.9, 46, 130));
    GROUPS(1, true, "one large group", STREAM(0, 0.1, 0.5, 46, 40), STREAM(0.001, 0.6, 1.0, 47, 40),
           STREAM(0.002, 1.1, 1.5, 45, 40), STREAM(0.003, 1.6, 2.0, 46, 40));
    GROUPS(2, false, "two pairs are few", STREAM(0, 0.1, 0.5, 46, 40),
           STREAM(0.001, 0.6, 1.0, 46, 40));
}

static void streams_that_only_look_like_it(void **state)
{
    (void)state;
    GROUPS(5, false, "a short reply beside a long prompt", STREAM(0, 0.05, 0.16, 50, 12),
           STREAM(0.001, 0.501, 0.9, 1900, 40));
    GROUPS(5, false, "each with a longer prompt", STREAM(0, 0.1, 0.28, 60, 10),
           STREAM(0, 0.35, 0.53, 660, 10), STREAM(0, 0.6, 0.78, 1260, 10),
           STREAM(0, 0.85, 1.03, 1860, 10));
    GROUPS(5, false, "prompts read one after the other, answers written together",
           STREAM(0, 1, 1.3, 2000, 30), STREAM(0, 2, 2.3, 2000, 30), STREAM(0, 3, 3.3, 2000, 30));
    GROUPS(5, false, "the same, of which writing takes longer", STREAM(0, 1, 1.9, 2000, 30),
           STREAM(0, 2, 2.9, 2000, 30), STREAM(0, 3, 3.9, 2000, 30));
    GROUPS(5, false, "two at a time", STREAM(0, 0.1, 0.5, 46, 40), STREAM(0, 0.11, 0.51, 46, 40),
           STREAM(0, 0.6, 1.0, 46, 40), STREAM(0, 0.61, 1.01, 46, 40));
    GROUPS(5, false, "a cached prompt beside a new one of its length",
           STREAM(0, 0.05, 0.3, 2000, 30), STREAM(0, 0.5, 0.75, 2000, 30));
    GROUPS(5, false, "degradation", STREAM(0, 0.2, 1.0, 46, 40), STREAM(0.001, 0.21, 1.01, 46, 40));
}

static void answers_in_one_piece(void **state)
{
    (void)state;
    GROUPS(5, true, "five pairs behind a lock", WHOLE(0, 0.5, 46, 20), WHOLE(0.001, 1.0, 46, 20));
    GROUPS(1, true, "four at once", WHOLE(0, 0.5, 46, 20), WHOLE(0, 1.0, 46, 20),
           WHOLE(0, 1.5, 46, 20), WHOLE(0, 2.0, 46, 20));
    GROUPS(5, false, "at once, at half the rate", WHOLE(0, 1.0, 46, 20),
           WHOLE(0.001, 1.01, 46, 20));
    GROUPS(5, false, "twice the text", WHOLE(0, 0.5, 46, 20), WHOLE(0.001, 1.0, 46, 40));
    GROUPS(5, false, "twice the prompt", WHOLE(0, 0.5, 46, 20), WHOLE(0.001, 1.0, 92, 20));
    GROUPS(5, false, "long prompts, which may be read one after the other", WHOLE(0, 2.0, 4000, 20),
           WHOLE(0, 4.0, 4000, 20));
    GROUPS(5, false, "half as late again", WHOLE(0, 0.5, 46, 20), WHOLE(0.001, 0.75, 46, 20));
    GROUPS(5, false, "twice in one of two", WHOLE(0, 0.5, 46, 20), WHOLE(0.001, 0.51, 46, 20),
           WHOLE(0.001, 1.0, 46, 20));
}

/* Pairs of 100 to 53,000 prompt tokens, 2000 of which are read in a second, and 256 tokens at 60/s,
 * as one piece. Served one after the other, or read so and written together. */
static void lengths(bool serial, bool whole)
{
    static const int64_t prompts[] = {100, 1000, 2000, 4000, 8000, 16000, 32000, 53000};
    struct audit a = {0};
    made_trace(&a);
    for (size_t i = 0; i < 8; i++) {
        double reads = (double)prompts[i] / 2000, writes = 256 / 60.0, t = 200 * (double)i;
        double late = serial ? reads + writes : reads;
        put(&a, t, (struct turn){0, reads, reads + writes, prompts[i], 256, whole});
        put(&a, t,
            (struct turn){0.0005, late + reads, late + reads + writes, prompts[i], 256, whole});
    }
    judged(&a, &audit_defaults, serial, whole ? "lengths, whole" : "lengths, streams");
}

static void pairs_of_many_lengths(void **state)
{
    (void)state;
    lengths(true, false);
    lengths(true, true);
    lengths(false, false);
    lengths(false, true);
}

/* One pair, and before it lone requests like those. */
static void beside_lone_ones(size_t lone, double first, double last, int64_t prompt, bool named,
                             const char *what)
{
    struct audit a = {0};
    made_trace(&a);
    for (size_t i = 0; i < lone; i++)
        put(&a, 10 * (double)i, (struct turn){0, first, last, prompt, 40, false});
    put(&a, 100, (struct turn){0, 0.026, 1.012, 7, 40, false});
    put(&a, 100, (struct turn){0.001, 1.038, 2.024, 7, 40, false});
    judged(&a, &audit_defaults, named, what);
}

static void one_pair_needs_lone_ones(void **state)
{
    (void)state;
    beside_lone_ones(0, 0, 0, 0, false, "a pair");
    beside_lone_ones(1, 0.03, 1.01, 7, false, "a pair and one");
    beside_lone_ones(2, 0.03, 1.01, 7, true, "a pair and two");
    beside_lone_ones(2, 0.03, 1.01, 700, false, "a pair and two with other prompts");
    beside_lone_ones(4, 1.03, 2.01, 7, false, "a pair, and lone ones that are as late");
}

/* Sent one by one, whether or not the one before is through. */
static void arriving(size_t n, double every, double first, double last, bool serial,
                     const struct audit_options *o, bool named, const char *what)
{
    struct audit a = {0};
    made_trace(&a);
    for (size_t i = 0; i < n; i++) {
        double t = every * (double)i, late = serial ? (last - every) * (double)i : 0;
        put(&a, t, (struct turn){0, late + first, late + last, 400, 20, false});
    }
    judged(&a, o, named, what);
}

static void arrivals(void **state)
{
    (void)state;
    struct audit_options o = audit_defaults;
    arriving(8, 0.35, 0.6, 0.69, false, &o, false, "constant times to the text");
    arriving(8, 0.28, 0.5, 0.74, false, &o, false, "constant times, longer answers");
    arriving(8, 0.35, 0.1, 0.69, true, &o, true, "a queue that grows");
    o.serial_share = 1.01;
    arriving(8, 0.35, 0.1, 0.69, true, &o, false, "the threshold is an option");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_one_after_the_other),
        cmocka_unit_test(streams_that_only_look_like_it),
        cmocka_unit_test(answers_in_one_piece),
        cmocka_unit_test(pairs_of_many_lengths),
        cmocka_unit_test(one_pair_needs_lone_ones),
        cmocka_unit_test(arrivals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
