/* Real and monotonic time in nanoseconds. */
#include "traces/base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t clock_real_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

struct clock_pair clock_pair_take(void)
{
    struct clock_pair best = {0};
    for (int i = 0; i < 5; i++) {
        int64_t before = clock_real_ns();
        int64_t mono = clock_mono_ns();
        int64_t after = clock_real_ns();
        if (i == 0 || after - before < best.width_ns)
            best = (struct clock_pair){before + (after - before) / 2, mono, after - before};
    }
    return best;
}

void clock_utc(int64_t real_ns, char out[32])
{
    time_t s = (time_t)(real_ns / NS_PER_S);
    struct tm tm;
    gmtime_r(&s, &tm);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
