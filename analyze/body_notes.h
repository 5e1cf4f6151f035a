/* What a redacted trace still knows of its requests' bodies (traces/FORMAT.md, bodies). */
#ifndef ANALYZE_BODY_NOTES_H
#define ANALYZE_BODY_NOTES_H

#include "analyze/model.h"
#include "traces/base/json.h"

/* Of the request of that client port and place on its connection which began then. */
struct body_note {
    int64_t t_ns;
    int64_t nth;
    uint16_t port;
    const char *sha256;
};

struct body_notes {
    VEC(struct body_note) all;
};

/* A block of kind "bodies"; returns how many of its entries could not be read. */
uint64_t body_notes_read(struct body_notes *b, const struct json *block, struct arena *texts);

/* Gives requests from `first` on the hash that their body had. */
void body_notes_join(struct body_notes *b, struct audit *a, size_t first);
void body_notes_done(struct body_notes *b);

#endif
