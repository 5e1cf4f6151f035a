/* Two bytes say whether a file is gzip'd. */
#include "analyze/claims_source.h"

#include <errno.h>
#include <string.h>

enum { GZIP_CHUNK_BYTES = 4 << 10, AHEAD_BYTES = 8 << 20 }; /* one byte may stand for 1032 */

static int on_text(void *ctx, struct span text)
{
    struct claims_source *s = ctx;
    return buf_add(&s->ahead, text.p, text.n);
}

static void on_damage(void *ctx, const struct anomaly *a)
{
    struct claims_source *s = ctx;
    bool harmless = strcmp(a->id, "coding.bytes-behind") == 0; /* as for gzip itself */
    if (s->damage == NULL && !harmless)
        s->damage = a->id;
}

int claims_source_open(struct claims_source *s, const char *path, struct err *e)
{
    bool in = strcmp(path, "-") == 0;
    *s = (struct claims_source){.f = in ? stdin : fopen(path, "rb")};
    if (s->f == NULL)
        return err_sys(e, TA_EFORMAT, "cannot read the claims in %s", path);
    buf_init(&s->ahead, AHEAD_BYTES);
    return TA_OK;
}

void claims_source_text(struct claims_source *s, struct slice text)
{
    *s = (struct claims_source){.rest = text};
    buf_init(&s->ahead, AHEAD_BYTES);
}

void claims_source_close(struct claims_source *s)
{
    if (s->f != NULL && s->f != stdin)
        fclose(s->f);
    inflate_free(s->gunzip);
    buf_done(&s->ahead);
}

static size_t take_raw(struct claims_source *s, char *p, size_t n)
{
    if (s->f != NULL) {
        size_t got = fread(p, 1, n, s->f);
        s->failed = got < n && ferror(s->f) ? errno : s->failed;
        return got;
    }
    n = n < s->rest.n ? n : s->rest.n;
    if (n > 0)
        memcpy(p, s->rest.p, n);
    s->rest = (struct slice){s->rest.p + n, s->rest.n - n};
    return n;
}

static void gunzip(struct claims_source *s, const char *p, size_t n)
{
    struct byte_sink to = inflate_input(s->gunzip);
    int rc = n > 0 ? to.data(to.ctx, (struct span){.p = (const uint8_t *)p, .n = n})
                   : to.end(to.ctx, END_FIN, (struct mark){.off = 0});
    s->ended = n == 0 || rc != TA_OK || s->damage != NULL;
    if (rc != TA_OK && s->damage == NULL)
        s->damage = "too much comes out of it at once";
}

static void begin(struct claims_source *s)
{
    char two[2];
    size_t n = take_raw(s, two, 2);
    s->begun = true;
    if (n == 2 && two[0] == 0x1F && (unsigned char)two[1] == 0x8B) {
        s->gunzip = inflate_new(INFLATE_GZIP, (struct byte_sink){s, on_text, NULL, NULL},
                                (struct anomaly_sink){s, on_damage});
        gunzip(s, two, 2);
        return;
    }
    buf_put(&s->ahead, two, n);
}

static size_t take_ahead(struct claims_source *s, char *p, size_t n)
{
    n = n < s->ahead.n ? n : s->ahead.n;
    if (n > 0)
        memcpy(p, s->ahead.p, n);
    buf_drop(&s->ahead, n);
    return n;
}

size_t claims_source_take(struct claims_source *s, char *p, size_t n)
{
    char raw[GZIP_CHUNK_BYTES];
    if (!s->begun)
        begin(s);
    size_t got = take_ahead(s, p, n);
    if (s->gunzip == NULL)
        return got + take_raw(s, p + got, n - got);
    while (got < n && !s->ended) {
        gunzip(s, raw, take_raw(s, raw, sizeof raw));
        got += take_ahead(s, p + got, n - got);
    }
    return got;
}

const char *claims_source_fault(const struct claims_source *s)
{
    if (s->failed != 0)
        return strerror(s->failed);
    return s->damage;
}
