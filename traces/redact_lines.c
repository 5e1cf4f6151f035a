/* Secrets in lines (RFC 9110, 11; RFC 6265; RFC 3986, 3.2.1). Names are known by their ends, so
 * that `X-Goog-Api-Key`, `Ocp-Apim-Subscription-Key` or `X-Amz-Security-…` need no list of vendors.
 * Where a piece ends before it can be told what a byte belongs to, the byte is overwritten. */
#include "traces/redact_lines.h"

#include <string.h>

enum state {
    NAME,
    NAME_BLANK, /* behind a name, before a colon or a request target */
    SKIP,       /* to the line's end */
    LEAD,       /* blanks before a secret value */
    SCHEME,     /* "Bearer ", which stays */
    VALUE,
    URL,
    AUTHORITY,
    PARAMETER, /* a query parameter's name */
    PARAMETER_VALUE,
    UNKNOWN, /* somewhere in a line */
    OPAQUE
};

enum { NAME_MOST = sizeof((struct redact_lines *)0)->name };

/* '?' stands for any character. Every line of every event is held against these: their lengths are
 * not looked for each time. */
struct pattern {
    const char *text;
    size_t n;
};

#define PATTERN(text)                                                                              \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct pattern secret_fields[] = {
    PATTERN("authorization"), PATTERN("cookie"),  PATTERN("cookie2"),   PATTERN("api-key"),
    PATTERN("apikey"),        PATTERN("-key"),    PATTERN("-secret"),   PATTERN("-password"),
    PATTERN("tok?n"),         PATTERN("api_key"), PATTERN("-signature")};
static const struct pattern public_fields[] = {PATTERN("idempotency-key"), PATTERN("cache-key"),
                                               PATTERN("surrogate-key")};
static const struct pattern url_fields[] = {PATTERN("referer"), PATTERN("location"),
                                            PATTERN("origin"), PATTERN("-url"), PATTERN("-uri")};
static const struct pattern secret_parameters[] = {
    PATTERN("key"), PATTERN("tok?n"), PATTERN("secret"), PATTERN("pass"),
    PATTERN("pwd"), PATTERN("sig"),   PATTERN("auth"),   PATTERN("cred")};
static const char *const schemes[] = {"bearer ", "basic ", "digest "};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static char lower(uint8_t c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* RFC 9110, 5.6.2 */
static bool is_name_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c > ' ' && c < 127 && strchr("-_.!#$%&'*+^`|~", c) != NULL);
}

static bool fits(const char *p, struct pattern pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (pattern.text[i] != '?' && p[i] != pattern.text[i])
            return false;
    return true;
}

static bool ends_in(const struct redact_lines *l, const struct pattern *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (l->n >= list[i].n && fits(l->name + l->n - list[i].n, list[i]))
            return true;
    return false;
}

static bool contains(const struct redact_lines *l, const struct pattern *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; at + list[i].n <= l->n; at++)
            if (fits(l->name + at, list[i]))
                return true;
    return false;
}

static void add_to_name(struct redact_lines *l, uint8_t c)
{
    if (l->n == NAME_MOST) { /* its end is what counts */
        memmove(l->name, l->name + NAME_MOST / 2, NAME_MOST / 2);
        l->n = NAME_MOST / 2;
        l->overlong = true;
    }
    l->name[l->n++] = lower(c);
}

static void new_line(struct redact_lines *l, bool secret_before)
{
    l->state = NAME;
    l->n = 0;
    l->overlong = false;
    l->secret_before = secret_before;
}

bool redact_secret_field(struct slice name)
{
    struct redact_lines l = {0};
    for (size_t i = 0; i < name.n; i++)
        add_to_name(&l, (uint8_t)name.p[i]);
    return ends_in(&l, secret_fields, COUNT(secret_fields)) &&
           !ends_in(&l, public_fields, COUNT(public_fields));
}

bool redact_secret_parameter(struct slice name)
{
    struct redact_lines l = {0};
    for (size_t i = 0; i < name.n; i++)
        add_to_name(&l, (uint8_t)name.p[i]);
    return contains(&l, secret_parameters, COUNT(secret_parameters));
}

void redact_lines_init(struct redact_lines *l, bool known, bool all_values)
{
    *l = (struct redact_lines){.all_values = all_values};
    new_line(l, false);
    if (!known)
        l->state = UNKNOWN;
}

void redact_lines_gap(struct redact_lines *l)
{
    if (l->state != OPAQUE)
        l->state = UNKNOWN;
}

bool redact_lines_opaque(const struct redact_lines *l)
{
    return l->state == OPAQUE;
}

void redact_lines_close(struct redact_lines *l)
{
    l->state = OPAQUE;
}

