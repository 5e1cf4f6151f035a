/* OpenAI chat completions, requests read. Source: the API reference of chat completions. */
#include "traces/dialects/asking.h"
#include "traces/dialects/openai_chat.h"
#include "traces/dialects/reply.h"

static bool has_messages(struct slice body)
{
    struct jscan s = jscan_over(body);
    struct slice key;
    if (body.n == 0 || jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "messages"))
            return jscan_next(&s) == JT_ARRAY;
        jscan_skip(&s);
    }
    return false;
}

int openai_chat_claims(struct slice method, struct slice target, struct slice body)
{
    if (!slice_is(method, "POST"))
        return 0;
    struct slice path = asking_path(target);
    if (asking_ends(path, "/chat/completions"))
        return has_messages(body) ? CLAIM_BOTH : CLAIM_PATH;
    /* Anthropic's and Ollama's bodies have messages too. */
    return asking_known(path) ? 0 : has_messages(body) ? CLAIM_SHAPE : 0;
}

/* Not by "object" alone: mlx-lm's usage chunk says chat.completion, and others leave it out. */
int openai_chat_recognises(struct slice data)
{
    struct member m[] = {{.name = "choices"}, {.name = "object"}};
    if (!reply_members(data, m, 2) || !reply_is_array(m[0].value))
        return 0;
    if (reply_is(m[1].value, "chat.completion.chunk") || reply_is(m[1].value, "chat.completion"))
        return CLAIM_BOTH;
    struct member choice[] = {{.name = "delta"}, {.name = "message"}};
    reply_members_of(reply_first(m[0].value), choice, 2);
    return choice[0].value.n + choice[1].value.n > 0 ? CLAIM_PATH : 0;
}

bool openai_chat_request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"messages"},
        .limits = {"max_tokens", "max_completion_tokens"},
        .nested = {"stream_options"},
        .choices = {"n"},
        .candidates = "best_of", /* vLLM had it here too */
    };
    return asking_read(&shape, body, a, out);
}
