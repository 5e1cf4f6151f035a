/* What one analysis holds: traces, their runs, their requests, the figures, the claims. Filled by
 * load, runs, metrics, claims, findings in this order; rendered by report_*. Owned by struct audit,
 * freed by audit_free.
 *
 * Times are ns since the Unix epoch as the trace stamped them; -1 = did not happen or was not seen.
 * Names and symbols follow the metric table of the README. */
#ifndef ANALYZE_MODEL_H
#define ANALYZE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/recount.h"
#include "analyze/text_units.h"
#include "traces/base/arena.h"
#include "traces/base/clock.h"
#include "traces/base/err.h"
#include "traces/base/vec.h"
#include "traces/dialects/dialect.h"
#include "traces/ledger.h"
#include "traces/pipeline.h"
#include "traces/reader.h"
#include "traces/rotation.h"

/* An event that carries generated text. There are millions, most of what an analysis holds: what
 * few traces have of each (request_stated) is not here. */
struct output_event {
    int64_t t_ns;    /* its last byte became readable */
    uint32_t packet; /* frame that released that byte: events of one frame arrived together */
    uint32_t bytes;  /* of generated text */
};

/* An output event with which a call of a tool begins, or text of another kind than before: marks that
 * have no text were generated before it. */
struct text_turn {
    uint32_t event;
    enum delta_kind kind; /* of the text that begins */
};

#define EVIDENCE_NO_OFFSET                                                                         \
    UINT64_MAX /* of an event in the middle: its packet is known, no more                          \
                */

/* A place on the wire that a person can look up. */
struct evidence {
    size_t trace;    /* index in audit.traces */
    uint64_t packet; /* frame number as Wireshark shows it */
    uint64_t conn;
    bool response;   /* direction */
    uint64_t offset; /* in that direction's byte stream; EVIDENCE_NO_OFFSET */
    int64_t t_ns;
    const char *what; /* "first output event" */
};

enum outcome {
    OUTCOME_SUCCESS,
    OUTCOME_HTTP_ERROR,  /* status not 2xx */
    OUTCOME_ERROR_EVENT, /* an error inside a 200 reply */
    OUTCOME_CUT_SHORT,   /* framing incomplete, reset, or an event cut off */
    OUTCOME_NO_FINISH,   /* complete, but no finish was stated */
    OUTCOME_UNREADABLE,  /* complete, in a coding that is not read, or that was overwritten */
    OUTCOME_OPEN,        /* still running when the trace ended */
    OUTCOME_NO_RESPONSE,
    OUTCOME_UNSEEN, /* bytes are missing in the recording, and those that are there do not tell */
    OUTCOME_NOT_LLM /* no dialect claims it (GET /v1/models …): no figure */
};

enum grade { GRADE_WIRE, GRADE_WIRE_STATED, GRADE_STATED, GRADE_NOT_MEASURABLE };

/* A figure of one request. */
struct value {
    double v; /* in the metric's unit (s or tok/s); meaningless if not measurable */
    enum grade grade;
    const char *reason; /* why not measurable, or what the figure rests on ("n_1 assumed to be 1");
                           may be NULL */
};

/* Bytes on the wire from each read that completed events to the next, the first and the last read
 * left out: a buffer of a fixed size shows in them. */
struct bursts {
    uint32_t n;
    double mean, squares; /* of the differences from the mean, added up (Welford) */
};

/* Metrics of a request; rows of request_metrics[] in metrics.h. */
enum request_metric {
    M_TTFB,
    M_TTFR,
    M_TTFT,
    M_TTFO,
    M_TTST,
    M_E2EL,
    M_EFFECTIVE_LATENCY,
    M_STREAM_END,
    M_DECODE_WINDOW,
    M_TPOT,
    M_NTPOT,
    M_OUTPUT_TPS_USER,
    M_E2E_OUTPUT_TPS,
    M_STATED_TPS, /* the server's own decode rate */
    REQUEST_METRICS
};

