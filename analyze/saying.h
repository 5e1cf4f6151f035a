/* What the events of one reply say, gathered into its request: the dialect's deltas go in; output
 * events, counts, marks and outcome come out. */
#ifndef ANALYZE_SAYING_H
#define ANALYZE_SAYING_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/choice_counts.h"
#include "analyze/model.h"
#include "analyze/recount.h"
#include "analyze/text_so_far.h"
#include "traces/base/vec.h"

/* Text that repeats itself after so many pieces is noticed. */
enum { SAYING_PERIODS = 4 };

struct saying {
    struct request *r; /* dialect set; filled in */
    struct arena *texts;
    bool finished, failed; /* a finish, an error was stated */
    bool by_deltas;        /* text came otherwise than in messages of a stream */
    bool stated;           /* completion tokens, beside the first text or behind it */
    struct choice_counts counts;
    struct text_so_far so_far;
    struct recount recount;
    uint32_t counted_events;         /* output events that stated completion tokens themselves */
    uint64_t pieces[SAYING_PERIODS]; /* hashes of the last pieces of text, n % SAYING_PERIODS */
    uint32_t n_pieces, repeats[SAYING_PERIODS];
};

extern const struct usage usage_none;
extern const struct server_timings timings_none;

/* Text for people out of a trace, cut where it is somebody's mischief. NULL of {NULL, 0}. */
const char *saying_keep(struct arena *texts, struct slice s);

/* An event of the stream (EVENT_DATA); last is its completing byte on the wire. scratch is any
 * buffer. */
int saying_event(struct saying *s, const struct event *ev, struct mark last, struct buf *scratch);

/* A reply that is one document: one event, at its last byte. */
int saying_document(struct saying *s, struct slice body, struct mark last, struct buf *scratch);

/* Counts and times that stand in the head of a reply (TGI's x-… fields). */
void saying_fields(struct saying *s, const struct exchange *x);

/* The reply is over: counts that each were of one event or of one choice become what they are to
 * all others, counts of all so far. */
void saying_settle(struct saying *s);

void saying_done(struct saying *s);

/* Result files of some tools name requests by them: model_hash of the X-Request-ID field, and of
 * the id in an event of the reply; 0: there is none. */
uint64_t saying_sent_id(const struct exchange *x);
uint64_t saying_reply_id(struct slice event);

#endif
