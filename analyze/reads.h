/* Where output events lie in the body of a reply and in the reads that brought it. */
#ifndef ANALYZE_READS_H
#define ANALYZE_READS_H

#include "analyze/model.h"
#include "traces/exchange.h"

/* What of the reads so far matters for the next; all zero before the first. */
struct reads {
    uint64_t packet; /* that released the last event */
    uint64_t end;    /* where that event ends on the wire … */
    uint64_t before; /* … and where the last one of the read before did; 0: there was none */

    /* Of the connection, up to the request's start or what was looked at last. */
    uint64_t retransmissions, needless, zero_windows, unread, late_acks;
};

/* A request begins on c. */
void reads_begin(struct reads *reads, const struct tcp_conn *c);

/* What the client let wait on c since, up to now: the longest of each goes to r. */
void reads_wait(struct reads *reads, struct request *r, const struct tcp_conn *c);

/* The request ends on c. */
void reads_end(struct reads *reads, struct request *r, const struct tcp_conn *c);

/* Was x ended by the client, before the server ended it, or the trace? */
bool reads_client_left(const struct exchange *x);

/* The next event of r ends at last: adds the read that it is the first of to r->bursts. */
void reads_follow(struct reads *reads, struct request *r, struct mark last);

/* r's newest output event is ev of x. */
void reads_place(struct request *r, const struct exchange *x, const struct event *ev);

#endif
