/* Fuzzes traces/base/jscan against cJSON (traces/base/json): what the scanner accepts, cJSON does
 * too, where it can; and of what both accept they say the same. The tree is then written by jsonw
 * and must come back. */
#include <stdlib.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Does the scanner accept it? Tells too if cJSON may refuse it all the same: it takes no lone
 * surrogates and no numbers of 64 bytes. */
static bool scan(struct slice text, bool *difficult)
{
    struct jscan s = jscan_over(text);
    size_t last = 0;
    *difficult = false;
    for (;;) {
        enum jscan_token t = jscan_next(&s);
        size_t at = jscan_offset(&s);
        if (at < last || at > text.n || s.depth > JSCAN_DEPTH)
            abort();
        last = at;
        if (t == JT_BAD || t == JT_END) {
            if (jscan_next(&s) != t || jscan_bad(&s) != (t == JT_BAD))
                abort();
            return t == JT_END;
        }
        if (t != JT_KEY && t != JT_STRING && t != JT_NUMBER)
            continue;
        if (s.text.p < text.p || s.text.p + s.text.n > text.p + text.n)
            abort();
        *difficult |= t == JT_NUMBER ? s.text.n >= 63 : s.escaped;
    }
}

static bool goes_deep(struct slice text)
{
    struct jscan s = jscan_over(text);
    for (;;) {
        enum jscan_token t = jscan_next(&s);
        if (t == JT_BAD || t == JT_END)
            return s.depth == JSCAN_DEPTH;
    }
}

/* Skips the elements or members of the outermost container one by one, and says where each ends. */
static void skip_parts(struct jscan s, size_t *ends, size_t most)
{
    struct slice key;
    size_t n = 0;
    enum jscan_token outer = jscan_next(&s);
    if (outer != JT_OBJECT && outer != JT_ARRAY)
        return;
    while (n < most && (outer == JT_OBJECT ? jscan_member(&s, &key) : jscan_element(&s))) {
        if (outer == JT_OBJECT)
            jscan_skip(&s);
        else
            jscan_finish(&s);
        ends[n++] = jscan_offset(&s);
    }
    if (n < most)
        ends[n] = SIZE_MAX - (jscan_next(&s) == JT_END);
}

/* In pairs the scanner goes the same way as token by token. */
static void check_pairs(struct jscan pairs)
{
    struct jscan tokens = pairs;
    struct slice key, same;
    for (bool more = true; more;) {
        more = jscan_pair(&pairs, &key);
        if (more != (jscan_member(&tokens, &same) && jscan_next(&tokens) != JT_BAD))
            abort();
        if (pairs.last != tokens.last || (!jscan_bad(&pairs) && pairs.p != tokens.p))
            abort();
        if (more && (key.n != same.n || memcmp(key.p, same.p, key.n) != 0 ||
                     pairs.state != tokens.state))
            abort();
        if ((pairs.last == JT_STRING || pairs.last == JT_NUMBER) &&
            (pairs.text.p != tokens.text.p || pairs.text.n != tokens.text.n))
            abort();
        if (pairs.last == JT_OBJECT)
            check_pairs(pairs);
        struct slice whole = jscan_whole(&pairs);
        jscan_finish(&tokens);
        if (jscan_bad(&pairs) != jscan_bad(&tokens) ||
            (!jscan_bad(&pairs) && (pairs.p != tokens.p || whole.p + whole.n != pairs.p)))
            abort();
    }
}

/* In text that is known to be JSON a value ends where it ends for the scanner that checks it. */
static void check_skips(struct slice text)
{
    enum { MOST = 256 };
    size_t strict[MOST] = {0}, trusting[MOST] = {0};
    skip_parts(jscan_over(text), strict, MOST);
    skip_parts(jscan_over_valid(text), trusting, MOST);
    if (memcmp(strict, trusting, sizeof strict) != 0)
        abort();
}