struct request {
    size_t id;         /* 1.. over all traces, in order of trace and t0 */
    size_t trace, run; /* indices; run is RUN_NONE for OUTCOME_NOT_LLM */
    uint64_t conn;
    uint32_t nth;
    uint16_t client_port, server_port;
    const char *method, *path, *model, *body_sha256;
    uint64_t sent_id;   /* model_hash of its X-Request-ID; 0: it has none */
    uint64_t reply_id;  /* the same of the id that the first event of its reply gives */
    const char *server; /* Server field of the reply, else where it listens: "127.0.0.1:8000" */
    const struct dialect *dialect; /* NULL: OUTCOME_NOT_LLM */
    struct dialect_request asked;
    int status;
    enum outcome outcome;
    const char *finish; /* NULL: none */
    const char *error;  /* text of an error event or body, for people; NULL */
    bool stream_reply;  /* the reply is an event stream */
    bool guessed;       /* its dialect, by the reply alone */
    bool by_looks;      /* its dialect, by how the request looks, which no reply bears out */
    const char *loaded; /* nothing was to be generated: a model was loaded or unloaded, and this is
                           the server's word for it, or ""; NULL: it asked for text */
    bool damaged;
    bool warmup;
    bool clock_stepped;   /* the clock was set while it ran: its times are worth nothing */
    uint32_t clock_epoch; /* steps of the clock before it */

    int64_t t0, t0_end, h, head_end, c1, z, t_end;
    uint64_t t0_packet, h_packet, c1_packet, z_packet;
    uint64_t t0_offset; /* of the first byte, in the request stream */
    uint64_t c1_offset, o1_offset,
        om_offset;                /* of the last byte of those events, in the response stream */
    int64_t role_ns;              /* the first role event; -1 */
    int64_t answer_ns;            /* the first output event that is not reasoning alone; -1 */
    int64_t choice_ns;            /* the last choice event; -1 */
    uint32_t choice_events;       /* events with a role, text, a finish or nothing at all */
    int64_t done_ns;              /* the dialect's end mark; -1 */
    VEC(struct output_event) out; /* o_1 … o_M */
    VEC(int32_t) out_stated;      /* request_stated() of each; behind its end: -1 */
    uint64_t text_bytes;
    uint32_t events, pings, comments, usage_events, truncated_events;
    struct usage usage;            /* the last stated; no start value */
    int64_t total_stated;          /* with it, of the prompt and all generated; 0: not stated */
    uint64_t identified;           /* tokens that events gave the ids of */
    int64_t recounted;             /* tokens of its text by --tokenizer; -1: not counted */
    const char *recount_why;       /* why not; NULL: nothing to count it with was given */
    struct server_timings timings; /* the last stated */
    int64_t n1;                    /* tokens readable together with o_1, if stated; -1 */

    const struct ledger_entry *ledger; /* NULL: none */
    const char *name;                  /* ledger name, or NULL */
    int64_t group;                     /* index of its release group in its run; -1: none */
    bool alone;                        /* no other request of the trace was in flight with it */
    int64_t repeat;                    /* of the ledger; -1 */

    /* What its text and its counts may be mistaken for. */
    struct text_units text;
    uint64_t reasoning_bytes, tool_bytes;         /* of it */
    uint32_t content_events, first_choice_events; /* with content; with text of choice 0 */
    uint32_t choices_seen;                        /* the highest number of a choice, and one */
    uint32_t calls, thoughts;              /* of tools, by their names; runs of thinking */
    bool hidden;                           /* there was thinking of which no text was sent */
    enum delta_kind first_kind, last_kind; /* of its text */
    VEC(struct text_turn) turns; /* where a call begins, or text of another kind */
    int64_t content_ns;                           /* the first event with content; -1 */
    int64_t keepalive_ns;                         /* the first comment or ping; -1 */
    uint32_t stated_times;          /* events that stated completion tokens, a start included */
    int64_t stated_sum, prompt_sum; /* of all those statements, added up */
    int64_t stated_last; /* the last of counts that were of one event each: usage holds their sum;
                            -1: they were none */
    const struct recount_apart *apart; /* NULL: not counted */

    /* What findings look at. */
    uint64_t body_bytes;         /* of the request, as sent */
    uint64_t syn_packet;         /* of that connection's SYN; 0 */
    int64_t syn_ns, accepted_ns; /* SYN and its answer, of a connection's first request; -1 */
    enum end_kind end;           /* of the response, or of what was to bring it */
    bool left;                   /* the client ended the connection before that */
    bool whole;                  /* the response was complete, but for what came behind the
                                    end mark to a client that had hung up */
    uint32_t longest_event;      /* bytes of its data */
    uint32_t retransmissions;    /* on its connection while it ran, both directions */
    uint32_t needless;           /* of those: the receiver had it already, as it says */
    uint32_t zero_windows;       /* times that the client's window closed then */
    struct tcp_place closed, resent, reset; /* the first of each, and what ended it */
    uint64_t left_packet;                   /* by which the client ended it, at t_end; 0 */
    struct tcp_wait unread;   /* the longest that bytes lay unread at the client meanwhile … */
    struct tcp_wait late_ack; /* … or waited to be acknowledged; n = 0: none is known */
    uint32_t repeated; /* pieces of text equal to the one 1, 2, 3 or 4 before: the most of these */
    struct bursts bursts;

