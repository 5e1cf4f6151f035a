/* Inside http: the parser's state, and its parts. A taker reads what its state is about and returns
 * the bytes used: at least one, or it has changed the state. */
#ifndef TRACES_HTTP_STATE_H
#define TRACES_HTTP_STATE_H

#include "traces/base/buf.h"
#include "traces/base/vec.h"
#include "traces/http.h"
#include "traces/sniff.h"

enum { HTTP_SYNC_KEEP = 16 << 10 }; /* how far back in a line a start line is looked for */

enum http_state {
    START,       /* before a message: empty lines are skipped */
    HEAD,        /* in a start line or field */
    LENGTH,      /* in a body of which left bytes are to come */
    UNTIL_CLOSE, /* in a body that ends with the connection, or a tunnel */
    CHUNK_SIZE,  /* in the hex digits of a chunk line */
    CHUNK_EXT,   /* behind them */
    CHUNK_LF,    /* behind the CR of a chunk line */
    CHUNK_DATA,
    CHUNK_END, /* before the line end that follows the data */
    TRAILER,
    SYNC,   /* framing lost */
    CLOSED, /* after the last message */
    N_STATES
};

struct http {
    enum http_side side;
    enum http_expect expect;
    enum http_state state;
    bool keep_alive; /* of the message that is being read */
    bool close_said; /* by it */
    bool over;       /* no message should follow: the last one's keep_alive was false */
    bool bare_lf;    /* noted for its chunk lines … */
    bool odd_chunk;  /* … and this likewise */
    bool size_over;  /* of a chunk line: what follows the size and its blanks has been judged … */
    bool size_blank; /* … and there were blanks */
    bool start_seen; /* of a head: its start line is one */
    bool simple;     /* and the whole of it: HTTP/0.9 */
    bool cruft;      /* noted behind the last message */
    unsigned losses; /* of framing */
    int rc;
    struct http_sink out;
    struct anomaly_sink bad;
    struct byte_sink body;
    uint64_t left;      /* of LENGTH and CHUNK_DATA; the size so far in CHUNK_SIZE */
    unsigned digits;    /* of a chunk size */
    size_t line_n;      /* bytes of the unfinished line */
    uint8_t line_first; /* its first byte */
    size_t head_n;      /* bytes of the unfinished head or trailer before this span */
    struct mark first;  /* of the head */
    struct mark last;   /* latest byte seen */
    struct mark zero;   /* line end of the last chunk's line */
    struct buf text;    /* a head that straddles, or the line before it in SYNC */
    struct sniff sniff; /* HTTP_EXPECT_FIRST: what may not be a head */
    struct buf big;     /* the first line of a head that was too big … */
    struct mark big_first;
    VEC(struct mark) at; /* SYNC: where each piece of text begins */
};

/* http.c: a message is complete with the byte at last; a fault in framing at at. */
void http_complete(struct http *h, struct mark last);
void http_lose(struct http *h, const char *id, struct mark at);
void http_body_data(struct http *h, struct span in);

/* A whole head is in text; its last byte is at last. */
void http_begin(struct http *h, struct slice text, struct mark last);

/* The same of a response without a head, whose body begins at first. */
void http_begin_simple(struct http *h, struct mark first);

/* What was held back goes on, now that it is known what it is. */
void http_settle_first(struct http *h);

/* http_lines.c: heads, and the search for one. */
void http_seek(struct http *h);
size_t http_take_start(struct http *h, struct span in);
size_t http_take_head(struct http *h, struct span in);
size_t http_take_trailer(struct http *h, struct span in);
size_t http_take_noise(struct http *h, struct span in);

/* http_body.c */
size_t http_take_counted(struct http *h, struct span in);
size_t http_take_rest(struct http *h, struct span in);
size_t http_take_size(struct http *h, struct span in);
size_t http_take_extension(struct http *h, struct span in);
size_t http_take_chunk_end(struct http *h, struct span in);

#endif
