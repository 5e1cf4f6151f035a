/* The limit of open files, raised where the system allows. */
#include "replay/descriptors.h"

#include <sys/resource.h>

enum { SPARE_DESCRIPTORS = 64 };

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
    if (at_once + SPARE_DESCRIPTORS > limit.rlim_cur)
        return err_set(
            e, TA_ESYS,
            "%zu requests at once need as many descriptors, and this process may have %llu: "
            "ulimit -n %zu",
            at_once, (unsigned long long)limit.rlim_cur, at_once + SPARE_DESCRIPTORS);
    return TA_OK;
}