    /* What causes look at. */
    uint64_t o1_body, om_body; /* bytes of the decoded body up to and with those events */
    uint64_t body_end;         /* … of all of it */
    uint32_t straddling;       /* output events whose bytes came in more than one read */
    uint32_t cut_events;       /* pieces of text with a '"' in them … */
    uint64_t cut_bytes;        /* … and what follows it, itself included */
    size_t retry_of;           /* index + 1 of the attempt before it (retries.h); 0: none */
    bool retried;              /* there is another attempt after it */

    /* By which both legs of a proxy are told (relays.h). */
    uint8_t client_host[16], server_host[16]; /* addresses as of struct endpoint; zeros: not known */
    uint64_t said_hash;          /* of all its text, in whatever pieces it came; 0: none */
    const struct request *inner; /* in audit.inner or requests: what the proxy asked another server
                                    for, to answer it; NULL: nothing that was seen */
    size_t inner_of;             /* of such a request in audit.inner: index + 1 of the one it was
                                    asked for; 0: it is none */

    struct value metrics[REQUEST_METRICS];
    VEC(const char *) anomalies; /* ids, each once */
};

/* The clock was set between two pairs. */
struct clock_step {
    int64_t step_ns;
    uint64_t frame; /* the clock block that shows it: it is somewhere before */
    struct clock_pair before, after;
};

/* One of several files of a rotation that were read as one trace. */
struct trace_file {
    const char *path, *sha256;
    uint64_t frames; /* of the files before it: packet numbers of this one count on from them */
};

struct trace_info {
    const char *path, *label, *vantage, *host, *server, *simulated; /* NULL = not stated */
    struct reader_health health;
    struct pipeline_totals totals;
    int64_t epoch_ns;             /* of its first packet */
    bool closed;                  /* the closing block was there */
    struct rotation_part part;    /* which part of a rotation it is, or begins with */
    const char *next;             /* the file that goes on behind it; NULL: none is known */
    VEC(struct trace_file) files; /* empty: one file */
    const char *redacted;         /* what was overwritten, as the manifest says; NULL: not stated */
    const char *source_damage;    /* of a copy: what its source lacked, in words; NULL: nothing */
        uint64_t samples;             /* system samples in it */
    int64_t clock_step_ns;  /* biggest step of real against monotonic time; 0 = none beyond 1 ms */
    uint64_t unread_blocks; /* custom blocks whose JSON could not be read */
    bool clock_known;       /* there were clock pairs to see it by */
    VEC(struct clock_step) steps;
    VEC(struct ledger_entry) ledger;
    VEC(const struct ledger_entry *) unseen; /* of those, not on the wire: most were never sent */
    VEC(const char *) replaced; /* what a replay sent otherwise than recorded, in words */
    VEC(struct sample_point) sys;
};

/* A system sample, as far as figures and plots need it. Bytes; -1 = not sampled. */
struct sample_point {
    int64_t t_ns;
    int64_t mem_used, mem_total; /* of the host: total minus available */
    int64_t server_rss;
    int64_t server_cpu_ns; /* cumulative */
};

struct run {
    size_t id, trace;
    const char *label, *workload, *server, *model;
    bool inferred;        /* no ledger */
    int64_t repeat;       /* -1: all of the trace, or several that overlap in time */
    size_t repeats;       /* of the ledger, in it; 0: no ledger */
    int64_t t_ns, end_ns; /* first t0; T ends at the last end of an attempt */
    double concurrency;   /* average of requests in flight; NAN: not measurable */
    VEC(size_t) requests; /* indices by t0, warm-up left out; empty: all was warm-up */
};

#define RUN_NONE SIZE_MAX

struct interval {
    double lo, hi;
};

/* A figure over many requests. Scope members are indices + 1; 0 = all. Units: s tok/s req/s 1. */
struct metric {
    const char *name, *stat, *unit;
    double value;
    size_t n;
    double ci_low, ci_high; /* NAN: none */
    enum grade grade;
    const char *formula, *reason;
    size_t trace, run, request;
    const char *workload; /* NULL: all; set where a trace holds several workloads */
};

