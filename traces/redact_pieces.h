/* What the redactor holds back, and the pieces of IP datagrams among it: what is overwritten in a
 * datagram that was put together is overwritten in the pieces that it came in. */
#ifndef TRACES_REDACT_PIECES_H
#define TRACES_REDACT_PIECES_H

#include <stdbool.h>

#include "traces/ip.h"
#include "traces/redact_edit.h"

struct redact_stream;

/* A packet or custom block that waits to be handed on; or, apart from those, a datagram that was
 * put together and waits in its stream. Its bytes follow. */
struct redact_held {
    struct redact_held *next, *next_waiting;
    int64_t t_ns;
    uint16_t link;
    bool custom;
    struct redact_stream *waits_for; /* NULL: may go, as far as streams go */
    uint32_t seq;
    struct ip_fragment part;      /* of a piece, or the datagram; its data is in p */
    struct redact_held *assembly; /* of a piece: the datagram that waits */
    bool piece;                   /* its datagram is not whole */
    bool assembled;               /* it is one */
    struct redact_held *pieces;   /* of it: none is handed on before it is judged */
    struct redact_held *prev_piece, *next_piece;
    size_t n, wire_n;
    uint8_t p[];
};

/* Pieces of datagrams that are not whole; zero-initialised. */
struct redact_pieces {
    struct redact_held *first;
};

void redact_pieces_add(struct redact_pieces *q, struct redact_held *h);
void redact_pieces_drop(struct redact_pieces *q, struct redact_held *h);

/* Takes those of a datagram out of q. NULL: none of them is held any more. */
struct redact_held *redact_pieces_take(struct redact_pieces *q, const struct ip_fragment *whole);

/* Are they all of it, and of one mind? Else it may be made of two datagrams with one id, or of what
 * is held and what has gone, and what is in it is not what was sent. */
bool redact_pieces_agree(const struct redact_held *pieces, const struct ip_fragment *whole);

/* They wait with the datagram that was put together. */
void redact_pieces_wait(struct redact_held *pieces, struct redact_held *assembly);

/* h goes. Returns the datagram that waits with it, if h was the last of its pieces. */
struct redact_held *redact_pieces_leave(struct redact_held *h);

/* Writes what was overwritten in the datagram, which e->in is, into its pieces, which wait no
 * longer. What is behind bytes that were not captured is overwritten unread. Returns how many were
 * changed. */
uint64_t redact_pieces_write(struct redact_held *pieces, const struct ip_fragment *whole,
                             const struct redact_edit *e);

#endif
