/* The files of one trace: one, or those parts of a rotation that follow each other. */
#ifndef ANALYZE_LOAD_FILES_H
#define ANALYZE_LOAD_FILES_H

#include "analyze/model.h"

/* All but used and reader is the caller's, and outlives the reading. */
struct load_files {
    char *const *paths; /* that may belong to the trace, the first of them does */
    size_t n_paths;
    struct trace_info *info; /* gets files, part and health */
    struct arena *texts;
    size_t used;           /* so many of the paths */
    struct reader *reader; /* of the last of them; NULL behind load_files_end */
};

/* Opens the first; as reader_open. */
int load_files_open(struct load_files *f, struct err *e) TA_NODISCARD;

/* A reader of the next path, if its manifest says that it follows the file at hand, which is the
 * rotation's `part` and has been read, up to the trace's packet number `frames`; else NULL, with *e
 * set where it could not be opened. */
struct reader *load_files_next(struct load_files *f, const struct rotation_part *part,
                               uint64_t frames, struct err *e);

/* The last one has been read, or as far as it can be. */
void load_files_end(struct load_files *f, const struct rotation_part *part);

#endif
