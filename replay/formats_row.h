/* Between the readers of workload files (formats*.c): one row, and what is known while reading. */
#ifndef REPLAY_FORMATS_ROW_H
#define REPLAY_FORMATS_ROW_H

#include "replay/formats.h"
#include "replay/formats_input.h"
#include "replay/spool.h"
#include "traces/base/jscan.h"

enum formats_format {
    FORMAT_MOONCAKE,
    FORMAT_TIMED_TRACE,
    FORMAT_TRACE_SYNTHETIC,
    FORMAT_WEKA,
    FORMAT_BAILIAN,
    FORMAT_BURSTGPT,
    FORMAT_AZURE,
    FORMAT_SHAREGPT,
    FORMAT_SINGLE_TURN,
    FORMAT_MULTI_TURN,
    FORMAT_RAW_PAYLOAD,
    FORMAT_INPUTS_JSON,
    FORMAT_CUSTOM,
    FORMAT_NONE
};

/* How the file is cut into rows. */
enum formats_container { IN_LINES, IN_ARRAY, IN_DATA, IN_CSV };

/* A number as it was written: whole + nano / 10^9, of whatever unit. Nothing is rounded before the
 * unit is known. */
struct formats_number {
    int64_t whole;
    int32_t nano;
    bool fraction; /* it has one that is not 0 */
};

enum formats_content {
    CONTENT_WORDS,    /* made: words of it, its ids in content */
    CONTENT_TEXT,     /* a JSON string in its quotes */
    CONTENT_MESSAGES, /* a JSON array */
    CONTENT_BODY      /* the exact bytes */
};

struct formats_row {
    size_t place; /* line or element, from 1 */
    size_t turn;  /* of a row that holds several requests, from 0 */
    bool has_time;
    struct formats_number time;
    int64_t delay_ns; /* after the one before it; 0: none */
    int64_t previous; /* row of its session that it comes after; -1: none */
    int64_t in, out;  /* tokens; -1: not stated */
    enum formats_content kind;
    struct slice content;      /* spooled, as are … */
    struct slice tools, extra; /* … JSON, or n is 0 */
    int64_t t_ns;              /* once the unit is known */
};

/* Why rows are left out. */
enum formats_skip {
    SKIP_NO_INPUT,
    SKIP_NO_OUTPUT,
    SKIP_NO_TEXT,
    SKIP_MEDIA,
    SKIP_NO_HUMAN,
    SKIP_KINDS
};

struct formats_key {
    uint64_t hash; /* of a session's name */
    int64_t row;   /* its last; -1: the place is free */
};

struct formats_rows {
    struct formats_input *in;
    enum formats_format format;
    enum formats_container container;
    const struct formats_options *o;
    struct spool *spool;
    bool timed; /* some row has a time */
    VEC(struct formats_row) v;
    size_t skipped[SKIP_KINDS], first_skipped[SKIP_KINDS];
    size_t with_images, more_turns, delta_turns, orphans; /* what is to be said at the end */
    int columns[8];                                       /* of a CSV file: see formats_csv.c */
    struct formats_key *keys;
    size_t n_keys, cap_keys;
    struct buf scratch;
};

/* Adds the rows that one record holds: a JSON text, or a line of CSV. */
int formats_json_record(struct formats_rows *r, struct slice text, struct err *e) TA_NODISCARD;
int formats_csv_header(struct formats_rows *r, struct slice line, struct err *e) TA_NODISCARD;
int formats_csv_record(struct formats_rows *r, struct slice line, struct err *e) TA_NODISCARD;

/* The format of a CSV file with this header; FORMAT_NONE. */
enum formats_format formats_csv_detect(struct slice header);

int formats_add_row(struct formats_rows *r, const struct formats_row *row, struct err *e)
    TA_NODISCARD;
void formats_skip_row(struct formats_rows *r, enum formats_skip why);

/* The last row of the session of that name, -1 if there is none; and: the row added last becomes
 * it. */
int64_t formats_session_find(const struct formats_rows *r, struct slice name);
void formats_session_set(struct formats_rows *r, struct slice name);

/* "12", "1.5", "1e-05" (of Python); false if it is none of these or out of range. */
bool formats_number(struct slice text, struct formats_number *out);

/* A whole number of tokens, also as 12.0; false if it is none. */
bool formats_tokens(struct slice text, int64_t *out);

/* "2023-11-16 18:17:03.9799600" and "2024-05-10 00:00:00+00:00" as seconds since the epoch. */
bool formats_stamp(struct slice text, struct formats_number *out);

/* Sets t_ns of all rows, from the earliest on (-1: it has no time of its own), and says what was
 * taken for the unit. */
int formats_set_times(struct formats_rows *r, struct buf *says, struct err *e) TA_NODISCARD;

/* Words that one of hash_ids stands for, as far as the rows tell. */
int64_t formats_block_words(const struct formats_rows *r, struct buf *says);

/* Appends the requests. */
int formats_make_plan(struct formats_rows *r, struct plan *out, struct buf *says, struct err *e)
    TA_NODISCARD;

const char *formats_format_name(enum formats_format f);

/* "line 3" or "element 3" of a row. */
const char *formats_row_place(const struct formats_rows *r, size_t place, char out[48]);

/* A line for people. */
void formats_say(const struct formats_rows *r, struct buf *says, const char *fmt, ...)
    TA_PRINTF(3, 4);

#endif
