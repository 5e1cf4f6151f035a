/* Both legs of a proxy in one trace: what it asked a server for, to answer a client, is the same
 * work seen a second time, and no request of its own. */
#ifndef ANALYZE_RELAYS_H
#define ANALYZE_RELAYS_H

#include "analyze/model.h"

/* Moves inner legs of all loaded traces from a->requests to a->inner, numbers the rest anew, and
 * fills inner and inner_of. Before runs are found: nothing else knows an index of a request yet.
 *
 * A request is taken for a proxy's inner leg where it is sure. It was sent while one with the same
 * prompt was open at one other port, from where that one ended as far as hosts tell; their texts are
 * the same, and the outer one never has more of it than the inner one. That may all be so of two
 * servers that a client asks at once, and two of one speed are in step, too. What may not is that
 * both replies have the same id, which no other reply at either port has; or that outer text is
 * late by nearly the same each time, while the gaps of inner text vary. Where ids are passed on,
 * they alone tell whose a reply is. Without either nothing is moved. Attempts of the proxy that
 * failed belong to the same outer request, at ports that have nearly nothing else, too.
 *
 * Legs in two traces of one host are linked by inner alone: each trace keeps its requests. */
void relays_find(struct audit *a);

#endif
