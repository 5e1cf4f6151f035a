/* What a body says through its dialect (traces/dialects), event by event. */
#include "replay/text_events.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/body.h"
#include "traces/dialects/dialect.h"
#include "traces/limits.h"

struct text_events {
    const struct dialect *dialect; /* NULL: the request does not tell, and no event has yet */
    struct body *body;
    struct buf scratch;
    bool has_text; /* the event at hand */
    uint64_t *total;
};

static int on_delta(void *ctx, const struct delta *d)
{
    struct text_events *t = ctx;
    t->has_text = t->has_text || d->kind == DELTA_TEXT || d->kind == DELTA_REASONING ||
                  d->kind == DELTA_TOOL || d->kind == DELTA_REFUSAL;
    return TA_OK;
}

static int on_event(void *ctx, const struct event *ev)
{
    struct text_events *t = ctx;
    if (ev->kind != EVENT_DATA)
        return TA_OK;
    if (t->dialect == NULL)
        t->dialect = dialect_guess(ev->data);
    if (t->dialect == NULL)
        return TA_OK;
    t->has_text = false;
    t->dialect->event(ev, &t->scratch, (struct delta_sink){t, on_delta});
    *t->total += t->has_text;
    return TA_OK;
}

/* A document is no stream. */
static int on_data(void *ctx, struct span in)
{
    (void)ctx, (void)in;
    return TA_OK;
}

struct text_events *text_events_new(const struct http_head *h, const struct plan_request *r,
                                    uint64_t *total)
{
    struct text_events *t = mem_zalloc(sizeof *t);
    t->total = total;
    t->dialect = dialect_find(slice_of(r->method), slice_of(r->path), r->body);
    t->body =
        body_new(h, false, (struct body_sink){t, on_event, on_data}, (struct anomaly_sink){0});
    buf_init(&t->scratch, LIMIT_SSE_EVENT_BYTES);
    return t;
}

struct byte_sink text_events_input(struct text_events *t)
{
    return body_input(t->body);
}

void text_events_free(struct text_events *t)
{
    if (t == NULL)
        return;
    body_free(t->body);
    buf_done(&t->scratch);
    free(t);
}
