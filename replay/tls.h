/* The client's side of TLS over a connected non-blocking socket (OpenSSL): the peer's certificate
 * and name are verified unless that was switched off. Bytes and times that a trace records are the
 * plaintext's, at the calls below. */
#ifndef REPLAY_TLS_H
#define REPLAY_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "traces/base/err.h"

struct tls_options {
    const char *ca_file; /* PEM, trusted besides what the system trusts; NULL: none */
    bool insecure;       /* take any certificate */
};

/* What all connections to one host share. */
struct tls_context;

/* host: a name or a numeric address, as in the URL; the certificate must be for it. TA_EUSAGE if
 * ca_file can't be read; TA_ESYS. */
int tls_context_new(struct tls_context **out, const char *host, const struct tls_options *o,
                    struct err *e) TA_NODISCARD;
void tls_context_free(struct tls_context *c); /* NULL is fine; after its connections */

struct tls;

/* Does not own fd. NULL if OpenSSL has no memory left. */
struct tls *tls_new(struct tls_context *c, int fd);

enum tls_step { TLS_READY, TLS_WANT_READ, TLS_WANT_WRITE, TLS_FAILED };

/* Call again when the socket is as wanted, until TLS_READY or TLS_FAILED. */
enum tls_step tls_handshake(struct tls *t);

/* Why it failed, in words that say what to do; valid until tls_free. */
const char *tls_fault(const struct tls *t);

/* The least room tls_recv must be given, so that no record is left half read, which no poll of the
 * socket would tell of. */
enum { TLS_RECORD_BYTES = 16384 };

/* As send and recv of a non-blocking socket: -1 and errno (EAGAIN: later, with the same bytes or
 * more behind them), 0 from tls_recv at the end. Once the handshake is done. */
ssize_t tls_send(struct tls *t, const void *p, size_t n);
ssize_t tls_recv(struct tls *t, void *p, size_t n);

/* Is there neither an end nor a byte to read? Session tickets and the like are none. */
bool tls_is_quiet(struct tls *t);

/* Says goodbye, where the socket takes it, and goes. */
void tls_free(struct tls *t);

#endif
