/* A simulated server's character, read from a JSON file (replay/PROFILES.md). */
#ifndef REPLAY_PROFILE_H
#define REPLAY_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/arena.h"
#include "traces/base/err.h"
#include "traces/dialects/dialect.h"

enum { PROFILE_WORKERS = 64, PROFILE_DIALECTS = 16 };

enum batching_kind { BATCHING_CONTINUOUS, BATCHING_SERIAL };
enum delivery_kind {
    DELIVERY_STREAM,    /* an event leaves when its tokens are made */
    DELIVERY_COLLECT,   /* all leave one after the other when the last is made */
    DELIVERY_ONE_WRITE, /* likewise, in one write, and the head with them */
    DELIVERY_PAIRS,     /* the first alone, then two at a time */
    DELIVERY_ONE_PIECE, /* a stream whose text is one event */
    DELIVERY_DOCUMENT   /* no stream, whatever was asked for */
};
enum head_when { HEAD_WITH_ROLE, HEAD_AT_ONCE, HEAD_ADMITTED };
enum role_event { ROLE_AT_ONCE, ROLE_WITH_FIRST, ROLE_IN_EVERY };
enum usage_when {
    USAGE_ASKED,                 /* an event of its own, if the request asks for it */
    USAGE_ALWAYS,                /* likewise, in any case */
    USAGE_WITH_FINISH,           /* in the event of the finish, in any case */
    USAGE_WITH_FINISH_AND_ASKED, /* there, and again in one of its own */
    USAGE_IN_EVERY,              /* so far in every event, and one of its own at the end */
    USAGE_NEVER
};
enum usage_details {
    DETAILS_REASONING, /* how many tokens are thinking, if any are */
    DETAILS_CACHED,    /* how much of the prompt was in the cache: 0 */
    DETAILS_BOTH,
    DETAILS_NONE
};
enum timings_names { TIMINGS_LLAMA, TIMINGS_MLX_SERVE };
enum framing_kind { FRAMING_CHUNKED, FRAMING_CLOSE, FRAMING_HTTP_1_0 };
enum keepalive_start { KEEPALIVE_NO_START, KEEPALIVE_FIRST, KEEPALIVE_SECOND };
enum error_shape {
    ERROR_DIALECT, /* as the dialect writes it */
    ERROR_NO_CODE, /* OpenAI's, with a code of null */
    ERROR_STRING,  /* {"error": "…"} */
    ERROR_DETAIL   /* {"detail": "…"} */
};

struct profile {
    struct arena arena; /* of the texts */
    const char *name;   /* letters, digits, '.', '_', '-' only: it stands in a header field */
    const char *about, *model;
    const struct dialect *dialects[PROFILE_DIALECTS]; /* NULL at the end; at least one */
    double prefill_tps, decode_tps;                   /* of one request alone */
    double prefill_quadratic_ns; /* n prompt tokens take n * n times that more */

    int batching;      /* enum batching_kind */
    int64_t max_batch; /* of a worker: requests that run at once; the others queue */
    double slowdown; /* what each further request of the batch adds to all that it does: 0.02 = 2 %;
                        negative: what two or more take away */
    int64_t workers; /* processes with a model each, that share nothing; 0 is 1 */

    int64_t stall_every_ns, stall_for_ns; /* so long at its pace, so long slow; 0: never */
    double stall_tps;                     /* decode_tps in a stall; all else is as much slower */

    int delivery;             /* enum delivery_kind */
    int64_t event_cost_ns;    /* of each event of a collected reply */
    int64_t tokens_per_event; /* 0 is 1 */
    bool blocks; /* while a reply is made, no other request is looked at, on any connection */

    int head;                 /* enum head_when */
    int role_event;           /* enum role_event */
    bool role_in_every;       /* besides */
    bool role_alone;          /* of OpenAI's chat: the role's event has no empty content */
    bool finish_absent;       /* of OpenAI's chat: no "finish_reason": null */
    bool delta_nulls;         /* of OpenAI's chat: null for what a delta does not have */
    int usage;                /* enum usage_when, of streams */
    int usage_details;        /* enum usage_details, of OpenAI's */
    bool usage_seconds;       /* of OpenAI's: its clock in the usage, as omlx states it */
    const char *usage_object; /* of OpenAI's chat: of the usage's own event; NULL: as all have */
    bool created_per_event;   /* of OpenAI's streams: not that of the request */
    bool usage_null;          /* of OpenAI's chat: null in all other events … */
    bool usage_repeats;       /* … and beside the finish once more in its own */
    bool says_stop;           /* the finish is never "length" */
    bool timings;             /* its own clock, where its dialect may leave that out */
    int timings_names;        /* enum timings_names, of OpenAI's */
    bool timings_in_every;    /* of OpenAI's chat: its pace so far in each piece */
    int64_t thinking_tokens;  /* of every reply, the first ones */
    const char *thinking;     /* their member, of OpenAI's chat; NULL: the dialect's */

    const char *completions_object; /* OpenAI's completions: of events; NULL: as documents have */
    bool completions_new_ids;       /* … a new id in each event */
    bool completions_one_usage;     /* … none in an event of its own, whatever `usage` says */
    bool anthropic_output_only;     /* Anthropic's streams never count the prompt */
    bool anthropic_says_stop;       /* … the end is "end_turn", never "max_tokens" */
    bool responses_done;            /* OpenAI's responses end with [DONE] */
    bool responses_heartbeat;       /* … their keep-alive is response.in_progress, again */

    int framing;                    /* enum framing_kind, of streams; HTTP/1.0 of all */
    const char *event_stream;       /* Content-Type of SSE; NULL: the dialect's, with a charset */
    const char *fields;             /* of the head of streams, each with CRLF; NULL: none */
    bool blank_document;            /* a reply that is no stream begins at once with a blank */
    const char *keepalive;          /* a line; NULL: none */
    int64_t keepalive_ns;           /* after that long a silence; 0: only at the start */
    int keepalive_start;            /* enum keepalive_start */
    int64_t context_limit;          /* prompt tokens beyond it are refused; 0: none */
    const char *context_error;      /* with {prompt} and {limit} in it; NULL: omlx' words */
    const char *context_error_type; /* NULL: "invalid_request_error" */
    int error_shape;                /* enum error_shape, of the OpenAI dialects */

    int64_t leftover_mb;     /* held by a child that outlives the server; 0: none */
    int64_t leftover_for_ns; /* … by that */
    double jitter; /* each token is off by up to this share of a step, either way; 0 .. 0.4 */
};

/* From a FILE (a name with a '/' or ending in ".json") or the NAME of one that tokaudit brings
 * along. TA_EFORMAT with the file and the field; *out is to be freed in any case. */
int profile_read(const char *name, struct profile *out, struct err *e) TA_NODISCARD;

void profile_done(struct profile *p);

/* Is text to be written down in the manner of OpenAI's APIs? */
bool profile_is_openai(const struct dialect *d);

#endif
