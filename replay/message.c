/* A request as HTTP/1.1 sends it (RFC 9112, section 3). */
#include "replay/message.h"

#include <string.h>

#include "traces/base/text.h"
#include "traces/limits.h"
#include "traces/redact_lines.h"

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

static void put_field(struct message *m, struct message_field f)
{
    buf_printf(&m->bytes, "%s: ", f.name);
    size_t from = m->bytes.n;
    buf_puts(&m->bytes, f.value);
    if (f.secret || redact_secret_field(slice_of(f.name)))
        VEC_PUSH(&m->secrets, ((struct message_range){from, m->bytes.n}));
    buf_puts(&m->bytes, "\r\n");
}

static const struct plan_field *find(const struct plan_field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (text_same(slice_of(fields[i].name), name))
            return &fields[i];
    }
    return NULL;
}

static bool is_added(const struct message_field *added, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (text_same(slice_of(added[i].name), name))
            return true;
    }
    return false;
}

static void put_fields_of(struct message *m, const struct plan_request *r, const char *authority,
                          const struct message_field *added, size_t n_added)
{
    for (size_t i = 0; i < r->n_fields; i++) {
        struct message_field f = {r->fields[i].name, r->fields[i].value, false};
        if (is_added(added, n_added, f.name)) {
            if (find(r->fields, i, f.name) != NULL)
                continue;
            for (size_t k = 0; k < n_added; k++) {
                if (text_same(slice_of(added[k].name), f.name))
                    put_field(m, added[k]);
            }
            continue;
        }
        if (f.value[0] == '\0' && text_same(slice_of(f.name), "Host"))
            f.value = authority;
        put_field(m, f);
    }
    for (size_t k = 0; k < n_added; k++) {
        if (find(r->fields, r->n_fields, added[k].name) == NULL)
            put_field(m, added[k]);
    }
}

static bool is_chunked(const struct plan_request *r)
{
    const struct plan_field *f = find(r->fields, r->n_fields, "Transfer-Encoding");
    size_t n = f != NULL ? strlen(f->value) : 0;
    return n >= 7 && text_same((struct slice){f->value + n - 7, 7}, "chunked");
}

static void put_body(struct buf *out, struct slice body)
{
    uint8_t *to = buf_reserve(out, body.n);
    if (body.n > 0)
        memcpy(to, body.p, body.n);
    out->n += body.n;
}

void message_compose(struct message *m, const struct plan_request *r, const char *authority,
                     const struct message_field *added, size_t n_added)
{
    struct buf *out = &m->bytes;
    buf_clear(out);
    m->secrets.n = 0;
    buf_printf(out, "%s %s HTTP/1.1\r\n", r->method, r->path);
    if (find(r->fields, r->n_fields, "Host") == NULL && !is_added(added, n_added, "Host"))
        put_field(m, (struct message_field){"Host", authority, false});
    put_fields_of(m, r, authority, added, n_added);
    bool framed = find(r->fields, r->n_fields, "Content-Length") != NULL ||
                  find(r->fields, r->n_fields, "Transfer-Encoding") != NULL;
    if (!framed && (r->body.n > 0 || strcmp(r->method, "POST") == 0))
        buf_printf(out, "Content-Length: %zu\r\n", r->body.n);
    buf_puts(out, "\r\n");
    if (!is_chunked(r)) {
        put_body(out, r->body);
        return;
    }
    if (r->body.n > 0) {
        buf_printf(out, "%zx\r\n", r->body.n);
        put_body(out, r->body);
        buf_puts(out, "\r\n");
    }
    buf_puts(out, "0\r\n\r\n");
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
