/* A state machine over JSON (RFC 8259), which overwrites as it goes: see the header. It is stricter
 * than a reader, because what it takes for structure stays readable. */
#include "traces/redact_json.h"

#include <stdlib.h>
#include <string.h>

enum state {
    BEFORE,       /* a value must follow … */
    BEFORE_FIRST, /* … or the end of an array */
    AFTER,        /* a comma or an end */
    KEY_FIRST,    /* a key or the end of an object */
    KEY_NEXT,
    KEY,
    COLON,
    STRING,
    ESCAPE,
    ESCAPE_CODE, /* the digits of \u */
    NUMBER,
    WORD,
    BAD
};

enum { KEY_MOST = sizeof((struct redact_json *)0)->key, KEPT_MOST = 200 };

/* What a thing is, which one it is, how it ended. "DONE" stands in `data: [DONE]`. */
static const char *const kept_keys[] = {"model",
                                        "role",
                                        "id",
                                        "object",
                                        "type",
                                        "finish_reason",
                                        "stop_reason",
                                        "done_reason",
                                        "stop_type",
                                        "system_fingerprint",
                                        "service_tier",
                                        "status",
                                        "code",
                                        "request_id",
                                        "response_id",
                                        "item_id",
                                        "call_id",
                                        "tool_call_id",
                                        "tool_use_id",
                                        "message_id",
                                        "created_at",
                                        "event",
                                        "native_finish_reason",
                                        "encoding_format"};
static const char *const words[] = {"true", "false", "null", "DONE"};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

void redact_json_init(struct redact_json *j)
{
    j->state = BEFORE;
    j->depth = 0;
    j->n = 0;
    j->strings = j->characters = 0;
}

bool redact_json_bad(const struct redact_json *j)
{
    return j->state == BAD;
}

bool redact_name_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c > ' ' && c < 127 && strchr("0123456789-_.:/@+", c) != NULL);
}

static bool bit(const uint8_t *bits, unsigned i)
{
    return bits[i / 8] >> i % 8 & 1;
}

static void set_bit(uint8_t *bits, unsigned i, bool on)
{
    bits[i / 8] = (uint8_t)((bits[i / 8] & ~(1u << i % 8)) | (unsigned)on << i % 8);
}

static bool in_object(const struct redact_json *j)
{
    return j->depth > 0 && bit(j->object, j->depth - 1u);
}

static bool keyless(const struct redact_json *j)
{
    return j->depth > 0 && bit(j->keyless, j->depth - 1u);
}

static bool key_is_kept(const struct redact_json *j)
{
    for (size_t i = 0; i < COUNT(kept_keys); i++)
        if (strlen(kept_keys[i]) == j->n && memcmp(kept_keys[i], j->key, j->n) == 0)
            return true;
    return false;
}

/* The keys below "top_logprobs" and its like are pieces of text. */
static bool key_is_of_pieces(const struct redact_json *j)
{
    static const char end[] = "_logprobs";
    size_t k = sizeof end - 1;
    return j->n >= k && j->n <= KEY_MOST && memcmp(j->key + j->n - k, end, k) == 0;
}

static void open_container(struct redact_json *j, bool object)
{
    bool pieces = keyless(j) || (in_object(j) && key_is_of_pieces(j));
    if (j->depth == REDACT_JSON_DEPTH) {
        j->state = BAD;
        return;
    }
    set_bit(j->object, j->depth, object);
    set_bit(j->keyless, j->depth, pieces);
    j->depth++;
    j->state = object ? KEY_FIRST : BEFORE_FIRST;
}

static void close_container(struct redact_json *j, bool object)
{
    if (j->depth == 0 || in_object(j) != object) {
        j->state = BAD;
        return;
    }
    j->depth--;
    j->state = j->depth > 0 ? AFTER : BEFORE;
}

static void begin_string(struct redact_json *j)
{
    j->kept = in_object(j) && key_is_kept(j);
    j->filled = false;
    j->length = 0;
    j->high_surrogate = false;
    j->state = STRING;
}

static void begin_value(struct redact_json *j, uint8_t c)
{
    if (c == '{' || c == '[') {
        open_container(j, c == '{');
    } else if (c == ']' && j->state == BEFORE_FIRST) {
        close_container(j, false);
    } else if (c == '"') {
        begin_string(j);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        j->state = NUMBER;
    } else {
        j->state = BAD;
        for (uint8_t w = 0; w < COUNT(words); w++)
            if (c == (uint8_t)words[w][0]) {
                j->word = w;
                j->at = 1;
                j->state = WORD;
            }
    }
}

/* Structure, a byte at a time. */
static void structure(struct redact_json *j, uint8_t c)
{
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        return;
    switch ((enum state)j->state) {
    case BEFORE:
    case BEFORE_FIRST:
        begin_value(j, c);
        return;
    case KEY_FIRST:
    case KEY_NEXT:
        j->n = j->at = 0;
        if (c == '}' && j->state == KEY_FIRST)
            close_container(j, true);
        else
            j->state = c == '"' ? KEY : BAD;
        return;
    case COLON:
        j->state = c == ':' ? BEFORE : BAD;
        return;
    case AFTER:
        if (c == ',')
            j->state = in_object(j) ? KEY_NEXT : BEFORE;
        else if (c == '}' || c == ']')
            close_container(j, c == '}');
        else
            j->state = BAD;
        return;
    default:
        j->state = BAD;
    }
}

static void end_value(struct redact_json *j)
{
    j->state = j->depth > 0 ? AFTER : BEFORE;
}

