/* What replay's command line says about files of other tools, in and out (replay/formats.h,
 * replay/export.h). */
#ifndef REPLAY_FOREIGN_H
#define REPLAY_FOREIGN_H

#include <stdbool.h>

#include "replay/export.h"
#include "replay/formats.h"

struct foreign {
    /* Options. */
    const char *format, *time_unit, *extra, *export;
    bool barrier_ties;

    enum export_format export_format;
    struct json *extra_json;
};

/* Reads what the options say; TA_EUSAGE. To be freed in any case. */
int foreign_check(struct foreign *f, struct err *e) TA_NODISCARD;
void foreign_free(struct foreign *f);

/* Are no bodies needed that would be made? Then no model is either. */
bool foreign_wants_lengths(const struct foreign *f);

/* Reads in, a file of another tool, into *out, and says on stderr what was taken for what. o: what
 * other options say; those of f are added. */
int foreign_read(const struct foreign *f, struct formats *in, struct plan *out,
                 struct formats_options o, struct err *e) TA_NODISCARD;

/* Writes the plan to path (NULL or "-": stdout), or what --export makes of it, and says on stderr
 * what that loses. */
int foreign_write(const struct foreign *f, const struct plan *p, const char *path, struct err *e)
    TA_NODISCARD;

#endif
