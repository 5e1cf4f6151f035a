/* The bytes of a request, and which of them are secret. */
#ifndef REPLAY_MESSAGE_H
#define REPLAY_MESSAGE_H

#include "replay/plan.h"
#include "traces/base/buf.h"

struct message_range {
    size_t from, to;
};

/* A field that is added to a request when it is sent, and stands in no plan. */
struct message_field {
    const char *name, *value;
    bool secret; /* whatever its name: it never reaches the trace */
};

struct message {
    struct buf bytes;
    VEC(struct message_range)
    secrets; /* values of fields that hold a secret, or may by their name */
};

void message_init(struct message *m);
void message_done(struct message *m);

/* The bytes of r in place of what was there. Host is authority where r has none or an empty one,
 * Content-Length the body's where r has none; a body with Transfer-Encoding: chunked is one chunk.
 * Added fields stand where r's of the same name stood, else at the end. */
void message_compose(struct message *m, const struct plan_request *r, const char *authority,
                     const struct message_field *added, size_t n_added);

/* Overwrites what is secret in [off, off + n) with as many asterisks. */
void message_blank(struct message *m, size_t off, size_t n);

#endif
