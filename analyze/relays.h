/* Both legs of a proxy in one trace: what it asked a server for, to answer a client, is the same
 * work seen a second time, and no request of its own. */
#ifndef ANALYZE_RELAYS_H
#define ANALYZE_RELAYS_H

#include "analyze/model.h"

/* Moves inner legs of all loaded traces from a->requests to a->inner, numbers the rest anew, and
 * fills inner and inner_of. Before runs are found: nothing else knows an index of a request yet.
 *
 * A port is taken for a proxy's inner one where it is sure. Nearly each of its requests was sent
 * while one with the same prompt was open at one other port, from where that one ended as far as
 * hosts tell; their texts are the same, and the outer one never has more of it than the inner one.
 * That may all be so of two servers that a client asks at once, the faster one second. What may not
 * is that the outer text follows in step: each time there is more of it, the inner one grew just
 * then. Attempts of the proxy that failed belong to the same outer request.
 *
 * Legs in two traces of one host are linked by inner alone: each trace keeps its requests. */
void relays_find(struct audit *a);

#endif
