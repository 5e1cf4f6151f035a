/* Requests of a recording as requests of a plan. */
#include "replay/plan_trace.h"

#include <inttypes.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/limits.h"
#include "traces/redact_lines.h"

enum { NAME_HASH_DIGITS = 12 };

/* A group's members are sent within this time; the same number later is another load's group. */
static const int64_t group_ns = INT64_C(5000000000);

/* A request on its way into the plan. */
struct item {
    const struct recording_exchange *x;
    const struct ledger_entry *entry; /* NULL: none */
    int64_t t_ns;                     /* the group's first, or its own */
    int64_t group;                    /* a number for each; -1: alone */
};

struct making {
    struct plan *plan;
    const struct recording *rec;
    struct replaced *replaced;
    VEC(struct item) items;
    VEC(const struct ledger_entry *) ledger; /* by port, nth and time */
};

/* --- the recording's ledger ------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct ledger_entry *x = *(const struct ledger_entry *const *)a,
                              *y = *(const struct ledger_entry *const *)b;
    if (x->local_port != y->local_port)
        return x->local_port < y->local_port ? -1 : 1;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return (x->sent_ns > y->sent_ns) - (x->sent_ns < y->sent_ns);
}

static void sort_ledger(struct making *m)
{
    for (size_t i = 0; i < m->rec->ledger.n; i++) {
        if (m->rec->ledger.v[i].sent_ns >= 0)
            VEC_PUSH(&m->ledger, &m->rec->ledger.v[i]);
    }
    if (m->ledger.n > 0)
        qsort(m->ledger.v, m->ledger.n, sizeof *m->ledger.v, by_place);
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Of several at that place, for a port may come again, the nearest in time. */
static const struct ledger_entry *entry_of(const struct making *m,
                                           const struct recording_exchange *x)
{
    struct ledger_entry key = {.local_port = m->rec->conns.v[x->conn].client.port,
                               .nth = x->nth,
                               .sent_ns = x->request_first_ns};
    const struct ledger_entry *at = &key, *best = NULL;
    size_t low = 0, high = m->ledger.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (by_place(&m->ledger.v[mid], &at) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = low > 0 ? low - 1 : 0; i < m->ledger.n && i <= low; i++) {
        const struct ledger_entry *c = m->ledger.v[i];
        if (c->local_port != key.local_port || c->nth != key.nth)
            continue;
        if (best == NULL ||
            distance(c->sent_ns, key.sent_ns) < distance(best->sent_ns, key.sent_ns))
            best = c;
    }
    return best;
}

/* --- order ------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->x->request_first_ns != y->x->request_first_ns)
        return x->x->request_first_ns < y->x->request_first_ns ? -1 : 1;
    return (x->x->id > y->x->id) - (x->x->id < y->x->id);
}

static int by_group(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->entry->group != y->entry->group)
        return x->entry->group < y->entry->group ? -1 : 1;
    int workload = strcmp(x->entry->workload, y->entry->workload);
    return workload != 0 ? workload : by_time(a, b);
}

static int by_unit(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return by_time(a, b);
}

static bool is_grouped(const struct item *i)
{
    return i->entry != NULL && i->entry->group >= 0;
}

/* Numbers the groups, and gives their members the time of the first. */
static void find_groups(struct making *m)
{
    VEC(struct item) grouped = {0};
    size_t kept = 0;
    int64_t group = 0;
    for (size_t i = 0; i < m->items.n; i++) {
        if (is_grouped(&m->items.v[i]))
            VEC_PUSH(&grouped, m->items.v[i]);
        else
            m->items.v[kept++] = m->items.v[i];
    }
    m->items.n = kept;
    if (grouped.n > 0)
        qsort(grouped.v, grouped.n, sizeof *grouped.v, by_group);
    for (size_t i = 0; i < grouped.n; i++) {
        struct item *now = &grouped.v[i], *before = i > 0 ? &grouped.v[i - 1] : NULL;
        bool same = before != NULL && before->entry->group == now->entry->group &&
                    strcmp(before->entry->workload, now->entry->workload) == 0 &&
                    now->x->request_first_ns - before->t_ns <= group_ns;
        now->group = same ? before->group : group++;
        now->t_ns = same ? before->t_ns : now->x->request_first_ns;
        VEC_PUSH(&m->items, *now);
    }
    VEC_FREE(&grouped);
}

/* --- one request ------------------------------------------------------------------------------ */

static bool is_secret(const struct http_field *f)
{
    return redact_secret_field(f->name);
}

