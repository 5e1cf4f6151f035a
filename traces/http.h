/* HTTP/1.x messages of one direction (RFC 9112; pitfalls H1 to H20), pushed in any split.
 *
 * Lenient where real senders are (bare LF, missing reason phrase, any case), and each leniency is
 * an anomaly. After a gap or a fault in a head or chunk line it looks for the next plausible start
 * line. */
#ifndef TRACES_HTTP_H
#define TRACES_HTTP_H

#include <stdbool.h>

#include "traces/anomaly.h"
#include "traces/base/span.h"

struct http_field {
    struct slice name, value; /* value without surrounding blanks, folds joined with a space */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_CLOSE, HTTP_TUNNEL };

struct http_head {
    int status;                  /* 0: a request */
    struct slice method, target; /* of a request */
    struct slice reason;         /* of a response */
    int minor;                   /* HTTP/1.minor */
    bool simple; /* HTTP/0.9: a request of one bare line; a response without a head, its first byte
                    the body's, its status 200 for want of one */
    const struct http_field *fields;
    size_t n_fields;
    enum http_framing framing;
    uint64_t length; /* of HTTP_LENGTH */
    bool keep_alive;
    struct mark first, last; /* of the head: start line's first byte, empty line's last */
};

/* The value of the first field of that name (any case); {NULL, 0} if absent. */
struct slice http_field(const struct http_head *h, const char *name);

struct http_sink {
    void *ctx;
    /* A whole head; *body is where its body's bytes go (left empty: they are skipped). Interim
     * responses (1xx) come too, each followed by done. Everything in h dies when the callback
     * returns. */
    int (*head)(void *ctx, const struct http_head *h, struct byte_sink *body);
    /* The message ended. complete: framed to its end (or closed by FIN where that is the framing).
     * last: the byte that completed it. The body's own end() has been called before with the same
     * why. */
    int (*done)(void *ctx, enum end_kind why, bool complete, struct mark last);
};

enum http_side { HTTP_REQUESTS, HTTP_RESPONSES };

struct http;
struct http *http_new(enum http_side side, struct http_sink out, struct anomaly_sink bad);
struct byte_sink http_input(struct http *h);

/* Takes data as http_input does, but none beyond the end of a message: *in is what is left. */
int http_take(struct http *h, struct span *in);

/* Responses only, before their head: the next final response answers HEAD (no body) or CONNECT
 * (tunnel), or it is the connection's first: then what does not begin with HTTP/ is HTTP/0.9
 * (H16). */
enum http_expect { HTTP_EXPECT_BODY, HTTP_EXPECT_HEAD, HTTP_EXPECT_CONNECT, HTTP_EXPECT_FIRST };
void http_expect(struct http *h, enum http_expect what);

/* Between two messages: the next byte begins one, or is none. */
bool http_idle(const struct http *h);

/* The head of a request that is under way, or has become too big to be read: method, target and
 * minor by its first line, first and last as far as it has come. False: none is, or not so much of
 * it. *out is borrowed until the next input. */
bool http_unfinished(const struct http *h, struct http_head *out);

/* How often what came was no message and the next was looked for: some may have been missed. */
unsigned http_losses(const struct http *h);
void http_free(struct http *h);

#endif
