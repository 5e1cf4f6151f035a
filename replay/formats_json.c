/* Rows of JSON: Mooncake's and its relatives, Bailian, ShareGPT, AIPerf's inputs, vLLM's custom
 * (peers-and-formats 4.1). A row's known members are noted as they stand; texts and messages reach
 * the body as they were written, escapes and all. */
#include "replay/formats_row.h"

#include <inttypes.h>

#include "traces/base/clock.h"

enum { MOST_TOKENS = 10000000, MOST_BLOCKS = 1000000, MOST_TURNS = 1024 };

enum member {
    M_TIMESTAMP,
    M_INPUT,
    M_OUTPUT,
    M_HASH_IDS,
    M_CHAT,
    M_PARENT,
    M_SESSION,
    M_DELAY,
    M_TEXT,
    M_TEXTS,
    M_MESSAGES,
    M_MODE,
    M_PAYLOAD,
    M_PAYLOADS,
    M_TURNS,
    M_TOOLS,
    M_EXTRA,
    M_CONVERSATIONS,
    M_MEDIA,
    MEMBERS
};

static const struct {
    const char *name;
    enum member m;
} names[] = {
    {"timestamp", M_TIMESTAMP},  {"t", M_TIMESTAMP},
    {"input_length", M_INPUT},   {"in", M_INPUT},
    {"output_length", M_OUTPUT}, {"out", M_OUTPUT},
    {"output_tokens", M_OUTPUT}, {"hash_ids", M_HASH_IDS},
    {"chat_id", M_CHAT},         {"parent_chat_id", M_PARENT},
    {"session_id", M_SESSION},   {"delay", M_DELAY},
    {"text_input", M_TEXT},      {"text", M_TEXT},
    {"prompt", M_TEXT},          {"texts", M_TEXTS},
    {"messages", M_MESSAGES},    {"message_mode", M_MODE},
    {"payload", M_PAYLOAD},      {"payloads", M_PAYLOADS},
    {"turns", M_TURNS},          {"tools", M_TOOLS},
    {"extra", M_EXTRA},          {"conversations", M_CONVERSATIONS},
    {"image", M_MEDIA},          {"images", M_MEDIA},
    {"audio", M_MEDIA},          {"audios", M_MEDIA},
    {"video", M_MEDIA},          {"videos", M_MEDIA},
};

/* The members of an object as they stand; n is 0: absent or null. */
struct members {
    struct slice v[MEMBERS];
};

static bool is_kind(struct slice v, char first)
{
    return v.n > 0 && *v.p == first;
}

static struct slice unquoted(struct slice v)
{
    return is_kind(v, '"') ? (struct slice){v.p + 1, v.n - 2} : v;
}

static bool is_empty(struct slice v)
{
    return v.n <= 2 && (is_kind(v, '"') || is_kind(v, '[')); /* "" and [] */
}

static int collect(const struct formats_rows *r, struct slice text, struct members *out,
                   struct err *e)
{
    struct jscan s = jscan_over(text);
    struct slice key;
    *out = (struct members){0};
    if (jscan_next(&s) != JT_OBJECT)
        return formats_input_bad(r->in, e, "expected a JSON object");
    while (jscan_member(&s, &key)) {
        struct slice value = jscan_raw(&s);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (slice_is(key, names[i].name) && !slice_is(value, "null"))
                out->v[names[i].m] = value;
        }
    }
    if (jscan_bad(&s) || jscan_next(&s) != JT_END)
        return formats_input_bad(r->in, e, "not valid JSON at byte %zu of it",
                                 jscan_offset(&s) + 1);
    return TA_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

static int take_tokens(const struct formats_rows *r, struct slice v, const char *what, int64_t *out,
                       struct err *e)
{
    char found[FORMATS_SHOWN];
    *out = -1;
    if (v.n == 0)
        return TA_OK;
    if (!formats_tokens(v, out) || *out > MOST_TOKENS)
        return formats_input_bad(r->in, e, "its %s is not a whole number from 0 to %d: found %s",
                                 what, MOST_TOKENS, formats_input_shown(v, found));
    return TA_OK;
}

static int take_delay(const struct formats_rows *r, struct slice v, int64_t *out, struct err *e)
{
    struct formats_number ms;
    char found[FORMATS_SHOWN];
    if (v.n == 0)
        return TA_OK;
    if (!formats_number(v, &ms) || ms.whole > INT64_C(1000000000))
        return formats_input_bad(r->in, e, "its delay is no number of milliseconds: found %s",
                                 formats_input_shown(v, found));
    *out = ms.whole * NS_PER_MS + ms.nano / 1000;
    return TA_OK;
}

