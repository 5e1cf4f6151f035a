/* Deltas as text, for tests of dialects: "R T0:Hello U:12/3/-1/-1 F0:stop". A usage that runs is
 * "u", one of the start "S", of choice 1 alone "U1", a total of more or less than its parts "=40";
 * a text that repeats what came before is "t", ids of tokens that do "k", a text in a message of a
 * stream "m". */
#ifndef TESTS_UNIT_DIALECTS_DELTAS_H
#define TESTS_UNIT_DIALECTS_DELTAS_H

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "traces/dialects/dialect.h"

static inline char delta_letter(const struct delta *x)
{
    static const char letters[] = {
        [DELTA_ROLE] = 'R',    [DELTA_TEXT] = 'T',   [DELTA_REASONING] = 'H', [DELTA_TOOL] = 'C',
        [DELTA_REFUSAL] = 'N', [DELTA_USAGE] = 'U',  [DELTA_TOKENS] = 'K',    [DELTA_TIMINGS] = 'M',
        [DELTA_FINISH] = 'F',  [DELTA_ERROR] = 'E',  [DELTA_PING] = 'P',      [DELTA_EMPTY] = '0',
        [DELTA_HIDDEN] = 'h',  [DELTA_LOADED] = 'L', [DELTA_DONE] = 'D',
    };
    if (x->kind == DELTA_USAGE && x->sort != USAGE_STATED)
        return x->sort == USAGE_START ? 'S' : 'u';
    if (x->kind == DELTA_TOKENS)
        return x->so_far ? 'k' : 'K';
    return x->so_far ? 't' : x->of_message ? 'm' : letters[x->kind];
}

static inline int log_delta(void *ctx, const struct delta *x)
{
    struct buf *log = ctx;
    buf_printf(log, "%s%c", log->n > 0 ? " " : "", delta_letter(x));
    if (x->kind == DELTA_USAGE) {
        if (x->of_choice && x->choice > 0)
            buf_printf(log, "%" PRIu32, x->choice);
        buf_printf(log, ":%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, x->usage.prompt,
                   x->usage.completion, x->usage.cached, x->usage.reasoning);
        if (x->total > 0 && x->total != x->usage.prompt + x->usage.completion)
            buf_printf(log, "=%" PRId64, x->total);
    } else if (x->kind == DELTA_TIMINGS) {
        buf_printf(log, ":%g/%g/%g/%g/%g", x->timings.prompt_n, x->timings.prompt_ms,
                   x->timings.predicted_n, x->timings.predicted_ms,
                   x->timings.predicted_per_second);
        if (!isnan(x->timings.total_ms))
            buf_printf(log, "+%g/%g", x->timings.load_ms, x->timings.total_ms);
    } else if (x->kind == DELTA_TOKENS) {
        buf_printf(log, "%" PRIu32 ":%" PRIu32, x->choice, x->tokens);
    } else if (x->text.n > 0) {
        buf_printf(log, "%" PRIu32 ":", x->choice);
        assert_int_equal(buf_add(log, x->text.p, x->text.n), TA_OK);
    }
    return TA_OK;
}

/* The data in a block of its own size, so that a read past its end is seen. type NULL: a document.
 */
static inline void read_as(const struct dialect *d, const char *type, struct slice text,
                           struct buf *log)
{
    char *own = malloc(text.n > 0 ? text.n : 1);
    assert_non_null(own);
    if (text.n > 0)
        memcpy(own, text.p, text.n);
    struct slice data = {own, text.n};
    struct buf scratch;
    buf_init(&scratch, 1 << 20);
    buf_clear(log);
    struct delta_sink out = {log, log_delta};
    struct event ev = {
        .kind = EVENT_DATA, .type = slice_of(type != NULL ? type : ""), .data = data};
    int rc = type == NULL ? d->document(data, &scratch, out) : d->event(&ev, &scratch, out);
    assert_int_equal(rc, TA_OK);
    buf_done(&scratch);
    free(own);
}

/* What an event of a server says. */
struct vector {
    const char *server;
    const char *type; /* of the event; NULL: a document */
    const char *data, *expected;
};

static inline void expect_vector(const struct dialect *d, const struct vector *v)
{
    struct buf log;
    buf_init(&log, 1 << 20);
    read_as(d, v->type, slice_of(v->data), &log);
    if (strcmp(buf_text(&log), v->expected) != 0)
        fail_msg("%s, %s: %s\n  gave      %s\n  expected  %s", d->name, v->server, v->data,
                 buf_text(&log), v->expected);
    buf_done(&log);
}

/* JSON that says the same with every letter and digit of its keys and strings as an escape. */
static inline void spell_out(struct slice json, struct buf *out)
{
    bool inside = false;
    buf_clear(out);
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        inside ^= c == '"';
        if (inside && c == '\\') {
            size_t n = json.p[i + 1] == 'u' ? 6 : 2;
            assert_int_equal(buf_add(out, json.p + i, n), TA_OK);
            i += n - 1;
        } else if (inside && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                              c == '.' || (c >= '0' && c <= '9'))) {
            buf_printf(out, "\\u%04X", (unsigned)c);
        } else {
            assert_int_equal(buf_add(out, &c, 1), TA_OK);
        }
    }
}

/* How a server spells its keys and texts changes nothing. Where JSON itself is the text (arguments
 * that are an object, an error without a message) it is shown as it stands, and is left out. */
static inline void expect_spelled_out(const struct dialect *d, const struct vector *v)
{
    struct buf text, log;
    if (v->data[0] != '{' || strpbrk(v->expected, "{[") != NULL ||
        strstr(v->expected, "not JSON") != NULL)
        return;
    buf_init(&text, 1 << 16);
    buf_init(&log, 1 << 20);
    spell_out(slice_of(v->data), &text);
    read_as(d, v->type, (struct slice){(const char *)text.p, text.n}, &log);
    if (strcmp(buf_text(&log), v->expected) != 0)
        fail_msg("%s, %s: %s\n  gave      %s\n  expected  %s", d->name, v->server, buf_text(&text),
                 buf_text(&log), v->expected);
    buf_done(&text);
    buf_done(&log);
}

/* Each says what is expected, a proper prefix of it is no JSON, and with bytes changed at random it
 * says at least something and never reads what is not there. */
static inline void expect_vectors(const struct dialect *d, const struct vector *v, size_t n)
{
    struct buf log;
    uint32_t seed = 1;
    buf_init(&log, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(v[i].data), whole = size;
        expect_vector(d, &v[i]);
        expect_spelled_out(d, &v[i]);
        while (whole > 0 && v[i].data[whole - 1] == ' ')
            whole--;
        for (size_t cut = 1; v[i].data[0] == '{' && cut < whole; cut++) {
            if (v[i].type != NULL && strcmp(v[i].type, "message") != 0)
                break;
            read_as(d, v[i].type, (struct slice){v[i].data, cut}, &log);
            assert_string_equal(buf_text(&log), "E0:not JSON");
        }
        for (int round = 0; round < 500; round++) {
            char text[2048];
            assert_true(size < sizeof text);
            memcpy(text, v[i].data, size);
            for (int k = 0; k < 2 && size > 0; k++) {
                seed = seed * 1664525 + 1013904223;
                text[(seed >> 8) % size] = "{}[]\",:\\x0\x80"
                                           "e"[(seed >> 24) % 12];
            }
            read_as(d, v[i].type, (struct slice){text, size}, &log);
            assert_true(log.n > 0);
        }
    }
    buf_done(&log);
}

#endif
