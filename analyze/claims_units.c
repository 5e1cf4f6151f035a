#include "analyze/claims_units.h"

#include <string.h>

#include "analyze/claims.h"

bool claims_unit_seconds(struct slice unit, double *scale)
{
    static const struct {
        const char *name;
        double scale;
    } units[] = {{"ms", 1e-3},
                 {"us", 1e-6},
                 {"ns", 1e-9},
                 {"s", 1},
                 {"sec", 1},
                 {"second", 1},
                 {"seconds", 1},
                 {"min", 60},
                 {"minutes", 60},
                 {"h", 3600},
                 {"hour", 3600},
                 {"hours", 3600},
                 {"millisecond", 1e-3},
                 {"milliseconds", 1e-3},
                 {"μs", 1e-6},
                 {"microseconds", 1e-6},
                 {"nanoseconds", 1e-9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (slice_is(unit, units[i].name)) {
            *scale = units[i].scale;
            return true;
        }
    }
    return false;
}

static bool is_time(enum figure_id id)
{
    return (id >= F_TTFR && id <= F_GAP) || id == F_DURATION;
}

static bool is_rate(enum figure_id id)
{
    return id == F_USER_TPS || id == F_WHOLE_TPS || (id >= F_OUTPUT_TPS && id <= F_PEAK_TPS);
}

/* Rates are in something a second; what counts are called is no matter. */
bool claims_unit_known(enum figure_id id, struct slice unit)
{
    double scale;
    if (is_time(id))
        return claims_unit_seconds(unit, &scale);
    const char *per = is_rate(id) && unit.n > 0 ? memchr(unit.p, '/', unit.n) : NULL;
    return per == NULL || (per + 1 < unit.p + unit.n && per[1] == 's');
}

bool claims_number_beyond(struct slice text)
{
    double v, half;
    size_t at = text.n > 0 && (text.p[0] == '-' || text.p[0] == '+') ? 1 : 0;
    if (at >= text.n)
        return false;
    bool infinite = text.p[at] == 'I' || text.p[at] == 'i';
    bool digit = text.p[at] >= '0' && text.p[at] <= '9';
    return infinite || (digit && !claim_number(text, &v, &half));
}