/* Its fields; false: one of them is none that may be sent. */
static bool take_fields(struct making *m, const struct recording_exchange *x,
                        struct plan_request *q)
{
    struct plan_field fields[LIMIT_HTTP_FIELDS];
    struct arena scratch = {0};
    size_t n = 0;
    bool good = x->n_fields <= LIMIT_HTTP_FIELDS, secret = false;
    for (size_t i = 0; good && i < x->n_fields; i++) {
        const struct http_field *f = &x->fields[i];
        struct plan_field *to = &fields[n];
        *to = (struct plan_field){arena_text(&scratch, f->name), arena_text(&scratch, f->value)};
        good = strlen(to->value) == f->value.n && plan_field_allowed(to->name, to->value);
        if (good && is_secret(f)) {
            replaced_left_out(m->replaced, to->name);
            secret = true;
            continue;
        }
        if (text_same(f->name, "Host"))
            to->value = "";
        if (text_same(f->name, "Transfer-Encoding"))
            q->changes |= PLAN_CHUNKED;
        n++;
    }
    if (good) {
        q->changes |= secret ? PLAN_CREDENTIALS : 0;
        q->fields = plan_keep_fields(m->plan, fields, n);
        q->n_fields = n;
    }
    arena_free(&scratch);
    return good;
}

/* Adds query's parameters but for the secret ones. True: there was one. */
static bool put_query(struct slice query, struct buf *out)
{
    bool secret = false;
    char before = '?';
    for (const char *p = query.p, *end = query.p + query.n, *next; p <= end; p = next + 1) {
        next = memchr(p, '&', (size_t)(end - p));
        next = next != NULL ? next : end;
        const char *equals = memchr(p, '=', (size_t)(next - p));
        if (equals != NULL && redact_secret_parameter((struct slice){p, (size_t)(equals - p)})) {
            secret = true;
            continue;
        }
        buf_printf(out, "%c%.*s", before, (int)(next - p), p);
        before = '&';
    }
    return secret;
}

/* The path and query of a target that may be a whole URL (RFC 9112, 3.2.2). */
static bool take_path(struct making *m, struct slice target, struct plan_request *q)
{
    struct buf out;
    size_t scheme = target.n >= 7 && text_same((struct slice){target.p, 7}, "http://")    ? 7
                    : target.n >= 8 && text_same((struct slice){target.p, 8}, "https://") ? 8
                                                                                          : 0;
    if (target.n > LIMIT_HTTP_LINE_BYTES)
        return false;
    buf_init(&out, LIMIT_HTTP_LINE_BYTES * 2);
    size_t at = scheme;
    while (scheme > 0 && at < target.n && target.p[at] != '/' && target.p[at] != '?')
        at++;
    if (scheme > 0 && (at == target.n || target.p[at] == '?'))
        buf_puts(&out, "/");
    struct slice rest = {target.p + at, target.n - at};
    const char *mark = rest.n > 0 ? memchr(rest.p, '?', rest.n) : NULL;
    buf_put(&out, rest.p, mark != NULL ? (size_t)(mark - rest.p) : rest.n);
    bool secret = mark != NULL &&
                  put_query((struct slice){mark + 1, (size_t)(rest.p + rest.n - mark - 1)}, &out);
    const struct plan_request *last = plan_last(m->plan);
    struct slice path = {buf_text(&out), out.n};
    bool good = strlen(path.p) == out.n && plan_path_allowed(path.p);
    if (good) {
        q->changes |= (scheme > 0 ? PLAN_ABSOLUTE : 0) | (secret ? PLAN_PARAMETERS : 0);
        q->path = plan_keep_text(m->plan, path, last != NULL ? last->path : NULL);
    }
    buf_done(&out);
    return good;
}

/* The same bytes have the same name, as a prompt of a workload has. */
static const char *name_of(struct making *m, const struct plan_request *q, const char *sha256)
{
    const struct plan_request *last = plan_last(m->plan);
    struct slice name = q->body.n > 0 ? (struct slice){sha256, NAME_HASH_DIGITS}
                                      : (struct slice){q->path, strcspn(q->path, "?")};
    if (name.n > 128)
        name.n = 128;
    return plan_keep_text(m->plan, name, last != NULL ? last->name : NULL);
}

static void take_recorded(struct making *m, const struct recording_exchange *x, int64_t base_ns,
                          struct plan_request *q)
{
    struct plan_recorded *r = arena_alloc(&m->plan->texts, sizeof *r);
    *r = (struct plan_recorded){.conn = (int64_t)x->conn,
                                .t_ns = x->request_first_ns - base_ns,
                                .end_ns =
                                    x->end_ns >= x->request_first_ns ? x->end_ns - base_ns : -1,
                                .status = x->status,
                                .prompt_tokens = x->prompt_tokens,
                                .completion_tokens = x->completion_tokens};
    q->recorded = r;
    q->conn = (int64_t)x->conn;
}