/* --- start lines ---------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_version(const char *p)
{
    return memcmp(p, "HTTP/1.", 7) == 0 && is_digit(p[7]);
}

static bool is_status_line(const char *p, size_t n)
{
    return n >= 12 && is_version(p) && p[8] == ' ' && p[9] >= '1' && p[9] <= '5' &&
           is_digit(p[10]) && is_digit(p[11]) && (n == 12 || p[12] == ' ');
}

static bool is_request_line(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] >= 'A' && p[i] <= 'Z')
        i++;
    if (i < 3 || i > 16 || n - i < 11 || p[i] != ' ')
        return false;
    bool connect = i == 7 && memcmp(p, "CONNECT", 7) == 0;
    const char *target = p + i + 1, *end = p + n - 9;
    return (connect || strchr("/*hH", *target) != NULL) && *target != '\0' &&
           memchr(target, ' ', n - i - 1) == end && is_version(end + 1);
}

bool redact_start_line(const uint8_t *p, size_t n)
{
    bool letter = n > 0 && p[0] >= 'A' && p[0] <= 'Z';
    const uint8_t *lf = letter ? memchr(p, '\n', n) : NULL;
    if (lf == NULL)
        return false;
    n = (size_t)(lf - p);
    n -= n > 0 && p[n - 1] == '\r';
    return is_status_line((const char *)p, n) || is_request_line((const char *)p, n);
}

/* --- steps: each takes bytes from i on and returns where it stopped --------------------------- */

static void begin_url(struct redact_lines *l)
{
    l->state = URL;
    l->slashes = 0;
    l->counted = false;
}

static size_t skip(struct redact_lines *l, const uint8_t *p, size_t i, size_t n)
{
    if (l->wary) {
        begin_url(l);
        return i;
    }
    const uint8_t *lf = memchr(p + i, '\n', n - i);
    if (lf == NULL)
        return n;
    new_line(l, false);
    return (size_t)(lf - p) + 1;
}

/* The name is whole, and a colon follows. */
static void field(struct redact_lines *l)
{
    static const struct pattern with_scheme[] = {PATTERN("authorization")};
    if (ends_in(l, secret_fields, COUNT(secret_fields)) &&
        !ends_in(l, public_fields, COUNT(public_fields))) {
        l->state = LEAD;
        l->credentials = ends_in(l, with_scheme, 1);
    } else if (ends_in(l, url_fields, COUNT(url_fields))) {
        begin_url(l);
        l->n = 0;
    } else {
        l->state = SKIP;
    }
}

static size_t name(struct redact_lines *l, const uint8_t *p, size_t i, size_t n)
{
    static const char data[] = "data:"; /* most lines of an event stream begin so */
    if (l->n == 0 && n - i >= sizeof data - 1 && memcmp(p + i, data, sizeof data - 1) == 0) {
        l->state = SKIP;
        return i + sizeof data - 1;
    }
    for (; i < n; i++) {
        uint8_t c = p[i];
        if (is_name_byte(c)) {
            add_to_name(l, c);
        } else if (c == ':') {
            field(l);
            return i + 1;
        } else if (is_blank(c)) {
            l->state = l->n > 0 ? NAME_BLANK : l->secret_before ? VALUE : SKIP;
            return i + 1;
        } else {
            l->state = SKIP;
            return i;
        }
    }
    return i;
}

static bool is_method(const struct redact_lines *l)
{
    for (unsigned i = 0; i < l->n; i++)
        if (l->name[i] < 'a' || l->name[i] > 'z')
            return false;
    return !l->overlong && l->n >= 3 && l->n <= 16;
}

/* A blank before the colon is wrong, and read by some (H11). */
static size_t name_blank(struct redact_lines *l, const uint8_t *p, size_t i)
{
    if (is_blank(p[i]))
        return i + 1;
    if (p[i] == ':') {
        field(l);
        return i + 1;
    }
    if (p[i] == '*' && l->n == 3 && memcmp(l->name, "pri", 3) == 0)
        l->state = OPAQUE;
    else if (is_method(l))
        begin_url(l);
    else
        l->state = SKIP;
    return i;
}

static size_t lead(struct redact_lines *l, const uint8_t *p, size_t i,
                   const struct redact_filler *f)
{
    if (p[i] == '\n') {
        new_line(l, true);
        return i + 1;
    }
    if (is_blank(p[i]) || p[i] == '\r')
        return i + 1;
    f->totals->secrets++;
    l->state = l->credentials ? SCHEME : VALUE;
    l->n = 0;
    l->words = (1 << COUNT(schemes)) - 1;
    return i;
}

static size_t scheme(struct redact_lines *l, const uint8_t *p, size_t i)
{
    for (size_t w = 0; w < COUNT(schemes); w++)
        if (schemes[w][l->n] != lower(p[i]))
            l->words &= (uint8_t) ~(1u << w);
    if (l->words == 0) {
        l->state = VALUE;
        return i;
    }
    l->n++;
    if (is_blank(p[i]))
        l->state = VALUE;
    return i + 1;
}