static int take_time(const struct formats_rows *r, struct slice v, struct formats_row *row,
                     struct err *e)
{
    char found[FORMATS_SHOWN];
    row->has_time = v.n > 0;
    if (v.n > 0 && !formats_number(unquoted(v), &row->time))
        return formats_input_bad(r->in, e, "its timestamp is no number from 0 on: found %s",
                                 formats_input_shown(v, found));
    return TA_OK;
}

/* The ids as an array of int64_t, in scratch. */
static int take_hash_ids(struct formats_rows *r, struct slice v, struct slice *out, struct err *e)
{
    struct jscan s = jscan_over(v);
    char found[FORMATS_SHOWN];
    buf_clear(&r->scratch);
    if (v.n == 0)
        return TA_OK;
    if (jscan_next(&s) != JT_ARRAY)
        return formats_input_bad(r->in, e, "its hash_ids are no array: found %s",
                                 formats_input_shown(v, found));
    for (size_t n = 0; jscan_element(&s); n++) {
        int64_t id;
        if (s.last != JT_NUMBER || !jscan_int(&s, &id) || n == MOST_BLOCKS)
            return formats_input_bad(r->in, e, "its hash_ids are not at most %d whole numbers",
                                     MOST_BLOCKS);
        buf_put(&r->scratch, &id, sizeof id);
    }
    *out = (struct slice){(const char *)r->scratch.p, r->scratch.n};
    return TA_OK;
}

/* The row before it in its session: Bailian names a parent, others have one name for all. */
static void find_session(struct formats_rows *r, const struct members *m, struct formats_row *row)
{
    bool names_parent = m->v[M_CHAT].n > 0;
    struct slice name = m->v[names_parent ? M_PARENT : M_SESSION];
    if (name.n == 0 || (names_parent && slice_is(name, "-1")))
        return;
    row->previous = formats_session_find(r, name);
    r->orphans += names_parent && row->previous < 0;
}

/* Once a row has been added (and not left out). */
static void keep_session(struct formats_rows *r, const struct members *m, size_t rows_before)
{
    struct slice name = m->v[m->v[M_CHAT].n > 0 ? M_CHAT : M_SESSION];
    if (name.n > 0 && r->v.n > rows_before)
        formats_session_set(r, name);
}

/* --- content ---------------------------------------------------------------------------------- */

/* Adds a JSON string to one that lacks its last quote yet. */
static void add_text(struct buf *b, struct slice quoted)
{
    buf_puts(b, b->n > 0 ? "\\n" : "\"");
    buf_put(b, quoted.p + 1, quoted.n - 2);
}

/* The strings of texts[], or of one text. */
static int add_texts(const struct formats_rows *r, const struct members *m, struct buf *to,
                     struct err *e)
{
    if (is_kind(m->v[M_TEXT], '"')) {
        if (!is_empty(m->v[M_TEXT]))
            add_text(to, m->v[M_TEXT]);
        return TA_OK;
    }
    if (m->v[M_TEXT].n > 0)
        return formats_input_bad(r->in, e, "its text is no string");
    struct jscan s = jscan_over(m->v[M_TEXTS]);
    if (m->v[M_TEXTS].n == 0)
        return TA_OK;
    bool is_array = jscan_next(&s) == JT_ARRAY;
    while (is_array && jscan_element(&s)) {
        is_array = s.last == JT_STRING;
        if (is_array && s.text.n > 0)
            add_text(to, (struct slice){s.text.p - 1, s.text.n + 2});
    }
    return is_array ? TA_OK : formats_input_bad(r->in, e, "its texts are no array of strings");
}

/* text: what add_texts has gathered. */
static int add_text_row(struct formats_rows *r, const struct members *m, struct buf *text,
                        struct formats_row *row, struct err *e)
{
    if (m->v[M_MEDIA].n > 0 && !is_empty(m->v[M_MEDIA])) {
        formats_skip_row(r, SKIP_MEDIA);
        return TA_OK;
    }
    if (text->n == 0) {
        formats_skip_row(r, SKIP_NO_TEXT);
        return TA_OK;
    }
    row->kind = CONTENT_TEXT;
    row->in = -1; /* it does not count the text */
    buf_puts(text, "\"");
    row->content = (struct slice){(const char *)text->p, text->n};
    int rc = formats_add_row(r, row, e);
    text->n--;
    return rc;
}

