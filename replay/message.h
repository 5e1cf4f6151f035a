/* The bytes of a request, and which of them are secret. */
#ifndef REPLAY_MESSAGE_H
#define REPLAY_MESSAGE_H

#include "replay/plan.h"
#include "traces/base/buf.h"

struct message_range {
    size_t from, to;
};

struct message {
    struct buf bytes;
    VEC(struct message_range) secrets; /* values of Authorization, API keys, cookies */
};

void message_init(struct message *m);
void message_done(struct message *m);

/* The bytes of r in place of what was there. Host is authority and Content-Length the body's, where
 * r has none; added fields take the place of r's of the same name. */
void message_compose(struct message *m, const struct plan_request *r, const char *authority,
                     const struct plan_field *added, size_t n_added);

/* Overwrites what is secret in [off, off + n) with as many asterisks. */
void message_blank(struct message *m, size_t off, size_t n);

#endif
