/* Gaps of all streams: as doubles, in an array that is sorted, they would be a third of what an
 * analysis needs of memory. */
#include "analyze/gaps.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

void gaps_begin(struct gaps *g, size_t most)
{
    *g = (struct gaps){.v = mem_array(most + 1, sizeof *g->v)};
}

void gaps_free(struct gaps *g)
{
    free(g->v);
    VEC_FREE(&g->far);
}

void gaps_add(struct gaps *g, int64_t ns)
{
    if (ns >= 0 && ns <= UINT32_MAX)
        g->v[g->n++] = (uint32_t)ns;
    else
        VEC_PUSH(&g->far, ns);
}

size_t gaps_count(const struct gaps *g)
{
    return g->n + g->far.n;
}

/* --- in order --------------------------------------------------------------------------------- */

enum { FEW = 32, DIGITS = 256, DIGIT_BITS = 8 };

static void sort_few(uint32_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint32_t moved = v[i];
        size_t k = i;
        for (; k > 0 && v[k - 1] > moved; k--)
            v[k] = v[k - 1];
        v[k] = moved;
    }
}

/* Each to its place by the byte at shift (stat_sort has the same of doubles). stop[d]: where those
 * with the byte d end. */
static void deal(uint32_t *v, size_t n, unsigned shift, size_t stop[DIGITS])
{
    size_t next[DIGITS] = {0};
    for (size_t i = 0; i < n; i++)
        next[(v[i] >> shift) % DIGITS]++;
    for (size_t d = 0, at = 0; d < DIGITS; d++) {
        stop[d] = at + next[d];
        next[d] = at;
        at = stop[d];
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        while (next[d] < stop[d]) {
            uint32_t moved = v[next[d]];
            for (unsigned to; (to = (moved >> shift) % DIGITS) != d;) {
                uint32_t other = v[next[to]];
                v[next[to]++] = moved;
                moved = other;
            }
            v[next[d]++] = moved;
        }
    }
}

static void sort_from(uint32_t *v, size_t n, unsigned shift)
{
    if (n <= FEW) {
        sort_few(v, n);
        return;
    }
    size_t stop[DIGITS];
    deal(v, n, shift, stop);
    for (size_t d = 0, at = 0; shift > 0 && d < DIGITS; at = stop[d++]) {
        if (stop[d] - at > 1)
            sort_from(v + at, stop[d] - at, shift - DIGIT_BITS);
    }
}

void gaps_sort(struct gaps *g)
{
    sort_from(g->v, g->n, 32 - DIGIT_BITS);
    stat_sort_ns(g->far.v, g->far.n);
}

/* --- figures ---------------------------------------------------------------------------------- */

/* Those that go back in time stand before all others. */
static size_t backward(const struct gaps *g)
{
    size_t n = 0;
    while (n < g->far.n && g->far.v[n] < 0)
        n++;
    return n;
}

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

double gaps_at(const struct gaps *g, size_t i)
{
    size_t before = backward(g);
    if (i < before)
        return seconds(g->far.v[i]);
    return seconds(i - before < g->n ? g->v[i - before] : g->far.v[i - g->n]);
}

double gaps_percentile(const struct gaps *g, enum percentile_method m, double p)
{
    struct stat_place x = stat_place(m, gaps_count(g), p);
    double low = gaps_at(g, x.at);
    return x.part > 0 ? low + x.part * (gaps_at(g, x.at + 1) - low) : low;
}

static double term(int64_t ns, double mean, bool squared)
{
    double off = seconds(ns) - mean;
    return squared ? off * off : off;
}

/* A sum of doubles depends on its order: that of stat_mean over the sorted values. */
static double sum(const struct gaps *g, double mean, bool squared)
{
    size_t before = backward(g);
    double all = 0;
    for (size_t i = 0; i < before; i++)
        all += term(g->far.v[i], mean, squared);
    for (size_t i = 0; i < g->n; i++)
        all += term(g->v[i], mean, squared);
    for (size_t i = before; i < g->far.n; i++)
        all += term(g->far.v[i], mean, squared);
    return all;
}

double gaps_mean(const struct gaps *g)
{
    return sum(g, 0, false) / (double)gaps_count(g);
}

double gaps_std(const struct gaps *g)
{
    size_t n = gaps_count(g);
    return n < 2 ? NAN : sqrt(sum(g, gaps_mean(g), true) / (double)(n - 1));
}