static void key_character(struct redact_json *j, char c)
{
    if (j->n < KEY_MOST)
        j->key[j->n++] = c;
    else
        j->n = KEY_MOST + 1;
}

/* A byte of a key's escape; at: how many have come, its backslash among them. A letter beyond ASCII
 * is in none of the keys that count. */
static void key_escape(struct redact_json *j, char c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known = strchr(j->at == 1 ? from : "0123456789abcdefABCDEF", c);
    if (j->at == 1 && c == 'u') {
        j->at = 2;
    } else if (known == NULL || c == '\0') {
        j->state = BAD;
    } else if (j->at == 1) {
        key_character(j, to[known - from]);
        j->at = 0;
    } else {
        j->escape[j->at++ - 2] = c;
        if (j->at < 6)
            return;
        j->escape[4] = '\0';
        long code = strtol(j->escape, NULL, 16);
        key_character(j, code > 0 && code < 0x7f ? (char)code : '\x7f');
        j->at = 0;
    }
}

/* A key's bytes, without their escapes. */
static size_t key(struct redact_json *j, const uint8_t *p, size_t i, size_t to,
                  const struct redact_filler *f)
{
    size_t start = i;
    for (; i < to; i++) {
        uint8_t c = p[i];
        if (c == '"' && j->at == 0) {
            j->state = COLON;
            break;
        }
        if (c < ' ')
            j->state = BAD;
        else if (j->at > 0)
            key_escape(j, (char)c);
        else if (c == '\\')
            j->at = 1;
        else
            key_character(j, (char)c);
        if (j->state == BAD)
            break;
    }
    if (keyless(j) && i > start)
        f->fill(f->ctx, start, i, FILL_TEXT);
    return i < to && j->state == COLON ? i + 1 : i;
}

/* Characters as a reader would have them: an escape is one, two halves of a surrogate pair are one.
 */
static void count_character(struct redact_json *j, uint8_t c)
{
    if ((c & 0xc0) != 0x80)
        j->characters++;
}

static void end_escape(struct redact_json *j)
{
    bool surrogate = (j->escape[0] | 32) == 'd';
    bool low = surrogate && strchr("cdefCDEF", j->escape[1]) != NULL;
    if (!(low && j->high_surrogate))
        j->characters++;
    j->high_surrogate = surrogate && strchr("89abAB", j->escape[1]) != NULL;
    j->state = STRING;
}

/* One byte of a string that is not its end. */
static void string_byte(struct redact_json *j, uint8_t c)
{
    if (j->state == ESCAPE) {
        j->state = c == 'u' ? ESCAPE_CODE : STRING;
        j->at = 0;
        if (c != 'u')
            count_character(j, 'x');
    } else if (j->state == ESCAPE_CODE) {
        j->escape[j->at++] = (char)c;
        if (j->at == 4)
            end_escape(j);
    } else if (c == '\\') {
        j->state = ESCAPE;
    } else {
        j->high_surrogate = false;
        count_character(j, c);
    }
}

static size_t string(struct redact_json *j, const uint8_t *p, size_t i, size_t to,
                     const struct redact_filler *f)
{
    while (j->kept && i < to && redact_name_byte(p[i]) && j->length < KEPT_MOST) {
        j->length++;
        i++;
    }
    if (j->kept && i == to)
        return i;
    size_t start = i;
    bool ended = false;
    j->kept = false;
    for (; i < to && !ended; i++) {
        ended = p[i] == '"' && j->state != ESCAPE;
        if (!ended && p[i] < ' ')
            j->state = BAD;
        if (j->state == BAD)
            break;
        if (!ended)
            string_byte(j, p[i]);
    }
    size_t end = ended ? i - 1 : i;
    if (end > start) {
        if (!j->filled) {
            j->strings++;
            f->totals->strings++;
        }
        j->filled = true;
        f->fill(f->ctx, start, end, FILL_TEXT);
    }
    if (ended)
        end_value(j);
    return i;
}

static size_t number(struct redact_json *j, const uint8_t *p, size_t i, size_t to,
                     const struct redact_filler *f)
{
    size_t start = i;
    while (i < to && p[i] > ' ' && strchr("0123456789+-.eE", p[i]) != NULL)
        i++;
    if (j->depth > 0 && !in_object(j) && i > start)
        f->fill(f->ctx, start, i, FILL_DIGITS);
    if (i < to)
        end_value(j);
    return i;
}

static size_t word(struct redact_json *j, uint8_t c, size_t i)
{
    if (c != (uint8_t)words[j->word][j->at]) {
        j->state = BAD;
        return i;
    }
    if (words[j->word][++j->at] == '\0')
        end_value(j);
    return i + 1;
}

void redact_json_feed(struct redact_json *j, const uint8_t *p, size_t from, size_t to,
                      const struct redact_filler *f)
{
    size_t i = from;
    while (i < to && j->state != BAD) {
        switch ((enum state)j->state) {
        case KEY:
            i = key(j, p, i, to, f);
            break;
        case STRING:
        case ESCAPE:
        case ESCAPE_CODE:
            i = string(j, p, i, to, f);
            break;
        case NUMBER:
            i = number(j, p, i, to, f);
            break;
        case WORD:
            i = word(j, p[i], i);
            break;
        default:
            structure(j, p[i]);
            if (j->state == NUMBER) /* its first digit is one of it */
                i = number(j, p, i, to, f);
            else if (j->state != BAD)
                i++;
        }
    }
    if (i < to)
        f->fill(f->ctx, i, to, FILL_BODY);
}