enum severity { SEVERITY_FAIL, SEVERITY_WARN, SEVERITY_INFO };

struct effect {
    const char *metric;
    double percent;
};

struct finding {
    const char *id, *title, *detail;
    enum severity severity;
    size_t trace, run, request; /* index + 1; 0 = all */
    VEC(struct effect) effects;
    VEC(struct evidence) evidence;
};

enum verdict { VERDICT_CONFIRMED, VERDICT_DIFFERS, VERDICT_IMPOSSIBLE, VERDICT_NOT_MEASURABLE };

struct cause {
    const char *id;      /* "P43" */
    const char *title;   /* "Server generates first, streams afterwards" */
    const char *formula; /* "U/(tl-tf)" */
    double value;
    struct interval interval;
    bool by_sign;  /* its sign is on the wire; else only the number fits */
    bool of_part;  /* it fits a part of what the claim may be about, not all of it */
    bool inverted; /* a rate, turned round for a claim of time */
    const char *note;
    double effect_percent; /* beside a confirmed claim, which it gives too: how far it moves the
                        figure; NAN: it stands for the difference */
    bool exact;   /* it gives the claim to the digit, not only to the tolerance */
    bool of_some; /* of some of the requests that have text, not of all */
    bool all_but_right; /* it hardly differs from the figure, had that been measurable: no proof */
};

struct claim_basis;

struct claim {
    const char *text;                /* as given: "rate@3=14000tok/s" */
    const char *tool;                /* NULL */
    const char *file;                /* that it stands in; NULL: the command line */
    const struct claim_basis *basis; /* whose definition, which requests (claims.h); NULL: any */
    bool unopposed;     /* nothing speaks for or against it: reports sum such claims up */
    const char *metric; /* name of the grammar: "rate", "ttft" … */
    const char *stat;   /* "value", "p50" … */
    size_t request;     /* ordinal from 1; 0: the run */
    size_t trace;       /* number of the trace it is about; 0: all */
    double claimed;     /* in the metric's base unit */
    const char *claimed_text, *unit;
    struct interval claimed_interval; /* as far as it is held to it */
    double printed;                   /* half a unit of its last digit */

    double recomputed;         /* NAN: not measurable */
    const char *recomputed_as; /* which figure: "output_tps_user" */
    struct interval interval;
    enum verdict verdict;
    const char *reason;  /* in words */
    double token_factor; /* all token figures of its file are so many times what the bytes say; 0:
                            not so */
    VEC(struct cause) causes;
    VEC(struct evidence) evidence;
};

/* Of absolute values, ns; n = 0: there were none. p99 is a figure from SPREAD_P99_MIN on. */
enum { SPREAD_P99_MIN = 100 };
struct spread {
    size_t n;
    int64_t p50, p99, max;
};

/* What the time of a request is held against: when it was due, or, where requests wait for each
 * other, its time in the recording (both runs' first requests aligned). */
enum fidelity_basis { FIDELITY_UNTIMED, FIDELITY_DUE, FIDELITY_RECORDED };

struct fidelity_point {
    size_t request;   /* index */
    int64_t at_ns;    /* when it should have been sent, from the first that should */
    int64_t error_ns; /* sent later than that, by the packets */
};

/* Requests under way at once. */
struct in_flight {
    double average; /* NAN: not known */
    size_t peak;
};

/* A request begins (1) or ends (-1). */
struct flight_edge {
    int64_t t_ns;
    int change;
};

/* So many entries of a ledger that ended in one way. */
struct ledger_count {
    const char *outcome; /* "refused" */
    size_t n;
    bool sent; /* by the ledger; else nothing of them was ever sent */
};
struct ledger_counts {
    struct ledger_count *v;
    size_t n, cap;
};

