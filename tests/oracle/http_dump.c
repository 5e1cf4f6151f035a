/* Prints what we make of the HTTP in a capture, a line a message, for comparison with others: see
 * node_http.js. The port tells the connection, the number the message on it; of fields and body
 * come the first half of a SHA-256 over "name:value\n" (names in small letters), and over the body.
 *
 *     PORT NTH Q METHOD TARGET fields=SHA body=BYTES:SHA complete
 *     PORT NTH A STATUS interim=N fields=SHA body=BYTES:SHA complete */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/base/mem.h"
#include "traces/pipeline.h"
#include "traces/sha256.h"

static int on_request(void *ctx, struct exchange *x)
{
    (void)ctx;
    x->user = sha256_new();
    return TA_OK;
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    (void)ctx;
    sha256_add(x->user, in.p, in.n);
    return TA_OK;
}

static void print_fields(const struct http_field *fields, size_t n)
{
    char text[65];
    struct sha256 *sha = sha256_new();
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < fields[i].name.n; k++) {
            char c = (char)tolower((unsigned char)fields[i].name.p[k]);
            sha256_add(sha, &c, 1);
        }
        sha256_add(sha, ":", 1);
        sha256_add(sha, fields[i].value.p, fields[i].value.n);
        sha256_add(sha, "\n", 1);
    }
    sha256_text(sha, text);
    sha256_free(sha);
    printf(" fields=%.16s", text);
}

static void print_slice(struct slice s)
{
    printf(" %.*s", (int)s.n, s.n > 0 ? s.p : "");
}

static int on_done(void *ctx, struct exchange *x)
{
    char text[65];
    (void)ctx;
    printf("%u %u Q", x->conn->client.port, x->nth);
    print_slice(x->method);
    print_slice(x->target);
    print_fields(x->request_fields, x->n_request_fields);
    printf(" body=%llu:%.16s %s\n", (unsigned long long)x->request_body_bytes,
           x->request_body_sha256, x->request_complete ? "complete" : "open");
    sha256_text(x->user, text);
    sha256_free(x->user);
    if (x->status == 0)
        return TA_OK;
    printf("%u %u A %d interim=%u", x->conn->client.port, x->nth, x->status, x->interim);
    print_fields(x->response_fields, x->n_response_fields);
    printf(" body=%llu:%.16s %s\n", (unsigned long long)x->response_body_bytes, text,
           x->response_complete ? "complete" : "open");
    return TA_OK;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct reader *reader = NULL;
    struct pipeline_totals totals;
    if (argc != 2) {
        fputs("usage: http_dump CAPTURE\n", stderr);
        return 2;
    }
    int rc = reader_open(&reader, argv[1], &e);
    if (rc == TA_OK)
        rc =
            pipeline_run(reader,
                         (struct pipeline_sink){
                             .exchange = {.request = on_request, .body = on_body, .done = on_done}},
                         &totals, &e);
    reader_close(reader);
    if (rc < 0)
        fprintf(stderr, "http_dump: %s\n", e.msg);
    return rc < 0;
}
