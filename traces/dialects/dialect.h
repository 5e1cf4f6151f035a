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
    DELTA_TOKENS,  /* so many tokens were identified, one by one, in this event */
    DELTA_TIMINGS, /* the server's own clock */
    DELTA_FINISH,
    DELTA_ERROR,
    DELTA_PING,   /* an event that only keeps the connection alive */
    DELTA_EMPTY,  /* an event that says nothing */
    DELTA_HIDDEN, /* thinking was generated here, of which no readable text is sent */
    DELTA_LOADED, /* a model was loaded or unloaded, and nothing was to be generated */
    DELTA_DONE    /* the dialect's end mark */
};

/* -1: not stated. The prompt with what was cached of it. */
struct usage {
    int64_t prompt, completion, cached, reasoning;
};

enum usage_sort {
    USAGE_STATED,  /* for the whole reply, or all of it so far: the place in the stream tells */
    USAGE_RUNNING, /* for all so far, by the dialect's own word: more comes */
    USAGE_START    /* before anything was generated: its completion count is no count */
};

/* NAN: not stated. Milliseconds and tokens per second as the server printed them, or (Ollama prints
 * counts and nanoseconds) as follows from them without any doubt. */
struct server_timings {
    double prompt_n, prompt_ms, predicted_n, predicted_ms, predicted_per_second;
    double load_ms, total_ms; /* Ollama: until the model was there, and of the whole request */
};

struct delta {
    enum delta_kind kind;
    uint32_t choice;
    uint32_t tokens;      /* of DELTA_TOKENS */
    enum usage_sort sort; /* of DELTA_USAGE */
    bool so_far; /* text is (DELTA_TOKENS: tokens are) all since the start, not only what is new */
    bool of_choice;    /* usage is of this choice (or prompt of several) alone */
    bool of_message;   /* text of a stream that stands where a document has it: what deltas said
                          before, it says again */
    bool opens;        /* DELTA_TOOL: the name, with which a call begins */
    bool unless_sent;  /* DELTA_HIDDEN: but for thinking whose text has come by now */
    struct slice text; /* DELTA_TEXT … DELTA_REFUSAL: never empty; FINISH: the reason; ERROR: the
                          message; LOADED: the server's word for it, or none */
    struct usage usage;
    int64_t total; /* with usage: of the prompt and all that was generated; 0: not stated */
    struct server_timings timings;
};

struct delta_sink {
    void *ctx;
    int (*delta)(void *ctx, const struct delta *d);
};

struct dialect_request {
    struct slice model;        /* {NULL, 0}: not stated */
    int stream;                /* 1, 0; -1: not stated (dialect_streams) */
    bool usage_asked;          /* of a stream */
    bool echo;                 /* the reply repeats the prompt before what is generated */
    bool ignore_eos;           /* it is to go on until max_tokens */
    int64_t max_tokens;        /* -1: not stated */
    int64_t choices;           /* n; 1 by default */
    int64_t candidates;        /* generated and counted, of which choices are sent; 0: not stated */
    struct slice last_message; /* text of the last message, for people; may be cut */
    int64_t prompt_words;      /* runs of non-blanks in all texts of the prompt, and token ids */
    int64_t media;             /* pictures, sounds and files in the prompt */
};

/* One generation that serve writes out. All texts are ours. */
struct dialect_reply {
    const char *id, *model, *fingerprint; /* fingerprint may be NULL */
    int64_t created_s;
    int64_t at_ns;      /* of what the next event tells, since the epoch (Ollama); 0: created_s */
    struct usage usage; /* prompt -1: none is written */
    struct server_timings timings; /* predicted_ms 0 or NAN: none are written */
    const char *finish;            /* "stop", "length", "tool_calls": each dialect has its word */

    /* How servers of one dialect differ; all zero is the dialect's own document. */
    bool usage_with_finish; /* OpenAI: the finish states the usage, no event of its own */
    bool usage_in_every;    /* OpenAI: each piece states the usage, as it stands in `usage` */
    bool role_in_every;     /* OpenAI: each delta names the speaker */
    bool usage_null;        /* OpenAI's chat: where no usage is stated, it is null */
    bool usage_repeats;     /* OpenAI's chat: the usage's own event has the finish once more */
    double pace;            /* OpenAI's chat: tokens a second so far, in each piece; 0: not there */
    const char *reasoning;  /* OpenAI: the thinking's member; NULL: "reasoning_content" */
    bool role_in_finish;    /* OpenAI's chat: the finish names the speaker */
    bool role_alone;        /* OpenAI's chat: the role's own event has no content */
    bool finish_absent;     /* OpenAI's chat: no finish_reason before the finish */
    bool delta_nulls;       /* OpenAI's chat: what a delta does not have is null in it */
    bool usage_seconds;     /* OpenAI: the clock is in the usage, in seconds, and nowhere else */
    bool timings_cached_n;  /* OpenAI: the clock has mlx-serve's members, not llama.cpp's */
    const char *usage_object; /* OpenAI's chat: "object" of the usage's own event; NULL: as all */
    const char *object;       /* OpenAI's completions: "object" of events; NULL: as the API has */
    bool end_mark;            /* OpenAI's responses: [DONE] behind the last event */
    bool output_count_only;   /* Anthropic's streams: 0 for the prompt, and never more of it */
};