/* How a load was driven, by its ledger and the packets (analyze/fidelity.h). */
struct fidelity {
    size_t trace;
    size_t entries, found;                 /* of the ledger; … found on the wire */
    struct ledger_counts unseen;           /* those not found, by outcome */
    size_t bodies_same, bodies_differ;     /* found, whose hash was planned */
    size_t statuses_same, statuses_differ; /* against the recording */
    enum fidelity_basis basis;
    struct spread send_error;
    double drift; /* growth of the send error: s per s; NAN: not measurable */
    VEC(struct fidelity_point) points;
    struct spread release_skew; /* of groups with more than one member */
    bool has_recorded;
    struct in_flight now, recorded; /* of the first time round, where there is a recording */
    VEC(struct flight_edge) edges, edges_recorded; /* of those, in order, ends first */
    size_t connections, connections_recorded;
    size_t follow_ups, kept; /* requests meant for the connection of an earlier one; … sent there */
    size_t counted;          /* found, with token counts stated then and now */
    size_t counts_differ;
    int64_t input, input_recorded, output, output_recorded; /* tokens, of those */
    struct spread e2el, effective; /* of counted requests that were due: from t0; from due */
};

/* How a percentile is read off n ascending values. */
enum percentile_method {
    PERCENTILE_LINEAR,  /* between order statistics: type 7, numpy, pandas */
    PERCENTILE_NEAREST, /* nearest rank: the value number ceil(n p) */
    PERCENTILE_LOADGEN, /* the value at index floor(n p), from 0 */
    PERCENTILE_WEIGHTED /* the least value that at least p of the weight is not above; figures per
                           token weigh as many tokens as they are over */
};

struct peer_reports;

struct audit {
    struct arena texts;           /* everything textual below */
    const struct dialect *forced; /* every POST is read as this one; NULL: each as what it is */
    struct recounter *recounter;  /* NULL: texts are not counted again; the caller's */
    VEC(struct trace_info) traces;
    VEC(struct run) runs;
    VEC(struct request) requests;
    VEC(struct request) inner; /* that a proxy sent to answer one of requests, by trace and t0: the
                                  same work seen a second time, which is in no figure. id is 0 */
    VEC(struct metric) metrics;
    enum percentile_method percentile; /* how theirs were read off */
    const struct peer_reports *as; /* what other tools would have printed; NULL: not asked for */
    VEC(struct fidelity) fidelity;
    VEC(struct finding) findings;
    VEC(struct claim) claims;
};

/* Thresholds; every one is an option of `tokaudit analyze`. */
struct audit_options {
    int64_t gate_events;        /* M >= 3 */
    int64_t gate_reads;         /* in >= 3 reads */
    int64_t gate_tokens;        /* N >= 8 */
    int64_t gate_window_ns;     /* decode_window >= 50 ms */
    double gate_share;          /* decode_window >= 0.05 of e2el */
    double tolerance;           /* of a claim: 0.01 */
    int64_t vantage_ns;         /* allowance an end: 1 ms */
    int64_t group_ns;           /* release groups without a ledger: 50 ms */
    int64_t run_gap_ns;         /* 0: a trace without ledger is one run */
    int64_t claim_trace;        /* number of the trace that claims are about; 0: all */
    double max_rate;            /* tok/s nobody can reach; 0: none given */
    int64_t warmup;             /* without a ledger, the first so many of each run are warm-up: 0 */
    double stall_factor;        /* a stall is a gap of more than so many medians of its stream: 5 */
    double stall_correlation;   /* of the excess time with itself a period later: 0.3 */
    double stall_score;         /* m R^2 of the stalls' times on that period: 8.4 */
    int64_t stall_cycles;       /* so many periods at least: 5 */
    double prefill_exponent;    /* of ttft over the prompt, from which it is superlinear: 1.3 */
    double serial_share;        /* of requests that waited for those before them: 0.8 */
    double early_share;         /* of max_tokens, below which an answer stopped early: 0.5 */
    double cache_share;         /* of prompt tokens that were cached, from which it is said: 0.5 */
    double bytes_per_token_max; /* of text, on average over a reply: 40 */
    double bytes_per_token_min; /* 0.5 */
    double count_tolerance;     /* of recounted against stated tokens: 0.03 */
    int64_t hidden_wait_ns;  /* of ttft, that the server's own prompt time leaves out: 100 ms … */
    double hidden_share;     /* … and this share of it: 0.2 */
    double stated_rate;      /* by which the server's own rate may differ: 0.1 */
    uint64_t bandwidth;      /* of the server's memory, bytes/s; 0: not given */
    uint64_t active_bytes;   /* that each token reads; 0: not given */
    double slower_together;  /* speedup, below which a server degrades: 0.95 */
    double faster_together;  /* … above which it batches: 1.05 */
    double cold_factor;      /* of the longest other wait, that a first one exceeds: 2 */
    double packing_spread;   /* tokens an event, most over least, by which text is unlike: 1.3 */
    int64_t stall_moments;   /* at which all streams stopped: 3 … */
    double stall_share;      /* … and the share of their time lost in them: 0.02 */
    int64_t late_ns;         /* behind its due time, from which a request is late: 20 ms … */
    double late_share;       /* … and the share that may be: 0.01 */
    int64_t busy_before_ns;  /* of the run, with replies from before it under way: 100 ms */
    double ramp_share;       /* of the time, below the load's plateau: 0.1 */
    double burst_factor;     /* of the later rate of sending, in the first second: 1.5 */
    double dilution;         /* mean ttft over its median: 2 */
    double connect_share;    /* of ttft, that a connection takes: 0.05 */
    int64_t slow_connect_ns; /* until a connection is accepted: 900 ms */
    int64_t unread_ns;       /* that bytes lie unread at the client: 200 ms … */
    double unread_share;     /* … and this share of the request's time: 0.05 */
    int64_t late_ack_ns;     /* until bytes are acknowledged, beyond the way there: 500 ms */
    double resent_share;     /* of segments, that were sent again: 0.001 */
    double clump_events;     /* a read, from which events come in clumps: 3 */
    int64_t clump_gap_ns;    /* … and so long between them: 10 ms */
    double tokens_per_event; /* above which an event has several: 1.5 */
    double piece_share;      /* of the text in one event, among single tokens: 0.2 */
    uint64_t long_line;      /* bytes of an event that readers may give up at: 64 KiB */
    double timeout_spread;   /* of the ages at which requests are given up: 0.02 */
    double repeat_share;     /* of the pieces of a text, that repeat those before: 0.9 */
    enum percentile_method percentile;
    double slo[REQUEST_METRICS]; /* s at most, for a request to be good; 0: no limit */
};