static int add_words_row(struct formats_rows *r, const struct members *m, struct formats_row *row,
                         struct err *e)
{
    int rc = take_hash_ids(r, m->v[M_HASH_IDS], &row->content, e);
    if (rc != TA_OK)
        return rc;
    if (row->in < 0)
        return formats_input_bad(r->in, e, "has neither input_length nor a text");
    if (row->in == 0) {
        formats_skip_row(r, SKIP_NO_INPUT);
        return TA_OK;
    }
    row->kind = CONTENT_WORDS;
    return formats_add_row(r, row, e);
}

/* --- one format each -------------------------------------------------------------------------- */

static int start_row(const struct formats_rows *r, const struct members *m, struct formats_row *row,
                     struct err *e)
{
    *row = (struct formats_row){.place = r->in->in_array ? r->in->element : r->in->line,
                                .previous = -1,
                                .in = -1,
                                .out = -1};
    int rc = take_tokens(r, m->v[M_INPUT], "input_length", &row->in, e);
    if (rc == TA_OK)
        rc = take_tokens(r, m->v[M_OUTPUT], "output_length", &row->out, e);
    if (rc == TA_OK)
        rc = take_time(r, m->v[M_TIMESTAMP], row, e);
    if (rc == TA_OK)
        rc = take_delay(r, m->v[M_DELAY], &row->delay_ns, e);
    row->tools = is_kind(m->v[M_TOOLS], '[') ? m->v[M_TOOLS] : (struct slice){NULL, 0};
    row->extra = is_kind(m->v[M_EXTRA], '{') ? m->v[M_EXTRA] : (struct slice){NULL, 0};
    return rc;
}

static int add_own_text(struct formats_rows *r, const struct members *m, struct formats_row *row,
                        struct err *e)
{
    buf_clear(&r->scratch);
    int rc = add_texts(r, m, &r->scratch, e);
    return rc == TA_OK ? add_text_row(r, m, &r->scratch, row, e) : rc;
}

/* Mooncake, timed_trace, trace_synthetic, weka, Bailian, and AIPerf's additions to the first. */
static int take_length_row(struct formats_rows *r, const struct members *m, struct formats_row *row,
                           struct err *e)
{
    if (row->out == 0) {
        formats_skip_row(r, SKIP_NO_OUTPUT);
        return TA_OK;
    }
    if (is_kind(m->v[M_PAYLOAD], '{')) {
        row->kind = CONTENT_BODY;
        row->content = m->v[M_PAYLOAD];
        row->in = -1;
        return formats_add_row(r, row, e);
    }
    if (is_kind(m->v[M_MESSAGES], '[')) {
        r->delta_turns += row->previous >= 0 && slice_is(m->v[M_MODE], "\"delta\"");
        row->kind = CONTENT_MESSAGES;
        row->content = m->v[M_MESSAGES];
        row->in = -1; /* it does not count them */
        return formats_add_row(r, row, e);
    }
    if (m->v[M_TEXT].n > 0)
        return add_own_text(r, m, row, e);
    return add_words_row(r, m, row, e);
}

/* A row that is one request. */
static int take_row(struct formats_rows *r, const struct members *m, struct err *e)
{
    struct formats_row row;
    size_t before = r->v.n;
    int rc = start_row(r, m, &row, e);
    if (rc != TA_OK)
        return rc;
    find_session(r, m, &row);
    if (r->format == FORMAT_SINGLE_TURN || r->format == FORMAT_CUSTOM) {
        row.out = row.out > 0 ? row.out : -1;
        rc = add_own_text(r, m, &row, e);
    } else {
        rc = take_length_row(r, m, &row, e);
    }
    if (rc == TA_OK)
        keep_session(r, m, before);
    return rc;
}

/* The element of an array that the scanner has entered, as it stands. */
static struct slice element(struct jscan *s)
{
    if (s->last == JT_STRING)
        return (struct slice){s->text.p - 1, s->text.n + 2};
    const char *from = s->p - 1; /* of a container; of another value it is not looked at */
    jscan_finish(s);
    return (struct slice){from, (size_t)(s->p - from)};
}

static int take_turn(struct formats_rows *r, struct slice text, size_t turn, int64_t *previous,
                     struct buf *so_far, struct err *e)
{
    struct members m;
    struct formats_row row;
    int rc = collect(r, text, &m, e);
    if (rc == TA_OK)
        rc = start_row(r, &m, &row, e);
    if (rc == TA_OK)
        rc = add_texts(r, &m, so_far, e);
    if (rc != TA_OK)
        return rc;
    size_t before = r->v.n;
    row.turn = turn;
    row.previous = *previous;
    if (row.out == 0)
        row.out = -1;
    r->delta_turns += turn > 0;
    rc = add_text_row(r, &m, so_far, &row, e);
    if (r->v.n > before)
        *previous = (int64_t)before;
    return rc;
}

