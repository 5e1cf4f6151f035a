/* vLLM and SGLang take means of "values or 0", GuideLLM has 0.0 for every statistic of an empty
 * distribution: that is no figure. Where there are values, a 0 is a claim as any other. */
#include "analyze/claims_placeholder.h"

#include "analyze/tool.h"

/* Is r one of those that the tool has a value of? */
static bool has_value(const struct question *q, const struct tool *t, const struct request *r)
{
    int64_t tokens = request_tokens(r) >= 0 ? request_tokens(r) : (int64_t)r->out.n;
    bool streamed = r->stream_reply || !t->streams_only;
    switch (q->name->subject) {
    case SUBJECT_GAP:
        return r->out.n > 1;
    case SUBJECT_PER_TOKEN:
        return tokens > 1 && streamed;
    case SUBJECT_TTFT:
        return streamed;
    default:
        return true;
    }
}

static const char *missing(const struct question *q, size_t succeeded, size_t streams)
{
    if (succeeded == 0)
        return "no request succeeded";
    if (q->name->subject == SUBJECT_GAP)
        return "no reply has a second event with text";
    return streams == 0 ? "no reply is a stream" : "no reply has a second token";
}

const char *claims_placeholder(const struct question *q, const struct claim *c)
{
    const struct tool *t = c->tool != NULL ? tool_named(slice_of(c->tool)) : NULL;
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    size_t succeeded = 0, streams = 0;
    bool taken_of_requests =
        (q->name->dimension == DIM_TIME || q->name->dimension == DIM_TOKENS) && !q->name->of_run;
    if (t == NULL || !t->zero_for_none || c->claimed != 0 || !taken_of_requests || q->one)
        return NULL;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        if (!formula_counts(s, r))
            continue;
        if (has_value(q, t, r))
            return NULL;
        succeeded++;
        streams += r->stream_reply;
    }
    return audit_printf(q->a, "%s has 0 where there is no value, and here is none: %s", t->title,
                        missing(q, succeeded, streams));
}
