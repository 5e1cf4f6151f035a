/* Which dialect is it? */
#include "traces/dialects/dialect.h"

#include <string.h>

#include "traces/dialects/asking.h"

const struct dialect *const dialect_all[] = {
    &dialect_openai_chat,
    &dialect_openai_completions,
    &dialect_openai_responses,
    &dialect_anthropic_messages,
    &dialect_ollama_chat,
    &dialect_ollama_generate,
    &dialect_llama_completion,
    &dialect_tgi,
    &dialect_sglang_generate,
    &dialect_lmstudio_chat,
    NULL,
};

const struct dialect *dialect_find(struct slice method, struct slice target, struct slice body)
{
    const struct dialect *best = NULL;
    int best_claim = 0;
    for (size_t i = 0; dialect_all[i] != NULL; i++) {
        int claim = dialect_all[i]->claims(method, target, body);
        if (claim > best_claim) {
            best = dialect_all[i];
            best_claim = claim;
        }
    }
    return best;
}

enum dialect_trust dialect_trust(const struct dialect *d, struct slice method, struct slice target,
                                 struct slice body)
{
    int claim = d->claims(method, target, body);
    return claim > CLAIM_EITHER  ? DIALECT_SURE
           : claim > CLAIM_SHAPE ? DIALECT_LIKELY
                                 : DIALECT_LOOKS;
}

bool dialect_generates(struct slice target)
{
    return !asking_aside(asking_path(target));
}

const struct dialect *dialect_guess(struct slice data)
{
    const struct dialect *best = NULL;
    int best_claim = 0;
    for (size_t i = 0; dialect_all[i] != NULL; i++) {
        int claim = dialect_all[i]->recognises(data);
        if (claim > best_claim) {
            best = dialect_all[i];
            best_claim = claim;
        }
    }
    return best;
}

const struct dialect *dialect_named(const char *name)
{
    for (size_t i = 0; dialect_all[i] != NULL; i++) {
        if (strcmp(dialect_all[i]->name, name) == 0)
            return dialect_all[i];
    }
    return NULL;
}

bool dialect_streams(const struct dialect *d, struct slice target, const struct dialect_request *q)
{
    if (q->stream >= 0)
        return q->stream == 1;
    return d->streams || asking_ends(asking_path(target), "/generate_stream");
}
