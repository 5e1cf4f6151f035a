/* Inside exchange: the state of a connection, for its requests and input (exchange.c) and its
 * responses (exchange_response.c). */
#ifndef TRACES_EXCHANGE_STATE_H
#define TRACES_EXCHANGE_STATE_H

#include "traces/base/vec.h"
#include "traces/early.h"
#include "traces/exchange.h"
#include "traces/sha256.h"

struct open {
    struct exchange x;
    struct sha256 *sha;
    bool request_gap; /* of its body: kept and hashed only before it */
    bool not_kept;    /* all of the body: said */
    bool doubtful;    /* a request before it may be hidden, whose response is taken for its own */
    bool request_over, response_over;
    struct open *prev, *next;
};

struct exchange_conn {
    const struct tcp_conn *conn;
    struct exchange_sink out;
    struct exchange_shared *shared;
    struct http *requests, *responses;
    struct byte_sink to_requests, to_responses;
    struct open *list;
    size_t n_open;
    struct open *half;  /* answered before its head was whole */
    struct early early; /* of the server: whom it answers is not known */
    bool client_over;
    struct open *asking;    /* its request is being read */
    struct open *answering; /* its final response is being read */
    struct body *body;      /* of that; NULL: a tunnel, or none */
    struct byte_sink to_body;
    VEC(struct mark) orphans; /* responses whose request has not come (yet): their first bytes */
    size_t first_orphan;
    uint32_t nth;
    bool unsure;              /* responses may have been missed */
    bool hidden;              /* so may requests, since the last response … */
    uint64_t doubtful_before; /* … which answers one of those sent before this frame */
    unsigned losses_of_requests, losses_of_responses; /* http_losses() that are known */
    bool tunnel;                                      /* no HTTP any more */
    bool given_up;
    bool server_spoke; /* or may have, before the trace began */
    bool asked;        /* the client has said something */
    bool before;       /* an event stream was under way before that */
    bool server_over;
    enum end_kind server_end;
    struct mark server_end_at;
    int64_t t_latest;
};

/* exchange.c: the first that has no whole response; NULL: none. */
struct open *exchange_unanswered(const struct exchange_conn *c);

/* A request begins. */
struct open *exchange_add(struct exchange_conn *c, const struct http_head *h);

/* Its response is over, as far as there will be one. */
int exchange_answered(struct exchange_conn *c, struct open *o, enum end_kind why, int64_t t_end);

struct http_field *exchange_copy_fields(struct arena *a, const struct http_head *h);

/* Has h lost its framing since it was asked last? */
bool exchange_lost_again(const struct http *h, unsigned *known);

/* o may be NULL. */
void exchange_pass_anomaly(struct exchange_conn *c, struct open *o, const struct anomaly *a);
void exchange_note(struct exchange_conn *c, struct open *o, const char *id, struct mark at);

/* exchange_response.c: what the parser of responses calls. */
int exchange_response_head(void *ctx, const struct http_head *h, struct byte_sink *body);
int exchange_response_done(void *ctx, enum end_kind why, bool complete, struct mark last);
void exchange_response_anomaly(void *ctx, const struct anomaly *a);
void exchange_drop_body(struct exchange_conn *c);

#endif
