/* A request as HTTP/1.1 sends it (RFC 9112, section 3). */
#include "replay/message.h"

#include <string.h>

#include "traces/base/text.h"
#include "traces/limits.h"

void message_init(struct message *m)
{
    *m = (struct message){0};
    buf_init(&m->bytes, (size_t)LIMIT_REQUEST_BODY_BYTES + LIMIT_HTTP_HEAD_BYTES * 64u);
}

void message_done(struct message *m)
{
    buf_done(&m->bytes);
    VEC_FREE(&m->secrets);
}

static bool is_secret(const char *name)
{
    static const char *const secrets[] = {"Authorization", "Proxy-Authorization", "X-Api-Key",
                                          "Api-Key", "Cookie"};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        if (text_same(slice_of(name), secrets[i]))
            return true;
    }
    return false;
}

static void put_field(struct message *m, struct plan_field f)
{
    buf_printf(&m->bytes, "%s: ", f.name);
    size_t from = m->bytes.n;
    buf_puts(&m->bytes, f.value);
    if (is_secret(f.name))
        VEC_PUSH(&m->secrets, ((struct message_range){from, m->bytes.n}));
    buf_puts(&m->bytes, "\r\n");
}

static bool has_field(const struct plan_field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (text_same(slice_of(fields[i].name), name))
            return true;
    }
    return false;
}

void message_compose(struct message *m, const struct plan_request *r, const char *authority,
                     const struct plan_field *added, size_t n_added)
{
    struct buf *out = &m->bytes;
    buf_clear(out);
    m->secrets.n = 0;
    buf_printf(out, "%s %s HTTP/1.1\r\n", r->method, r->path);
    if (!has_field(r->fields, r->n_fields, "Host") && !has_field(added, n_added, "Host"))
        put_field(m, (struct plan_field){"Host", authority});
    for (size_t i = 0; i < r->n_fields; i++) {
        if (!has_field(added, n_added, r->fields[i].name))
            put_field(m, r->fields[i]);
    }
    for (size_t i = 0; i < n_added; i++)
        put_field(m, added[i]);
    bool framed = has_field(r->fields, r->n_fields, "Content-Length") ||
                  has_field(r->fields, r->n_fields, "Transfer-Encoding");
    if (!framed && (r->body.n > 0 || strcmp(r->method, "POST") == 0))
        buf_printf(out, "Content-Length: %zu\r\n", r->body.n);
    buf_puts(out, "\r\n");
    uint8_t *body = buf_reserve(out, r->body.n);
    if (r->body.n > 0)
        memcpy(body, r->body.p, r->body.n);
    out->n += r->body.n;
}

void message_blank(struct message *m, size_t off, size_t n)
{
    for (size_t i = 0; i < m->secrets.n; i++) {
        for (size_t at = m->secrets.v[i].from; at < m->secrets.v[i].to; at++) {
            if (at >= off && at - off < n)
                m->bytes.p[at] = '*';
        }
    }
}
