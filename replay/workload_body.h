/* The body and the header fields of a request that a workload asks for. */
#ifndef REPLAY_WORKLOAD_BODY_H
#define REPLAY_WORKLOAD_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/plan.h"
#include "traces/base/json.h"

struct workload_body {
    const char *model, *path; /* the path says what kind of body: see workload_body_is_prompt */
    struct slice text;        /* the prompt; or, with text.p NULL, … */
    struct slice text_json;   /* … the same as a JSON string in its quotes, or … */
    struct slice messages_json, tools_json; /* … messages as JSON; tools: n is 0 if there are none */
    int64_t max_tokens;
    double temperature;
    bool stream, include_usage;
    const struct json *extra; /* an object whose members are added; NULL: none */
    struct slice extra_json;  /* more of them, as JSON that was checked; a member that would be there
                                 already is taken from here */
};

/* A path that ends in /completions, but not in /chat/completions, gets "prompt" instead of
 * "messages". */
bool workload_body_is_prompt(const char *path);

void workload_body_write(const struct workload_body *b, struct buf *out);

/* Content-Type, Accept, User-Agent and X-Request-ID, kept in p. */
void workload_body_fields(struct plan *p, struct plan_request *r, bool stream, const char *id);

#endif