/* cJSON's strings end at a NUL that was escaped. */
static void same_text(const struct jscan *s, const char *want)
{
    struct buf text;
    buf_init(&text, 1u << 24);
    if (jscan_unescape(s, &text) != TA_OK || text.n > s->text.n ||
        strcmp(buf_text(&text), want) != 0)
        abort();
    buf_done(&text);
}

static void same_value(struct jscan *s, const struct json *v);

static void same_object(struct jscan *s, const struct json *v)
{
    const struct json *child = json_first(v);
    struct slice key;
    for (; jscan_member(s, &key); child = json_next(child)) {
        if (child == NULL)
            abort();
        same_text(s, json_name(child));
        jscan_next(s);
        same_value(s, child);
    }
    if (child != NULL)
        abort();
}

static void same_array(struct jscan *s, const struct json *v)
{
    const struct json *child = json_first(v);
    for (; jscan_element(s); child = json_next(child)) {
        if (child == NULL)
            abort();
        same_value(s, child);
    }
    if (child != NULL)
        abort();
}

static void same_number(const struct jscan *s, const struct json *v)
{
    double here, there = 0;
    int64_t whole, exact;
    if (!json_value_number(v, &there))
        abort();
    if (jscan_double(s, &here) && here != there)
        abort();
    if (json_value_int(v, &exact) && jscan_int(s, &whole) && whole != exact)
        abort();
}

static void same_value(struct jscan *s, const struct json *v)
{
    enum json_kind kind = json_kind(v);
    switch (s->last) {
    case JT_OBJECT:
        if (kind != JSON_OBJECT)
            abort();
        same_object(s, v);
        break;
    case JT_ARRAY:
        if (kind != JSON_ARRAY)
            abort();
        same_array(s, v);
        break;
    case JT_STRING:
        if (kind != JSON_STRING)
            abort();
        same_text(s, json_value_string(v));
        break;
    case JT_NUMBER:
        if (kind != JSON_NUMBER)
            abort();
        same_number(s, v);
        break;
    case JT_NULL:
        if (kind != JSON_NULL)
            abort();
        break;
    default:
        if (kind != JSON_BOOL || json_value_bool(v) != (s->last == JT_TRUE))
            abort();
    }
}

/* What is written of a tree is JSON, and written again it is the same. */
static void write_back(const struct json *v)
{
    struct buf text, again;
    struct jsonw w;
    bool difficult;
    buf_init(&text, 1u << 26);
    buf_init(&again, 1u << 26);
    jsonw_init(&w, &text, 0);
    jsonw_value(&w, NULL, v);
    struct json *back = json_parse((const char *)text.p, text.n, NULL);
    if (back == NULL)
        abort();
    if (!scan((struct slice){(const char *)text.p, text.n}, &difficult))
        abort();
    jsonw_init(&w, &again, 0);
    jsonw_value(&w, NULL, back);
    if (again.n != text.n || memcmp(again.p, text.p, text.n) != 0)
        abort();
    json_free(back);
    buf_done(&text);
    buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct err e;
    bool difficult;
    bool scanned = scan(text, &difficult);
    struct json *v = json_parse(text.p, text.n, &e);
    if (scanned && v == NULL && !difficult)
        abort();
    struct jscan s = jscan_over(text);
    if (scanned && v != NULL) {
        jscan_next(&s);
        same_value(&s, v);
        if (jscan_next(&s) != JT_END)
            abort();
        write_back(v);
    }
    struct jscan members = jscan_over(text);
    if (jscan_next(&members) == JT_OBJECT)
        check_pairs(members);
    struct jscan skipped = jscan_over(text);
    jscan_skip(&skipped);
    bool passed = jscan_next(&skipped) == JT_END;
    if (passed != scanned && !(passed && goes_deep(text))) /* there it looks at brackets alone */
        abort();
    if (scanned)
        check_skips(text);
    json_free(v);
    return 0;
}
