/* Inside http: a head that is whole in memory. */
#ifndef TRACES_HTTP_HEAD_H
#define TRACES_HTTP_HEAD_H

#include "traces/base/buf.h"
#include "traces/http.h"
#include "traces/limits.h"

struct http_parse {
    enum http_side side;
    enum http_expect expect;
    struct anomaly_sink bad;
    struct buf folds; /* joined values; the caller's to free */
    struct http_field fields[LIMIT_HTTP_FIELDS];
    struct http_head head; /* the caller sets first and last */
    bool close_said;       /* not only meant, as HTTP/1.0 does by saying nothing */
    bool unframed;         /* a request whose end cannot be known */
};

/* text: start line to empty line, line ends included. False: no start line of this side. */
bool http_parse_head(struct http_parse *p, struct slice text);

/* Fills in method, target, status, reason and minor from a line without its line end. */
bool http_parse_start(enum http_side side, struct slice line, struct http_head *h);

/* The last place in line from which it is a start line beyond doubt; SIZE_MAX: none. For finding
 * the next message in bytes whose framing was lost, so stricter than http_parse_start. */
size_t http_find_start(enum http_side side, struct slice line);

#endif