extern const struct audit_options audit_defaults;

void audit_free(struct audit *a);

/* "linear" … */
const char *percentile_name(enum percentile_method m);

/* Text that lives as long as a. */
const char *audit_printf(struct audit *a, const char *fmt, ...) TA_PRINTF(2, 3);

/* Are both texts the same, or both NULL? */
bool model_same_text(const char *a, const char *b);

/* Of a text that is only compared; never 0. */
uint64_t model_hash(struct slice s);

/* The hash of a text that goes on; h is 0 at its start, and stays so of no text. */
uint64_t model_hash_more(uint64_t h, struct slice s);

/* Were both sent to the same server? By the traces' labels, else by the Server field and the model.
 */
bool model_same_server(const struct audit *a, const struct request *x, const struct request *y);

/* What a kind is called in every report. */
const char *outcome_name(enum outcome o);
const char *grade_name(enum grade g);
const char *severity_name(enum severity s);
const char *verdict_name(enum verdict v);

/* Packets that the capture lost; -1: not known. Who records its own reads and writes loses none. */
int64_t trace_drops(const struct trace_info *t);

/* What the server of a run is called: the trace's label, unless that only repeats the workload;
 * else the simulated profile, else the Server field. NULL: nothing is known. */
const char *run_server_name(const struct audit *a, const struct run *run);

/* The file in which Wireshark shows that packet, and its number there; NULL: the trace is one file,
 * and its number is what it is. */
const char *trace_file_of(const struct trace_info *t, uint64_t packet, uint64_t *frame);

/* Is all there that was on the wire: whole file, no drops known, no packet cut, no byte unseen? */
bool trace_complete(const struct trace_info *t);

/* N, the output tokens of a request and where they come from: stated by the server, else -1. */
int64_t request_tokens(const struct request *r);

/* Counts were stated, and of all choices or of some is not known: there is no N for that. */
bool request_counts_open(const struct request *r);

/* Completion tokens stated up to and with output event k; -1: not stated. */
int32_t request_stated(const struct request *r, size_t k);

/* They are stated as so many; above INT32_MAX that. -1: they are not. */
void request_state(struct request *r, size_t k, int64_t tokens);

/* What a request owns beside its texts. */
void request_free(struct request *r);

/* Do events of several choices, or prompts of a list, come between each other? Which gap is whose is not
 * kept then. */
bool request_interleaves(const struct request *r);

/* The most tokens that r allowed: max_tokens for each choice, and for each prompt of a list, as far as
 * they are known; -1: it set no limit. */
int64_t request_token_limit(const struct request *r);

#endif
