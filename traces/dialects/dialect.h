/* What the bodies of one LLM API say: requests and events read, replies written. Field names only;
 * what they mean for a figure is decided in analyze/. Source: the servers' own APIs, one file a
 * dialect. */
#ifndef TRACES_DIALECTS_DIALECT_H
#define TRACES_DIALECTS_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/arena.h"
#include "traces/base/buf.h"
#include "traces/event.h"

enum delta_kind {
    DELTA_ROLE,      /* names the speaker, carries no text */
    DELTA_TEXT,      /* generated text of the answer */
    DELTA_REASONING, /* generated text of the thinking */
    DELTA_TOOL,      /* a tool's name or a piece of its arguments */
    DELTA_REFUSAL,   /* generated text of a refusal */
    DELTA_USAGE,
    DELTA_TIMINGS, /* the server's own clock */
    DELTA_FINISH,
    DELTA_ERROR,
    DELTA_PING,  /* an event that only keeps the connection alive */
    DELTA_EMPTY, /* an event that says nothing */
    DELTA_DONE   /* the dialect's end mark */
};

/* -1: not stated. */
struct usage {
    int64_t prompt, completion, cached, reasoning;
};

/* NAN: not stated. Milliseconds and tokens per second as the server printed them. */
struct server_timings {
    double prompt_n, prompt_ms, predicted_n, predicted_ms, predicted_per_second;
};

struct delta {
    enum delta_kind kind;
    uint32_t choice;
    struct slice
        text; /* DELTA_TEXT … DELTA_REFUSAL: never empty; FINISH: the reason; ERROR: the message */
    struct usage usage;
    struct server_timings timings;
};

struct delta_sink {
    void *ctx;
    int (*delta)(void *ctx, const struct delta *d);
};

struct dialect_request {
    struct slice model;        /* {NULL, 0}: not stated */
    int stream;                /* 1, 0; -1: not stated */
    bool usage_asked;          /* of a stream */
    int64_t max_tokens;        /* -1: not stated */
    int64_t choices;           /* n; 1 by default */
    struct slice last_message; /* text of the last message, for people; may be cut */
    int64_t prompt_words;      /* runs of non-blanks in the texts of all messages */
};

/* One generation that serve writes out. All texts are ours. */
struct dialect_reply {
    const char *id, *model, *fingerprint;
    int64_t created_s;
    struct usage usage;
    const char *finish;
};

struct dialect {
    const char *name; /* "openai-chat" */

    /* 0..100: is a request with this method, target and body of this dialect? By path and shape,
     * never by the server's name. */
    int (*claims)(struct slice method, struct slice target, struct slice body);

    /* Reads a request body; texts go into a. False if the body is not its JSON. */
    bool (*request)(struct slice body, struct arena *a, struct dialect_request *out);

    /* The deltas of one event (EVENT_DATA only), at least one, in order of appearance; of several
     * kinds where the event carries several. scratch is the caller's, cleared by each call; texts
     * of deltas live in it or in the event until the call returns. Returns what the sink returned.
     * A body that is no JSON gives one DELTA_ERROR with the text "not JSON". */
    int (*event)(const struct event *ev, struct buf *scratch, struct delta_sink out);

    /* The deltas of a reply that is one document. */
    int (*document)(struct slice body, struct buf *scratch, struct delta_sink out);

    /* Written replies: each appends one whole event, framing included. */
    void (*put_role)(struct buf *out, const struct dialect_reply *r);
    void (*put_text)(struct buf *out, const struct dialect_reply *r, struct slice text);
    void (*put_finish)(struct buf *out, const struct dialect_reply *r);
    void (*put_usage)(struct buf *out, const struct dialect_reply *r);
    void (*put_done)(struct buf *out);
    void (*put_document)(struct buf *out, const struct dialect_reply *r,
                         struct slice text); /* whole JSON body */
    void (*put_error)(struct buf *out, int status, const char *message,
                      const char *type); /* whole JSON body */
};

extern const struct dialect dialect_openai_chat;

/* The dialect that claims it best, or NULL. */
const struct dialect *dialect_find(struct slice method, struct slice target, struct slice body);

#endif