/* What its ledger called it. */
static void take_entry(struct making *m, const struct ledger_entry *entry, struct plan_request *q)
{
    const struct plan_request *last = plan_last(m->plan);
    q->workload = plan_keep_text(m->plan, slice_of(entry->workload), last ? last->workload : NULL);
    q->name = plan_keep_text(m->plan, slice_of(entry->name), last ? last->name : NULL);
    q->repeat = entry->repeat;
    q->warmup = entry->warmup;
}

/* NULL, or why x can't be sent. */
static const char *take(struct making *m, const struct recording_exchange *x,
                        struct plan_request *q)
{
    const struct plan_request *last = plan_last(m->plan);
    char method[64];
    if (x->request_flaw != RECORDING_WHOLE)
        return recording_flaw_text(x->request_flaw);
    if (x->status == 101 || slice_is(x->method, "CONNECT"))
        return "it made a tunnel of its connection";
    if (x->method.n >= sizeof method)
        return "HTTP does not allow its method";
    snprintf(method, sizeof method, "%.*s", (int)x->method.n, x->method.p);
    if (!plan_method_allowed(method))
        return "HTTP does not allow its method";
    q->method = plan_keep_text(m->plan, slice_of(method), last != NULL ? last->method : NULL);
    if (!take_path(m, x->target, q))
        return "HTTP does not allow its target";
    if (!take_fields(m, x, q))
        return "HTTP does not allow one of its header fields";
    q->body = x->body;
    return plan_framing_fault(q);
}

static void see_host(struct making *m, const struct recording_exchange *x, struct plan_request *q)
{
    for (size_t i = 0; i < x->n_fields; i++) {
        if (!text_same(x->fields[i].name, "Host"))
            continue;
        if (m->replaced->host == NULL)
            m->replaced->host = arena_text(&m->replaced->texts, x->fields[i].value);
        q->changes |= PLAN_HOST;
        if (!slice_is(x->fields[i].value, m->replaced->host))
            q->changes |= PLAN_OTHER_HOST;
        return;
    }
}

static void add(struct making *m, const struct item *item, int64_t base_ns, struct plan_request q)
{
    q.t_ns = item->t_ns - base_ns;
    q.workload = "trace";
    q.name = name_of(m, &q, item->x->body_sha256);
    if (item->entry != NULL)
        take_entry(m, item->entry, &q);
    take_recorded(m, item->x, base_ns, &q);
    see_host(m, item->x, &q);
    plan_add(m->plan, &q);
}

static void add_all(struct making *m)
{
    int64_t base_ns = 0, group = -1, was = -1;
    for (size_t i = 0; i < m->items.n; i++) {
        const struct item *item = &m->items.v[i];
        struct plan_request q = PLAN_REQUEST_NONE;
        const char *why = take(m, item->x, &q);
        if (why != NULL) {
            replaced_skip(m->replaced, item->x->frame, why);
            continue;
        }
        if (m->plan->requests.n == 0)
            base_ns = item->t_ns;
        group += item->group >= 0 && item->group != was;
        was = item->group >= 0 ? item->group : was;
        q.group = item->group >= 0 ? group : -1;
        add(m, item, base_ns, q);
    }
}

int plan_trace(struct plan *out, const struct recording *rec, const char *path,
               struct replaced *replaced, struct err *e)
{
    struct making m = {.plan = out, .rec = rec, .replaced = replaced};
    sort_ledger(&m);
    for (size_t i = 0; i < rec->exchanges.n; i++) {
        const struct recording_exchange *x = &rec->exchanges.v[i];
        VEC_PUSH(&m.items, ((struct item){x, entry_of(&m, x), x->request_first_ns, -1}));
    }
    replaced->recorded = rec->exchanges.n;
    find_groups(&m);
    if (m.items.n > 0)
        qsort(m.items.v, m.items.n, sizeof *m.items.v, by_unit);
    add_all(&m);
    VEC_FREE(&m.items);
    VEC_FREE(&m.ledger);
    if (out->requests.n > 0)
        return plan_check(out, path, e);
    if (rec->exchanges.n == 0)
        return err_set(e, TA_EFORMAT,
                       "%s: no HTTP request in it%s; expected a trace of a load, or a workload",
                       path, rec->opaque_conns > 0 ? " that could be read (TLS or HTTP/2)" : "");
    return err_set(e, TA_EFORMAT, "%s: none of its %zu requests can be sent: of the first, %s",
                   path, rec->exchanges.n, replaced->skips.v[0].why);
}
