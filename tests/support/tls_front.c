/* tls_front UPSTREAM_PORT CERTIFICATE READY: TLS in front of a plain server on 127.0.0.1. Makes a
 * key and a self-signed certificate for localhost and 127.0.0.1, writes the certificate to
 * CERTIFICATE, then the port it listens on to READY. Ends when its stdin does. */
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct front {
    SSL_CTX *tls;
    uint16_t upstream;
    int listener;
};

struct pair {
    struct front *front;
    int client;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void add_extension(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    if (ext == NULL || X509_add_ext(cert, ext, -1) != 1)
        die("extension");
    X509_EXTENSION_free(ext);
}

static X509 *self_signed(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    X509_set_pubkey(cert, key);
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"tls_front", -1, -1,
                               0);
    X509_set_issuer_name(cert, name);
    add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    if (X509_sign(cert, key, EVP_sha256()) == 0)
        die("signing");
    return cert;
}

static SSL_CTX *make_context(const char *certificate)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = self_signed(key);
    FILE *f = fopen(certificate, "w");
    if (f == NULL || PEM_write_X509(f, cert) != 1 || fclose(f) != 0)
        die(certificate);
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate(tls, cert) != 1 || SSL_CTX_use_PrivateKey(tls, key) != 1)
        die("certificate");
    X509_free(cert);
    EVP_PKEY_free(key);
    return tls;
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("upstream");
    return fd;
}

static int write_all(int fd, const char *p, ssize_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, (size_t)n);
        if (w <= 0)
            return 0;
        p += w;
        n -= w;
    }
    return 1;
}

/* Until either side ends. */
static void relay(SSL *ssl, int client, int upstream)
{
    char piece[16384];
    struct pollfd p[2] = {{.fd = client, .events = POLLIN}, {.fd = upstream, .events = POLLIN}};
    for (;;) {
        if (SSL_pending(ssl) == 0 && poll(p, 2, -1) < 0)
            return;
        if (SSL_pending(ssl) > 0 || p[0].revents != 0) {
            int n = SSL_read(ssl, piece, sizeof piece);
            if (n <= 0 || !write_all(upstream, piece, n))
                return;
        }
        if (p[1].revents != 0) {
            ssize_t n = read(upstream, piece, sizeof piece);
            if (n <= 0 || SSL_write(ssl, piece, (int)n) <= 0)
                return;
        }
        p[0].revents = p[1].revents = 0;
    }
}

static void *serve(void *arg)
{
    struct pair *pair = arg;
    SSL *ssl = SSL_new(pair->front->tls);
    SSL_set_fd(ssl, pair->client);
    if (SSL_accept(ssl) == 1) {
        int upstream = dial(pair->front->upstream);
        relay(ssl, pair->client, upstream);
        SSL_shutdown(ssl);
        close(upstream);
    }
    SSL_free(ssl);
    close(pair->client);
    free(pair);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct front *front = arg;
    for (int fd; (fd = accept(front->listener, NULL, NULL)) >= 0;) {
        struct pair *pair = malloc(sizeof *pair);
        *pair = (struct pair){front, fd};
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, pair) != 0)
            die("thread");
        pthread_detach(thread);
    }
    die("accept");
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    struct front front = {.upstream = (uint16_t)strtoul(argv[1], NULL, 10)};
    front.tls = make_context(argv[2]);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_ANY);
    front.listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(front.listener, (struct sockaddr *)&at, n) != 0 || listen(front.listener, 128) != 0 ||
        getsockname(front.listener, (struct sockaddr *)&at, &n) != 0)
        die("listen");
    FILE *ready = fopen(argv[3], "w");
    if (ready == NULL || fprintf(ready, "%u\n", (unsigned)ntohs(at.sin_port)) < 0 ||
        fclose(ready) != 0)
        die(argv[3]);
    pthread_t thread;
    if (pthread_create(&thread, NULL, accept_all, &front) != 0)
        die("thread");
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    _exit(0);
}
