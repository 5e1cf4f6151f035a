/* TLS through OpenSSL (RFC 8446; names checked as RFC 9110, 4.3.4, says). */
#include "replay/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/base/text.h"

struct tls_context {
    SSL_CTX *ssl;
    char *host;
    bool is_address;
};

struct tls {
    SSL *ssl;
    char fault[400];
};

static bool is_address(const char *host)
{
    struct in6_addr any;
    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

/* The latest entry of OpenSSL's queue, which is emptied. */
static const char *latest_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return reason != NULL ? reason : "no reason given";
}

static int trust(SSL_CTX *ssl, const char *ca_file, struct err *e)
{
    SSL_CTX_set_default_verify_paths(ssl); /* a system without any still has --ca */
    if (ca_file != NULL && SSL_CTX_load_verify_locations(ssl, ca_file, NULL) != 1)
        return err_set(e, TA_EUSAGE, "--ca %.200s: no certificate could be read (%s); expected PEM",
                       ca_file, latest_reason());
    ERR_clear_error();
    return TA_OK;
}

int tls_context_new(struct tls_context **out, const char *host, const struct tls_options *o,
                    struct err *e)
{
    static const unsigned char http11[] = "\x08http/1.1";
    *out = NULL;
    SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
    if (ssl == NULL)
        return err_set(e, TA_ESYS, "OpenSSL has no client for TLS (%s)", latest_reason());
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Many servers end without close_notify; where the message is cut, HTTP's framing says so. */
    SSL_CTX_set_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_alpn_protos(ssl, http11, sizeof http11 - 1);
    SSL_CTX_set_verify(ssl, o->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    int r = trust(ssl, o->ca_file, e);
    if (r != TA_OK) {
        SSL_CTX_free(ssl);
        return r;
    }
    struct tls_context *c = mem_zalloc(sizeof *c);
    *c = (struct tls_context){ssl, mem_strdup(host), is_address(host)};
    *out = c;
    return TA_OK;
}

void tls_context_free(struct tls_context *c)
{
    if (c == NULL)
        return;
    SSL_CTX_free(c->ssl);
    free(c->host);
    free(c);
}

struct tls *tls_new(struct tls_context *c, int fd)
{
    struct tls *t = mem_zalloc(sizeof *t);
    t->ssl = SSL_new(c->ssl);
    if (t->ssl == NULL || SSL_set_fd(t->ssl, fd) != 1) {
        tls_free(t);
        return NULL;
    }
    SSL_set_connect_state(t->ssl);
    X509_VERIFY_PARAM *check = SSL_get0_param(t->ssl);
    if (c->is_address) {
        X509_VERIFY_PARAM_set1_ip_asc(check, c->host);
    } else {
        SSL_set_tlsext_host_name(t->ssl, c->host); /* RFC 6066, 3: not for addresses */
        X509_VERIFY_PARAM_set1_host(check, c->host, 0);
    }
    return t;
}

static void explain(struct tls *t)
{
    long verdict = SSL_get_verify_result(t->ssl);
    bool unverified = SSL_get_verify_mode(t->ssl) != SSL_VERIFY_NONE && verdict != X509_V_OK;
    const char *reason = latest_reason();
    if (unverified)
        snprintf(
            t->fault, sizeof t->fault,
            "its certificate is not accepted: %s. If that is expected, name the certificate to "
            "trust with --ca FILE, or check nothing with --insecure",
            X509_verify_cert_error_string(verdict));
    else
        snprintf(t->fault, sizeof t->fault, "the TLS handshake failed (%s)%s", reason,
                 strcmp(reason, "wrong version number") == 0
                     ? ". Does it speak plain HTTP there? Then "
                       "give --target http://…"
                     : "");
}

enum tls_step tls_handshake(struct tls *t)
{
    ERR_clear_error();
    errno = 0;
    int r = SSL_do_handshake(t->ssl), fault = errno;
    if (r == 1)
        return TLS_READY;
    switch (SSL_get_error(t->ssl, r)) {
    case SSL_ERROR_WANT_READ:
        return TLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WANT_WRITE;
    case SSL_ERROR_SYSCALL:
    case SSL_ERROR_ZERO_RETURN:
        snprintf(t->fault, sizeof t->fault, "the connection ended during the TLS handshake%s%s",
                 fault != 0 ? ": " : "", fault != 0 ? strerror(fault) : "");
        break;
    default:
        explain(t);
    }
    ERR_clear_error();
    return TLS_FAILED;
}

const char *tls_fault(const struct tls *t)
{
    return t->fault;
}

/* What a socket call would have returned. */
static ssize_t as_socket(struct tls *t, int r, int fault)
{
    if (r > 0)
        return r;
    switch (SSL_get_error(t->ssl, r)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        errno = fault != 0 ? fault : ECONNRESET;
        break;
    default:
        errno = EPROTO;
    }
    ERR_clear_error();
    return -1;
}

static int most(size_t n)
{
    return n < INT32_MAX ? (int)n : INT32_MAX;
}

ssize_t tls_send(struct tls *t, const void *p, size_t n)
{
    ERR_clear_error();
    errno = 0;
    int r = SSL_write(t->ssl, p, most(n));
    return as_socket(t, r, errno);
}

ssize_t tls_recv(struct tls *t, void *p, size_t n)
{
    ERR_clear_error();
    errno = 0;
    int r = SSL_read(t->ssl, p, most(n));
    return as_socket(t, r, errno);
}

bool tls_is_quiet(struct tls *t)
{
    char byte;
    ERR_clear_error();
    errno = 0;
    int r = SSL_peek(t->ssl, &byte, 1);
    return as_socket(t, r, errno) < 0 && errno == EAGAIN;
}

void tls_free(struct tls *t)
{
    if (t == NULL)
        return;
    if (t->ssl != NULL && SSL_is_init_finished(t->ssl))
        SSL_shutdown(t->ssl);
    ERR_clear_error();
    SSL_free(t->ssl);
    free(t);
}
