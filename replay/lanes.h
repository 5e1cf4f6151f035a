/* Which connection a request goes over. Requests that the plan wants on one connection share a
 * lane. A lane's connection carries one request at a time; one that is due while the last is still
 * under way goes over another, which then is the lane's. All this is decided before a request is
 * due. */
#ifndef REPLAY_LANES_H
#define REPLAY_LANES_H

#include "replay/conn.h"
#include "replay/units.h"
#include "traces/base/vec.h"

/* What a connection belongs to, its user; NULL: nobody, it is idle and of no lane. */
struct holder {
    bool is_slot; /* else a lane */
};

enum slot_state { SLOT_CONNECTING, SLOT_READY, SLOT_SENT };

/* A request that is under way. */
struct slot {
    struct holder holder;
    struct flight *flight;
    struct conn *conn;
    enum slot_state state;
    size_t request, flying_at;
    int64_t since_ns;
    int64_t shot_ns; /* real: its last piece was written */
    bool more;       /* to send, and the socket takes it */
    unsigned tries;
    struct slot *next_waiting; /* for the connection of its lane */
};

/* A unit that is under way, from preparation to its end. */
struct flight {
    struct unit *unit;
    bool due_met, sent;
    size_t unready;      /* members without a connection yet */
    size_t open;         /* members that have not ended */
    int64_t due_real_ns; /* of a timed one, once sent */
    size_t n_sent;       /* members whose first byte was written */
    int64_t sent_first, sent_last;
    struct slot slots[];
};

/* Why a lane has no connection any more. */
enum lane_loss {
    LOSS_BY_SERVER, /* closed, or said to be closed */
    LOSS_BY_US,     /* torn with the request that was given up */
    LOSS_NONE       /* none had come about */
};

struct lane {
    struct holder holder;
    uint32_t left;        /* requests that are not under way yet */
    bool opened;          /* had a connection before */
    enum lane_loss loss;  /* of the last one */
    struct conn *conn;    /* idle; NULL: in use, or none */
    struct slot *user;    /* who has it, or gets it */
    struct slot *waiting; /* not yet due, and have another in case it does not come back in time */
};

struct lanes {
    const struct plan *plan;
    struct lane *v;
    size_t n;
    VEC(struct conn *) idle; /* of no lane */
    bool closes;             /* this server closes after each reply: no connection is used again */
    uint64_t planned, moved, reopened, renewed; /* as schedule_counts has them */
};

struct lanes lanes_of(const struct plan *p);

/* The slot that has or gets c; NULL: it is idle. */
struct slot *lanes_slot(const struct conn *c);

/* s gets under way: an idle connection for it, or NULL: it needs a new one. */
struct conn *lanes_choose(struct lanes *l, struct slot *s);

/* It was sent, over the connection that it has. */
void lanes_sent(struct lanes *l, struct slot *s);

/* c is idle again, after s. The slot that waits for it, if any, has to take it in place of its own;
 * NULL: it was put away. */
struct slot *lanes_give_back(struct lanes *l, struct slot *s, struct conn *c);

/* s ends, and its connection with it. */
void lanes_lose(struct lanes *l, struct slot *s, enum lane_loss loss);

void lanes_put_away(struct lanes *l, struct conn *c); /* idle, of no lane */
void lanes_left(struct lanes *l, struct slot *s);     /* s has ended, or is not sent at all */
void lanes_lost(struct lanes *l, struct conn *c);     /* an idle one is gone */
void lanes_close(struct lanes *l);                    /* all idle ones */
void lanes_free(struct lanes *l);

#endif
