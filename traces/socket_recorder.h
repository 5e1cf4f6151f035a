/* Writes what a socket sent and received as TCP/IP packets into a trace (vantage "socket"): no
 * privileges needed, and everything downstream reads it like any capture. Headers are made up
 * (handshake, sequence numbers, no retransmissions); payload bytes and times are those of the write
 * and read calls. Link type RAW. */
#ifndef TRACES_SOCKET_RECORDER_H
#define TRACES_SOCKET_RECORDER_H

#include <stdbool.h>
#include <sys/socket.h>

#include "traces/base/err.h"
#include "traces/writer.h"

struct socket_recorder;
struct socket_flow; /* one connection */

/* Does not own w. */
struct socket_recorder *socket_recorder_new(struct writer *w);
void socket_recorder_free(struct socket_recorder *r);

/* A connection was made: local and remote as getsockname and getpeername gave them. we_called:
 * local is the client. Times are real time (clock_real_ns), taken right around the call they stamp.
 */
struct socket_flow *socket_flow_open(struct socket_recorder *r, const struct sockaddr *local,
                                     const struct sockaddr *remote, bool we_called, int64_t t_ns,
                                     struct err *e);
int socket_flow_sent(struct socket_flow *f, const void *p, size_t n, int64_t t_ns, struct err *e);
int socket_flow_received(struct socket_flow *f, const void *p, size_t n, int64_t t_ns,
                         struct err *e);

/* How one side ended: FIN or RST; call for each side that ended, then free. */
int socket_flow_closed(struct socket_flow *f, bool by_remote, bool reset, int64_t t_ns,
                       struct err *e);
void socket_flow_free(struct socket_flow *f);

#endif
