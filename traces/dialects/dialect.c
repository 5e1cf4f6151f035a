/* Which dialect is a request of? */
#include "traces/dialects/dialect.h"

static const struct dialect *const dialects[] = {&dialect_openai_chat};
enum { DIALECTS = sizeof dialects / sizeof *dialects };

const struct dialect *dialect_find(struct slice method, struct slice target, struct slice body)
{
    const struct dialect *best = NULL;
    int best_claim = 0;
    for (size_t i = 0; i < DIALECTS; i++) {
        int claim = dialects[i]->claims(method, target, body);
        if (claim > best_claim) {
            best = dialects[i];
            best_claim = claim;
        }
    }
    return best;
}
