/* The limit of open files, raised where the system allows. */
#include "replay/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { LOOKED_AT = 1024, SPARE_DESCRIPTORS = 64 };
enum { OWN_DESCRIPTORS = 5 }; /* of a run: the trace, the loop (2) and its signals (2) */

/* Those that are open now. */
static size_t open_now(size_t most)
{
    size_t n = 0;
    for (size_t fd = 0; fd < most && fd < LOOKED_AT; fd++)
        n += fcntl((int)fd, F_GETFD) != -1;
    return n;
}

int descriptors_raise(size_t at_once, struct err *e)
{
    static const rlim_t wanted[] = {65536,
                                    10240}; /* macOS allows the second where the first is refused */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return TA_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && limit.rlim_cur < wanted[i]; i++) {
        struct rlimit more = {.rlim_cur = wanted[i], .rlim_max = limit.rlim_max};
        if (more.rlim_cur > more.rlim_max)
            more.rlim_cur = more.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &more) == 0)
            limit = more;
    }
    size_t own = open_now(limit.rlim_cur) + OWN_DESCRIPTORS;
    if (at_once + own > limit.rlim_cur)
        return err_set(
            e, TA_ESYS,
            "%zu request%s at once need%s as many descriptors, besides %zu for all else, and this "
            "process may have %llu: ulimit -n %zu",
            at_once, at_once == 1 ? "" : "s", at_once == 1 ? "s" : "", own,
            (unsigned long long)limit.rlim_cur, at_once + SPARE_DESCRIPTORS);
    return TA_OK;
}