/* How far the writing of one stream is: put_begin starts it, dialect_writing_done frees it. */
struct dialect_writing {
    struct buf text;  /* of the open block: some dialects repeat it */
    struct buf items; /* closed blocks as JSON, with commas between */
    struct buf name;  /* of the open block's tool */
    bool open;
    enum delta_kind kind; /* of the open block */
    int64_t index;        /* of the open block or of the next one */
    int64_t sequence;     /* of the next event or piece */
};

void dialect_writing_done(struct dialect_writing *w);

/* What a reply consists of. The first DELTA_TOOL behind another kind is the tool's name, those
 * behind it are its arguments. */
struct dialect_part {
    enum delta_kind kind; /* DELTA_TEXT … DELTA_REFUSAL */
    struct slice text;    /* not empty */
};

struct dialect {
    const char *name;        /* "openai-chat" */
    const char *path;        /* where its requests are sent: "/v1/chat/completions" */
    const char *models_path; /* and where its models are listed */
    const char *stream_type; /* Content-Type of a stream */
    bool streams;            /* if the request does not say */

    /* 0..100: is a request with this method, target and body of this dialect? By path and shape,
     * never by the server's name. */
    int (*claims)(struct slice method, struct slice target, struct slice body);

    /* 0..100: is this the data of an event, or the document, of a reply in this dialect? */
    int (*recognises)(struct slice data);

    /* Reads a request body; texts go into a. False if the body is not its JSON. */
    bool (*request)(struct slice body, struct arena *a, struct dialect_request *out);

    /* The deltas of one event (EVENT_DATA only), at least one, in order of appearance; of several
     * kinds where the event carries several. scratch is the caller's, cleared by each call; texts
     * of deltas live in it or in the event until the call returns. Returns what the sink returned.
     * A body that is no JSON gives one DELTA_ERROR with the text "not JSON". */
    int (*event)(const struct event *ev, struct buf *scratch, struct delta_sink out);

    /* The deltas of a reply that is one document. */
    int (*document)(struct slice body, struct buf *scratch, struct delta_sink out);

    /* A stream, written: each appends whole events, framing included, or nothing where the dialect
     * has no such event. */
    void (*put_begin)(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w);
    void (*put_piece)(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      struct dialect_part piece);
    void (*put_finish)(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w);
    void (*put_usage)(struct buf *out, const struct dialect_reply *r,
                      struct dialect_writing *w); /* NULL: the finish states it */
    void (*put_done)(struct buf *out, const struct dialect_reply *r,
                     struct dialect_writing *w); /* NULL: no end mark behind the finish */
    void (*put_ping)(struct buf *out);           /* keep-alive; NULL: none is known */
    void (*put_fault)(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      const char *message, const char *type); /* instead of the finish */

    /* Whole JSON bodies. */
    void (*put_document)(struct buf *out, const struct dialect_reply *r,
                         const struct dialect_part *parts, size_t n);
    void (*put_error)(struct buf *out, int status, const char *message, const char *type);
    void (*put_models)(struct buf *out, const char *const *models, size_t n, int64_t created_s);
};

extern const struct dialect dialect_openai_chat, dialect_openai_completions,
    dialect_openai_responses, dialect_anthropic_messages, dialect_ollama_chat,
    dialect_ollama_generate, dialect_llama_completion, dialect_tgi, dialect_sglang_generate,
    dialect_lmstudio_chat;

/* All of them, NULL at the end. */
extern const struct dialect *const dialect_all[];

/* The dialect that claims it best, or NULL. */
const struct dialect *dialect_find(struct slice method, struct slice target, struct slice body);

/* How well d knows a request that it claims. */
enum dialect_trust {
    DIALECT_LOOKS,  /* much else looks so: what bears it out is its reply */
    DIALECT_LIKELY, /* the path and the body go together, but applications have such paths too: a
                       good reply that is nothing like the dialect's speaks against it */
    DIALECT_SURE
};
enum dialect_trust dialect_trust(const struct dialect *d, struct slice method, struct slice target,
                                 struct slice body);

/* False: what is sent there is for something else than to generate, as all know of that path
 * (…/embeddings, …/cancel), whatever its body and the reply look like. */
bool dialect_generates(struct slice target);

/* Where the request does not tell: the dialect whose events or document this looks like most, or
 * NULL. */
const struct dialect *dialect_guess(struct slice data);

/* NULL: no dialect of that name. */
const struct dialect *dialect_named(const char *name);

/* Does a request want a stream? By what it states, else by its path, else by the dialect's default.
 */
bool dialect_streams(const struct dialect *d, struct slice target, const struct dialect_request *q);

#endif