/* multi_turn. A later turn holds the texts before it, without the replies: those are known when
 * they have come, and a plan is exact. */
static int take_turns(struct formats_rows *r, const struct members *session, struct err *e)
{
    struct jscan s = jscan_over(session->v[M_TURNS]);
    struct buf so_far;
    int rc = TA_OK;
    int64_t previous = -1;
    if (!is_kind(session->v[M_TURNS], '['))
        return formats_input_bad(r->in, e, "has no array 'turns'");
    buf_init(&so_far, r->scratch.max);
    jscan_next(&s);
    for (size_t turn = 0; rc == TA_OK && jscan_element(&s); turn++)
        rc = turn == MOST_TURNS ? formats_input_bad(r->in, e, "has more than %d turns", MOST_TURNS)
                                : take_turn(r, element(&s), turn, &previous, &so_far, e);
    buf_done(&so_far);
    return rc;
}

static int add_body_row(struct formats_rows *r, struct slice body, size_t turn, int64_t previous,
                        struct err *e)
{
    struct members m;
    struct formats_row row;
    int rc = collect(r, body, &m, e);
    if (rc != TA_OK)
        return rc;
    row = (struct formats_row){.place = r->in->in_array ? r->in->element : r->in->line,
                               .turn = turn,
                               .previous = previous,
                               .in = -1,
                               .out = -1,
                               .kind = CONTENT_BODY,
                               .content = body};
    return formats_add_row(r, &row, e);
}

/* inputs.json: a session's bodies. */
static int take_payloads(struct formats_rows *r, const struct members *session, struct err *e)
{
    struct jscan s = jscan_over(session->v[M_PAYLOADS]);
    int rc = TA_OK;
    if (!is_kind(session->v[M_PAYLOADS], '['))
        return formats_input_bad(r->in, e, "has no array 'payloads'");
    jscan_next(&s);
    for (size_t turn = 0; rc == TA_OK && jscan_element(&s); turn++)
        rc = add_body_row(r, element(&s), turn, turn > 0 ? (int64_t)r->v.n - 1 : -1, e);
    return rc;
}

/* ShareGPT: what the person said first, as vLLM and SGLang take it. */
static int take_conversation(struct formats_rows *r, const struct members *m, struct err *e)
{
    struct jscan s = jscan_over(m->v[M_CONVERSATIONS]);
    struct slice key, said = {NULL, 0};
    size_t n = 0;
    if (!is_kind(m->v[M_CONVERSATIONS], '['))
        return formats_input_bad(r->in, e, "has no array 'conversations'");
    jscan_next(&s);
    while (jscan_element(&s)) {
        struct slice from = {NULL, 0}, value = {NULL, 0}, turn = element(&s);
        struct jscan t = jscan_over(turn);
        if (!is_kind(turn, '{'))
            return formats_input_bad(r->in, e, "a turn of it is no JSON object");
        jscan_next(&t);
        while (jscan_member(&t, &key)) {
            bool is_from = slice_is(key, "from"), is_value = slice_is(key, "value");
            struct slice v = jscan_raw(&t);
            from = is_from ? v : from;
            value = is_value ? v : value;
        }
        if (!is_kind(from, '"') ||
            (!jscan_raw_is(unquoted(from), "human") && !jscan_raw_is(unquoted(from), "user")))
            continue;
        said = n++ == 0 ? value : said;
    }
    if (n == 0) {
        formats_skip_row(r, SKIP_NO_HUMAN);
        return TA_OK;
    }
    if (!is_kind(said, '"'))
        return formats_input_bad(r->in, e, "a turn of it has no text as its 'value'");
    if (is_empty(said)) {
        formats_skip_row(r, SKIP_NO_TEXT);
        return TA_OK;
    }
    r->more_turns += n > 1;
    struct formats_row row = {.place = r->in->in_array ? r->in->element : r->in->line,
                              .previous = -1,
                              .in = -1,
                              .out = -1,
                              .kind = CONTENT_TEXT,
                              .content = said};
    return formats_add_row(r, &row, e);
}

int formats_json_record(struct formats_rows *r, struct slice text, struct err *e)
{
    struct members m;
    if (r->format == FORMAT_RAW_PAYLOAD)
        return add_body_row(r, text, 0, -1, e);
    int rc = collect(r, text, &m, e);
    if (rc != TA_OK)
        return rc;
    switch (r->format) {
    case FORMAT_SHAREGPT:
        return take_conversation(r, &m, e);
    case FORMAT_MULTI_TURN:
        return take_turns(r, &m, e);
    case FORMAT_INPUTS_JSON:
        return take_payloads(r, &m, e);
    default:
        return take_row(r, &m, e);
    }
}
