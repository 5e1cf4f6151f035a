/* Command lines for people, without their secrets. */
#include "capture/command_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *const secret_words[] = {"key",    "token",    "secret", "password",
                                           "passwd", "passcode", "auth",   "credentials"};
static const char *const secret_starts[] = {"authorization:", "x-api-key:", "api-key:", "bearer "};
static const char hidden[] = "***";

/* Is text the name of a secret? The words count where they end: --max-tokens and --tokenizer have
 * none. */
static bool names_secret(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof secret_words / sizeof *secret_words; i++) {
        size_t w = strlen(secret_words[i]);
        for (size_t at = 0; at + w <= n; at++) {
            bool ends = at + w == n || !isalpha((unsigned char)text[at + w]);
            if (ends && strncasecmp(text + at, secret_words[i], w) == 0)
                return true;
        }
    }
    return false;
}

/* Does a secret start at text + at, for what stands in its word before? */
static bool follows_name(const char *text, size_t word, size_t at)
{
    bool assigned = text[at - 1] == '=';
    bool given = text[at - 1] == ' ' && text[word] == '-' && text[at] != '-';
    return (assigned || given) && names_secret(text + word, at - 1 - word);
}

/* Where in an argument, which may be a whole script, what must not be kept starts; its length if
 * nowhere. */
static size_t secret_at(const char *text)
{
    size_t word = 0, at = 0;
    for (; text[at] != '\0'; at++) {
        if (at > 0 && follows_name(text, word, at))
            return at;
        for (size_t i = 0; i < sizeof secret_starts / sizeof *secret_starts; i++) {
            size_t n = strlen(secret_starts[i]);
            if (strncasecmp(text + at, secret_starts[i], n) == 0)
                return at + n;
        }
        if (at > 0 && strchr(" \t\n;&|\"'", text[at - 1]) != NULL)
            word = at;
    }
    return at;
}

/* Cut where out is full but for the NUL of buf_text. */
static void add(struct buf *out, const char *p, size_t n)
{
    uint8_t *room = n + 1 <= out->max - out->n ? buf_reserve(out, n) : NULL;
    if (room == NULL)
        return;
    memcpy(room, p, n);
    out->n += n;
}

static void add_quoted(struct buf *out, const char *p, size_t n)
{
    static const char plain[] = "%+,-./:=@_^*";
    bool quote = n == 0;
    for (size_t i = 0; i < n; i++)
        quote = quote || !(isalnum((unsigned char)p[i]) || strchr(plain, p[i]) != NULL);
    if (quote)
        add(out, "'", 1);
    for (size_t i = 0; i < n; i++)
        p[i] == '\'' ? add(out, "'\\''", 4) : add(out, p + i, 1);
    if (quote)
        add(out, "'", 1);
}

/* "scheme://user:password@host": where the credentials start and end. */
static bool find_credentials(const char *arg, size_t *from, size_t *to)
{
    const char *scheme = strstr(arg, "://");
    if (scheme == NULL)
        return false;
    const char *start = scheme + 3;
    size_t authority = strcspn(start, "/?# ");
    for (size_t i = authority; i > 0; i--) {
        if (start[i - 1] == '@') {
            *from = (size_t)(start - arg);
            *to = *from + i - 1;
            return true;
        }
    }
    return false;
}

static void add_argument(struct buf *out, const char *arg)
{
    size_t n = strlen(arg), shown = secret_at(arg), from, to;
    if (shown < n) {
        add_quoted(out, arg, shown);
        add(out, hidden, sizeof hidden - 1);
    } else if (find_credentials(arg, &from, &to)) {
        add_quoted(out, arg, from);
        add(out, hidden, sizeof hidden - 1);
        add_quoted(out, arg + to, n - to);
    } else {
        add_quoted(out, arg, n);
    }
}

void command_text(struct buf *out, char *const *argv)
{
    bool hide = false;
    for (size_t i = 0; argv[i] != NULL; i++) {
        const char *arg = argv[i];
        if (i > 0)
            add(out, " ", 1);
        if (hide && arg[0] != '-')
            add(out, hidden, sizeof hidden - 1);
        else
            add_argument(out, arg);
        hide = arg[0] == '-' && strchr(arg, '=') == NULL && names_secret(arg, strlen(arg));
    }
}
