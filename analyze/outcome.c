#include "analyze/outcome.h"

bool outcome_left_at_end(const struct request *r, const struct exchange *x, bool finished)
{
    return !x->response_complete && finished && r->done_ns >= 0 && x->conn->t_left >= r->done_ns;
}

/* Of a reply that is not whole. Where bytes are missing, the recording may have broken it. */
static enum outcome broken(const struct request *r, const struct exchange *x)
{
    if (x->damaged)
        return OUTCOME_UNSEEN;
    return x->end == END_TRACE && !r->left ? OUTCOME_OPEN : OUTCOME_CUT_SHORT;
}

enum outcome outcome_of(const struct request *r, const struct exchange *x, bool finished,
                        bool failed)
{
    if (r->dialect == NULL)
        return OUTCOME_NOT_LLM;
    if (x->status == 0 || x->simple)
        return broken(r, x) == OUTCOME_CUT_SHORT ? OUTCOME_NO_RESPONSE : broken(r, x);
    if (x->status / 100 != 2)
        return OUTCOME_HTTP_ERROR;
    if (failed)
        return OUTCOME_ERROR_EVENT;
    if (finished && x->damaged)
        return OUTCOME_SUCCESS;
    if (!x->response_complete && !outcome_left_at_end(r, x, finished))
        return broken(r, x);
    if (finished)
        return OUTCOME_SUCCESS;
    if (x->opaque)
        return OUTCOME_UNREADABLE;
    if (x->damaged)
        return OUTCOME_UNSEEN;
    return r->truncated_events > 0 ? OUTCOME_CUT_SHORT : OUTCOME_NO_FINISH;
}