static size_t fill_line(struct redact_lines *l, const uint8_t *p, size_t i, size_t n,
                        enum redact_fill how, const struct redact_filler *f)
{
    const uint8_t *lf = memchr(p + i, '\n', n - i);
    size_t end = lf != NULL ? (size_t)(lf - p) : n;
    if (end > i)
        f->fill(f->ctx, i, end, how);
    if (lf == NULL)
        return n;
    new_line(l, true);
    return end + 1;
}

static size_t url(struct redact_lines *l, const uint8_t *p, size_t i, size_t n)
{
    for (; i < n; i++) {
        uint8_t c = p[i];
        if (c == '/' && l->slashes == 2) {
            l->state = AUTHORITY;
            return i + 1;
        }
        l->slashes = c == ':' ? 1 : c == '/' && l->slashes == 1 ? 2 : 0;
        if (c == '?' || c == '&' || c == ';') {
            l->state = PARAMETER;
            l->n = 0;
            l->overlong = false;
            return i + 1;
        }
        if (c == '\n') {
            new_line(l, false);
            return i + 1;
        }
        if (!l->wary && (c == '\r' || (is_blank(c) && l->n > 0))) {
            l->state = SKIP;
            return i;
        }
        l->n = 1; /* blanks before a URL are none of it, the first one after it ends it */
    }
    return i;
}

/* user:password@host, up to the last at sign. */
static size_t authority(struct redact_lines *l, const uint8_t *p, size_t i, size_t n,
                        const struct redact_filler *f)
{
    size_t end = i, at = SIZE_MAX;
    for (; end < n && (p[end] == '\0' || strchr("/?# \t\r\n", p[end]) == NULL); end++)
        if (p[end] == '@')
            at = end;
    size_t to = end == n ? n : at == SIZE_MAX ? i : at;
    if (to > i) {
        f->totals->secrets += !l->counted;
        l->counted = true;
        f->fill(f->ctx, i, to, FILL_SECRET);
    }
    if (end < n)
        begin_url(l);
    return end;
}

static size_t parameter(struct redact_lines *l, const uint8_t *p, size_t i,
                        const struct redact_filler *f)
{
    uint8_t c = p[i];
    if (c == '=') {
        bool secret = l->all_values || l->overlong ||
                      contains(l, secret_parameters, COUNT(secret_parameters));
        if (!secret) {
            begin_url(l);
            return i + 1;
        }
        l->state = PARAMETER_VALUE;
        f->totals->secrets++;
        return i + 1;
    }
    if (c == '&' || c == ';' || c == '?') {
        l->n = 0;
        l->overlong = false;
    } else if (is_blank(c) || c == '\n' || c == '\r' || c == '#') {
        l->state = SKIP;
        return i;
    } else if (c == '%') {
        l->overlong = true;
    } else {
        add_to_name(l, c);
    }
    return i + 1;
}

static size_t parameter_value(struct redact_lines *l, const uint8_t *p, size_t i, size_t n,
                              const struct redact_filler *f)
{
    size_t end = i;
    while (end < n && p[end] != '&' && p[end] != '\n' && p[end] != '\r' && !is_blank(p[end]))
        end++;
    if (end > i)
        f->fill(f->ctx, i, end, FILL_SECRET);
    if (end < n)
        begin_url(l);
    l->n = 1;
    return end;
}

static size_t step(struct redact_lines *l, const uint8_t *p, size_t i, size_t n,
                   const struct redact_filler *f)
{
    switch ((enum state)l->state) {
    case NAME:
        return name(l, p, i, n);
    case NAME_BLANK:
        return name_blank(l, p, i);
    case LEAD:
        return lead(l, p, i, f);
    case SCHEME:
        return scheme(l, p, i);
    case VALUE:
        return fill_line(l, p, i, n, FILL_SECRET, f);
    case URL:
        return url(l, p, i, n);
    case AUTHORITY:
        return authority(l, p, i, n, f);
    case PARAMETER:
        return parameter(l, p, i, f);
    case PARAMETER_VALUE:
        return parameter_value(l, p, i, n, f);
    case UNKNOWN:
        return fill_line(l, p, i, n, FILL_UNJUDGED, f);
    case OPAQUE:
        f->fill(f->ctx, i, n, FILL_UNJUDGED);
        return n;
    case SKIP:
        break;
    }
    return skip(l, p, i, n);
}

void redact_lines_message(struct redact_lines *l)
{
    if (l->state != OPAQUE)
        new_line(l, false);
}

void redact_lines_feed(struct redact_lines *l, const uint8_t *p, size_t from, size_t to,
                       const struct redact_filler *f)
{
    /* A piece that begins with a start line begins a message, whatever was thought to go on. */
    if ((l->state == UNKNOWN || l->state == SKIP) && redact_start_line(p + from, to - from))
        new_line(l, false);
    for (size_t i = from; i < to;)
        i = step(l, p, i, to, f);
}
