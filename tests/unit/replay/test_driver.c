/* Runs against a small server of blocking threads that keeps every byte: what was sent is what the
 * plan says, what the trace holds is what the server saw, in the right order and together where it
 * should be, and every way a request can fail has its outcome. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "replay/driver.h"
#include "traces/base/clock.h"
#include "traces/link.h"
#include "traces/reader.h"

enum { CONNECTIONS = 512, KEPT_BYTES = 1 << 20 };

/* --- the server ---------------------------------------------------------------------------------
 */

struct connection {
    struct server *server;
    pthread_t thread;
    int fd;
    uint16_t peer_port;
    bool gone;          /* the client has; or it was reset */
    struct buf in, out; /* all bytes, as seen here */
};

struct server {
    int fd;
    uint16_t port;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct connection c[CONNECTIONS];
    size_t n;
    unsigned waiting, together; /* requests that wait for each other, and for how many */
    unsigned hanging;
    struct buf order; /* the X-Request-ID of each request, a line each, as they came whole */
};

static void say(struct connection *c, const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(buf_add(&c->out, text, n), TA_OK);
    c->gone = send(c->fd, text, n, MSG_NOSIGNAL) < 0 || c->gone;
}

static const char events_head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\n";

static void answer_events(struct connection *c)
{
    say(c, events_head);
    for (int i = 0; i < 3; i++)
        say(c, "a\r\ndata: 12\n\n\r\n");
    say(c, "0\r\n\r\n");
}

/* Nobody is answered before all have come: a client that sent them one after the other would hang.
 */
static void answer_together(struct connection *c)
{
    struct server *s = c->server;
    pthread_mutex_lock(&s->lock);
    s->waiting++;
    pthread_cond_broadcast(&s->changed);
    unsigned goal = (s->waiting + s->together - 1) / s->together * s->together;
    while (s->waiting < goal)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    answer_events(c);
}

static void hang(struct connection *c)
{
    char byte;
    pthread_mutex_lock(&c->server->lock);
    c->server->hanging++;
    pthread_cond_broadcast(&c->server->changed);
    pthread_mutex_unlock(&c->server->lock);
    while (recv(c->fd, &byte, 1, 0) > 0) {
    }
}

/* Closing sends an RST. */
static void reset(struct connection *c)
{
    struct linger none = {.l_onoff = 1};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    c->gone = true;
}

/* Answers by the path; false: this connection is over. */
static bool answer(struct connection *c, const char *path)
{
    static const struct {
        const char *path, *text;
        bool over;
    } answers[] = {
        {"/length ", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false},
        {"/error ", "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno", false},
        {"/interim ", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", false},
        {"/close ", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", false},
        {"/until-close ", "HTTP/1.0 200 OK\r\n\r\nall of it", true},
        {"/drop-idle ", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", true},
        {"/early ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", true},
        {"/early-head ", "HTTP/1.1 200 O", true},
        {"/silent ", "", true},
        {"/garbage ", "220 smtp.example.org ESMTP\r\n", false},
        {"/bad-chunk ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false},
        {"/extra ",
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 500 No\r\nContent-Length: "
         "0\r\n\r\n",
         false},
        {"/v1/models ",
         "HTTP/1.1 200 OK\r\nServer: tokaudit-serve/9 (simulated; profile=slow)\r\n"
         "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"data\":[{\"id\":\"m\\u00f6del-1\"},{\r\n"
         "b\r\n\"id\":\"x\"}]}\r\n0\r\n\r\n",
         false},
        {"/head ", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", false},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (strncmp(path, answers[i].path, strlen(answers[i].path)) == 0) {
            say(c, answers[i].text);
            return !answers[i].over;
        }
    }
    if (strncmp(path, "/together ", 10) == 0)
        answer_together(c);
    else if (strncmp(path, "/hang ", 6) == 0)
        hang(c);
    else if (strncmp(path, "/reset ", 7) == 0)
        reset(c);
    else
        answer_events(c);
    return !c->gone;
}

static size_t body_bytes(const char *head)
{
    const char *field = strstr(head, "Content-Length: ");
    return field != NULL ? strtoul(field + 16, NULL, 10) : 0;
}

static void note_order(struct connection *c, const char *head)
{
    const char *id = strstr(head, "X-Request-ID: ");
    pthread_mutex_lock(&c->server->lock);
    if (id != NULL)
        buf_printf(&c->server->order, "%.*s\n", (int)strcspn(id + 14, "\r"), id + 14);
    pthread_mutex_unlock(&c->server->lock);
}

/* Serves the requests of a connection from its bytes, from offset at on. */
static void *serve_connection(void *arg)
{
    struct connection *c = arg;
    size_t at = 0;
    for (bool going = true; going;) {
        uint8_t *room = buf_reserve(&c->in, 65536);
        ssize_t n = room != NULL ? recv(c->fd, room, 65536, 0) : 0;
        if (n <= 0)
            break;
        c->in.n += (size_t)n;
        const char *text = buf_text(&c->in) + at, *end = strstr(text, "\r\n\r\n");
        size_t whole = end != NULL ? (size_t)(end + 4 - text) + body_bytes(text) : SIZE_MAX;
        if (c->in.n - at < whole)
            continue;
        note_order(c, text);
        at += whole;
        going = answer(c, strchr(text, '/'));
    }
    if (!c->gone)
        shutdown(c->fd, SHUT_WR);
    close(c->fd);
    return NULL;
}

static void *serve(void *arg)
{
    struct server *s = arg;
    for (;;) {
        struct sockaddr_in peer;
        socklen_t n = sizeof peer;
        int fd = accept(s->fd, (struct sockaddr *)&peer, &n);
        if (fd < 0 || s->n == CONNECTIONS)
            return NULL;
        struct connection *c = &s->c[s->n++];
        *c = (struct connection){.server = s, .fd = fd, .peer_port = ntohs(peer.sin_port)};
        buf_init(&c->in, KEPT_BYTES * 4);
        buf_init(&c->out, KEPT_BYTES);
        pthread_create(&c->thread, NULL, serve_connection, c);
    }
}

static struct server *server_start(unsigned together)
{
    struct server *s = mem_zalloc(sizeof *s);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    s->together = together;
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 512), 0);
    getsockname(s->fd, (struct sockaddr *)&a, &n);
    s->port = ntohs(a.sin_port);
    buf_init(&s->order, KEPT_BYTES);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    pthread_create(&s->thread, NULL, serve, s);
    return s;
}

/* All threads have ended after this; what they kept stays until server_free. */
static void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (size_t i = 0; i < s->n; i++)
        pthread_join(s->c[i].thread, NULL);
}

static void server_free(struct server *s)
{
    for (size_t i = 0; i < s->n; i++) {
        buf_done(&s->c[i].in);
        buf_done(&s->c[i].out);
    }
    buf_done(&s->order);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}

/* --- the trace ----------------------------------------------------------------------------------
 */

enum { PORTS = 65536 };

struct contents {
    struct buf sent[CONNECTIONS], received[CONNECTIONS];
    uint16_t ports[CONNECTIONS];
    size_t n;
    int64_t last_ns[CONNECTIONS]; /* of a connection's packets times never go back */
    struct ledger_entry entries[4096];
    size_t n_entries;
    struct arena texts;
};

/* The flow of a client port, the latest with it: ports are used again. */
static size_t flow_of(const struct contents *c, uint16_t port)
{
    size_t i = c->n;
    while (i > 0 && c->ports[i - 1] != port)
        i--;
    assert_true(i > 0);
    return i - 1;
}

static void take_packet(struct contents *c, const struct rec *r, uint16_t server_port)
{
    struct segment s;
    assert_int_equal(link_decode(r->link, r->p, r->n, r->wire_n, &s), LINK_TCP);
    bool up = s.to.port == server_port;
    if (up && (s.flags & TCP_SYN) != 0) {
        assert_true(c->n < CONNECTIONS);
        c->ports[c->n] = s.from.port;
        buf_init(&c->sent[c->n], KEPT_BYTES * 4);
        buf_init(&c->received[c->n], KEPT_BYTES * 4);
        c->n++;
    }
    size_t i = flow_of(c, up ? s.from.port : s.to.port);
    assert_true(r->t_ns >= c->last_ns[i]);
    c->last_ns[i] = r->t_ns;
    assert_int_equal(buf_add(up ? &c->sent[i] : &c->received[i], s.data, s.n), TA_OK);
}

static void take_custom(struct contents *c, struct slice text)
{
    struct json *v = json_parse(text.p, text.n, NULL);
    const char *kind = json_string(v, "kind");
    assert_non_null(kind);
    if (strcmp(kind, "ledger") == 0) {
        for (const struct json *e = json_first(json_get(v, "entries")); e != NULL; e = json_next(e))
            assert_true(ledger_read(e, &c->texts, &c->entries[c->n_entries++]));
    }
    json_free(v);
}

static struct contents *read_trace(const char *path, uint16_t server_port)
{
    struct contents *c = mem_zalloc(sizeof *c);
    struct reader *reader;
    struct rec r;
    struct err e;
    int rc = reader_open(&reader, path, &e);
    if (rc != TA_OK)
        fail_msg("%s", e.msg);
    while ((rc = reader_next(reader, &r, &e)) > 0) {
        if (r.kind == REC_PACKET)
            take_packet(c, &r, server_port);
        else if (r.kind == REC_CUSTOM)
            take_custom(c, r.json);
    }
    assert_int_equal(rc, 0);
    assert_false(reader_health(reader)->truncated);
    reader_close(reader);
    return c;
}

static void contents_free(struct contents *c)
{
    for (size_t i = 0; i < c->n; i++) {
        buf_done(&c->sent[i]);
        buf_done(&c->received[i]);
    }
    arena_free(&c->texts);
    free(c);
}

/* Byte for byte what the server saw, connection by connection in the order made (of those that were
 * used); what it said and nobody read any more may be missing at the end. */
static void assert_same_bytes(const struct contents *c, const struct server *s)
{
    bool matched[CONNECTIONS] = {false};
    for (size_t i = 0; i < s->n; i++) {
        const struct connection *k = &s->c[i];
        size_t f = 0;
        if (k->in.n == 0)
            continue;
        while (f < c->n && (matched[f] || c->ports[f] != k->peer_port || c->sent[f].n == 0))
            f++;
        assert_true(f < c->n);
        matched[f] = true;
        assert_int_equal(c->sent[f].n, k->in.n);
        assert_memory_equal(c->sent[f].p, k->in.p, k->in.n);
        assert_true(c->received[f].n <= k->out.n);
        if (c->received[f].n > 0)
            assert_memory_equal(c->received[f].p, k->out.p, c->received[f].n);
    }
}

/* --- a run --------------------------------------------------------------------------------------
 */

struct fixture {
    struct server *server;
    struct plan plan;
    struct target target;
    struct driver_options o;
    struct driver_report report;
    struct contents *trace;
    char path[64];
};

static struct plan_request *add(struct fixture *f, const char *path, struct plan_request like)
{
    struct arena *a = &f->plan.texts;
    struct plan_field *id = arena_alloc(a, sizeof *id);
    char *name = mem_printf("q%zu", f->plan.requests.n);
    like.name = arena_text(a, slice_of(name));
    free(name);
    *id = (struct plan_field){"X-Request-ID", like.name};
    like.workload = "w";
    like.method = like.method ? like.method : "POST";
    like.path = path;
    like.fields = id;
    like.n_fields = 1;
    if (like.body.p == NULL)
        like.body = slice_of("{}");
    plan_add(&f->plan, &like);
    return &f->plan.requests.v[f->plan.requests.n - 1];
}

static const struct plan_request now = {.group = -1, .after = -1, .t_ns = 0, .conn = -1};

static struct plan_request behind(int64_t after)
{
    return (struct plan_request){.group = -1, .after = after, .t_ns = -1, .conn = -1};
}

static struct plan_request member(int64_t group, int64_t after)
{
    return (struct plan_request){
        .group = group, .after = after, .t_ns = after < 0 ? 0 : -1, .conn = -1};
}

static void begin(struct fixture *f, unsigned together)
{
    *f = (struct fixture){.server = server_start(together)};
    f->o = (struct driver_options){
        .target = &f->target, .ledger_fd = -1, .timeout_ns = 60 * INT64_C(1000000000)};
}

static int drive(struct fixture *f, struct err *e)
{
    char *url = mem_printf("http://127.0.0.1:%u", f->server->port);
    assert_int_equal(target_parse(&f->target, url, e), TA_OK);
    free(url);
    if (f->target.addr_bytes == 0 && target_reach(&f->target, NS_PER_S, e) != TA_OK)
        fail_msg("%s", e->msg);
    assert_int_equal(plan_check(&f->plan, "test", e), TA_OK);
    if (f->path[0] == '\0') {
        snprintf(f->path, sizeof f->path, "/tmp/tokaudit-test-driver-XXXXXX");
        int fd = mkstemp(f->path);
        assert_true(fd >= 0);
        close(fd);
    }
    struct writer_origin origin = {.vantage = "socket", .link = LINK_RAW, .snaplen = 262144};
    int rc = writer_open(&f->o.writer, f->path, &origin, e);
    assert_int_equal(rc, TA_OK);
    rc = driver_run(&f->plan, &f->o, &f->report, e);
    struct err closing;
    int closed = writer_close(f->o.writer, &closing);
    if (rc == TA_OK)
        assert_int_equal(closed, TA_OK);
    return rc;
}

static void run_all(struct fixture *f)
{
    struct err e;
    if (drive(f, &e) != TA_OK)
        fail_msg("%s", e.msg);
    server_stop(f->server);
    f->trace = read_trace(f->path, f->server->port);
    assert_int_equal(f->trace->n_entries, f->report.log.requests);
}

static void end(struct fixture *f)
{
    if (f->trace != NULL)
        contents_free(f->trace);
    if (strncmp(f->path, "/tmp/", 5) == 0)
        unlink(f->path);
    sendlog_done(&f->report.log);
    plan_free(&f->plan);
    server_free(f->server);
}

static const struct ledger_entry *entry(const struct fixture *f, size_t i)
{
    for (size_t k = 0; k < f->trace->n_entries; k++) {
        if (strcmp(f->trace->entries[k].name, f->plan.requests.v[i].name) == 0)
            return &f->trace->entries[k];
    }
    fail_msg("request %zu is not in the ledger", i);
    return NULL;
}

/* --- tests --------------------------------------------------------------------------------------
 */

static void one_after_the_other(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    add(&f, "/events", now);
    for (int64_t i = 1; i < 20; i++)
        add(&f, i % 3 ? "/events" : "/length", behind(i - 1));
    run_all(&f);
    assert_int_equal(f.report.log.answered, 20);
    assert_int_equal(f.report.log.good, 20);
    assert_int_equal(f.trace->n, 1); /* one connection, kept */
    assert_same_bytes(f.trace, f.server);
    struct buf want;
    buf_init(&want, 4096);
    for (size_t i = 0; i < 20; i++) {
        const struct ledger_entry *e = entry(&f, i);
        buf_printf(&want, "q%zu\n", i);
        assert_string_equal(e->outcome, "complete");
        assert_int_equal(e->status, 200);
        assert_int_equal(e->nth, i);
        assert_int_equal(e->local_port, f.trace->ports[0]);
        assert_true(e->sent_ns < e->first_ns && e->first_ns <= e->end_ns);
        assert_true(i == 0 ? e->due_ns > 0 && e->sent_ns >= e->due_ns - 1000 : e->due_ns == -1);
        assert_true(i == 0 || entry(&f, i - 1)->end_ns <= e->sent_ns);
    }
    assert_string_equal(buf_text(&f.server->order), buf_text(&want));
    buf_done(&want);
    end(&f);
}

static void released_together(size_t members)
{
    enum { GROUPS = 6 };
    struct fixture f;
    begin(&f, (unsigned)members);
    for (size_t g = 0; g < GROUPS; g++) {
        for (size_t m = 0; m < members; m++)
            add(&f, "/together", member((int64_t)g, (int64_t)(g * members) - 1));
    }
    run_all(&f);
    assert_int_equal(f.report.log.answered, members * GROUPS);
    assert_int_equal(f.report.log.skew_ns.n, GROUPS);
    assert_int_equal(f.trace->n, members); /* connections are used again */
    assert_same_bytes(f.trace, f.server);
    for (size_t g = 0; g < GROUPS; g++) {
        int64_t first = INT64_MAX, last = 0, before = 0;
        for (size_t m = 0; m < members; m++) {
            const struct ledger_entry *e = entry(&f, g * members + m);
            first = e->sent_ns < first ? e->sent_ns : first;
            last = e->sent_ns > last ? e->sent_ns : last;
            if (g > 0 && entry(&f, (g - 1) * members + m)->end_ns > before)
                before = entry(&f, (g - 1) * members + m)->end_ns;
            assert_int_equal(e->group, g);
            assert_int_equal(e->local_port, entry(&f, m)->local_port);
            assert_int_equal(e->nth, g);
        }
        assert_true(before < first); /* all of the group before had ended */
        assert_int_equal(f.report.log.skew_ns.v[g], last - first);
    }
    end(&f);
}

/* By threads that hold a socket each, and by the loop: how many processors there are decides. */
static void groups_are_released_together(void **state)
{
    (void)state;
    released_together(2);
    released_together(5);
    released_together(20);
}

/* A body larger than any socket buffer, in a group: pieces in turn, nothing lost, nothing swapped.
 */
static void large_bodies(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    size_t n = 3 << 20;
    char *body = mem_alloc(n);
    for (size_t i = 0; i < n; i++)
        body[i] = (char)('a' + i * 7 % 23);
    for (int64_t m = 0; m < 2; m++) {
        struct plan_request r = member(0, -1);
        r.body = (struct slice){body, n - (size_t)m};
        add(&f, "/together", r);
    }
    run_all(&f);
    assert_int_equal(f.report.log.answered, 2);
    assert_same_bytes(f.trace, f.server);
    for (size_t i = 0; i < f.server->n; i++) {
        const struct buf *in = &f.server->c[i].in;
        if (in->n > 0)
            assert_memory_equal(strstr((char *)in->p, "\r\n\r\n") + 4, body, n - 1);
    }
    free(body);
    end(&f);
}

struct outcome_case {
    const char *path, *outcome;
    int status;
};

static const struct outcome_case outcome_cases[] = {
    {"/length", "complete", 200},      {"/error", "complete", 400},
    {"/interim", "complete", 204},     {"/close", "complete", 200},
    {"/until-close", "complete", 200}, {"/drop-idle", "complete", 200},
    {"/early", "closed-early", 200},   {"/early-head", "closed-early", 0},
    {"/silent", "closed-early", 0},    {"/reset", "reset", 0},
    {"/garbage", "bad-response", 0},   {"/bad-chunk", "bad-response", 200},
    {"/extra", "complete", 200},       {"/events", "complete", 200},
};

static void every_outcome_and_on_it_goes(void **state)
{
    (void)state;
    enum { CASES = sizeof outcome_cases / sizeof *outcome_cases };
    struct fixture f;
    begin(&f, 1);
    for (size_t i = 0; i < CASES; i++) {
        struct plan_request r = i == 0 ? now : behind((int64_t)i - 1);
        /* a server that closes without having said so is given the time to */
        if (i > 0 && strcmp(outcome_cases[i - 1].path, "/drop-idle") == 0)
            r.pause_ns = 100 * NS_PER_MS;
        add(&f, outcome_cases[i].path, r);
    }
    run_all(&f);
    assert_same_bytes(f.trace, f.server);
    for (size_t i = 0; i < CASES; i++) {
        const struct ledger_entry *e = entry(&f, i);
        if (strcmp(e->outcome, outcome_cases[i].outcome) != 0 ||
            e->status != outcome_cases[i].status)
            fail_msg("%s: %s, %d", outcome_cases[i].path, e->outcome, (int)e->status);
        assert_true(e->end_ns >= e->sent_ns);
    }
    assert_int_equal(f.report.log.answered, 8);
    assert_int_equal(f.report.log.good, 7);
    end(&f);
}

static void answers_to_head_have_no_body(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    struct plan_request r = now;
    r.method = "HEAD";
    r.body = slice_of("");
    r.body.n = 0;
    add(&f, "/head", r);
    add(&f, "/length", behind(0));
    run_all(&f);
    assert_int_equal(f.report.log.answered, 2);
    assert_int_equal(f.trace->n, 1);
    end(&f);
}

static void a_timeout_ends_one_request(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    f.o.timeout_ns = 150 * NS_PER_MS;
    add(&f, "/hang", now);
    add(&f, "/length", behind(0));
    run_all(&f);
    assert_string_equal(entry(&f, 0)->outcome, "timeout");
    assert_int_equal(entry(&f, 0)->first_ns, -1);
    assert_true(entry(&f, 0)->end_ns - entry(&f, 0)->sent_ns >= f.o.timeout_ns);
    assert_string_equal(entry(&f, 1)->outcome, "complete");
    end(&f);
}

static void due_times_and_pauses(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    struct plan_request r = now;
    for (int64_t i = 0; i < 30; i++) {
        r.t_ns = (29 - i) * 2 * NS_PER_MS; /* the plan need not be in order of time */
        add(&f, "/length", r);
    }
    r = behind(0);
    r.pause_ns = 20 * NS_PER_MS;
    add(&f, "/length", r);
    run_all(&f);
    assert_int_equal(f.report.log.answered, 31);
    assert_int_equal(f.report.log.send_error_ns.n, 31);
    for (size_t i = 0; i < 30; i++) {
        const struct ledger_entry *e = entry(&f, i), *first = entry(&f, 29);
        /* clocks are paired to within microseconds */
        assert_true(e->sent_ns >= e->due_ns - 5000);
        int64_t apart = e->due_ns - first->due_ns - f.plan.requests.v[i].t_ns;
        assert_true(apart > -5000 && apart < 5000);
    }
    const struct ledger_entry *paused = entry(&f, 30);
    assert_true(paused->due_ns >= entry(&f, 0)->end_ns + 20 * NS_PER_MS - 5000);
    assert_true(paused->sent_ns >= paused->due_ns - 5000);
    end(&f);
}

static void secrets_reach_the_server_alone(void **state)
{
    (void)state;
    static const struct message_field added[] = {{"Authorization", "Bearer sesame-open", false},
                                                 {"X-Tag", "t", false},
                                                 {"X-Gate", "sesame-too", true}};
    struct fixture f;
    begin(&f, 1);
    f.o.fields = added;
    f.o.n_fields = 3;
    add(&f, "/length", now);
    add(&f, "/length", behind(0));
    run_all(&f);
    struct buf *there = NULL;
    for (size_t i = 0; i < f.server->n; i++)
        there = f.server->c[i].in.n > 0 ? &f.server->c[i].in : there;
    assert_non_null(there);
    const char *kept = buf_text(&f.trace->sent[0]);
    assert_non_null(strstr(buf_text(there), "Authorization: Bearer sesame-open\r\nX-Tag: t\r\n"));
    assert_non_null(strstr(buf_text(there), "\r\nX-Gate: sesame-too\r\n"));
    assert_null(strstr(kept, "sesame"));
    assert_non_null(strstr(kept, "Authorization: ******************\r\nX-Tag: t\r\n"));
    assert_non_null(strstr(kept, "\r\nX-Gate: **********\r\n"));
    assert_int_equal(f.trace->sent[0].n, there->n);
    end(&f);
}

/* A server that is gone: thousands of refusals in a row neither nest nor stop the run. */
static void refused(void **state)
{
    (void)state;
    struct fixture f;
    struct err e;
    begin(&f, 1);
    add(&f, "/length", now);
    for (int64_t i = 1; i < 3000; i++)
        add(&f, "/length", behind(i - 1));
    for (int64_t m = 0; m < 3; m++)
        add(&f, "/length", member(0, 2999));
    struct sockaddr_in *a = (struct sockaddr_in *)&f.target.addr;
    server_stop(f.server);
    char *url = mem_printf("http://127.0.0.1:%u", f.server->port);
    assert_int_equal(target_parse(&f.target, url, &e), TA_OK);
    assert_int_equal(target_reach(&f.target, NS_PER_S, &e), TA_ESYS);
    assert_non_null(strstr(e.msg, "127.0.0.1"));
    free(url);
    *a = (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                              .sin_port = htons(f.server->port)};
    f.target.addr_bytes = sizeof *a;
    memcpy(f.path, "/dev/null", sizeof "/dev/null");
    struct writer_origin origin = {.vantage = "socket", .link = LINK_RAW, .snaplen = 262144};
    assert_int_equal(writer_open(&f.o.writer, f.path, &origin, &e), TA_OK);
    assert_int_equal(driver_run(&f.plan, &f.o, &f.report, &e), TA_OK);
    assert_int_equal(writer_close(f.o.writer, &e), TA_OK);
    assert_int_equal(f.report.log.requests, 3003);
    assert_int_equal(f.report.log.answered, 0);
    assert_int_equal(f.report.log.outcomes.n, 1);
    assert_string_equal(f.report.log.outcomes.v[0].outcome, "refused");
    end(&f);
}

static void *interrupt(void *arg)
{
    struct server *s = arg;
    pthread_mutex_lock(&s->lock);
    while (s->hanging < 2)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    kill(getpid(), SIGINT);
    return NULL;
}

static void a_signal_ends_the_run_cleanly(void **state)
{
    (void)state;
    struct fixture f;
    pthread_t thread;
    begin(&f, 1);
    add(&f, "/hang", member(0, -1));
    add(&f, "/hang", member(0, -1));
    add(&f, "/length", behind(0));
    struct plan_request late = now;
    late.t_ns = 3600 * INT64_C(1000000000);
    add(&f, "/length", late);
    pthread_create(&thread, NULL, interrupt, f.server);
    run_all(&f);
    pthread_join(thread, NULL);
    assert_true(f.report.ended_by_signal);
    assert_int_equal(f.report.unsent, 2);
    assert_int_equal(f.report.log.requests, 2);
    assert_string_equal(entry(&f, 0)->outcome, "interrupted");
    assert_string_equal(entry(&f, 1)->outcome, "interrupted");
    assert_same_bytes(f.trace, f.server);
    end(&f);
}

static void the_ledger_goes_to_a_recorder_too(void **state)
{
    (void)state;
    struct fixture f;
    int fds[2];
    begin(&f, 1);
    assert_int_equal(pipe(fds), 0);
    f.o.ledger_fd = fds[1];
    add(&f, "/length", now);
    add(&f, "/early", behind(0));
    run_all(&f);
    close(fds[1]);
    char text[8192];
    ssize_t n = 0, got;
    while ((got = read(fds[0], text + n, sizeof text - 1 - (size_t)n)) > 0)
        n += got;
    text[n] = '\0';
    close(fds[0]);
    char *line = text;
    for (size_t i = 0; i < 2; i++) {
        char *nl = strchr(line, '\n');
        struct ledger_entry e;
        assert_non_null(nl);
        struct json *v = json_parse(line, (size_t)(nl - line), NULL);
        assert_true(ledger_read(v, &f.trace->texts, &e));
        assert_string_equal(e.name, entry(&f, i)->name);
        assert_string_equal(e.outcome, entry(&f, i)->outcome);
        assert_int_equal(e.sent_ns, entry(&f, i)->sent_ns);
        json_free(v);
        line = nl + 1;
    }
    assert_int_equal(*line, '\0');
    end(&f);
}

static void a_full_disk_stops_the_run(void **state)
{
    (void)state;
    struct fixture f;
    struct err e = {0};
    if (access("/dev/full", W_OK) != 0)
        skip();
    begin(&f, 1);
    memcpy(f.path, "/dev/full", sizeof "/dev/full");
    struct writer_origin origin = {.vantage = "socket", .link = LINK_RAW, .snaplen = 262144};
    int rc = writer_open(&f.o.writer, f.path, &origin, &e);
    if (rc == TA_OK) { /* noticed later than at once */
        add(&f, "/hang", now);
        char *url = mem_printf("http://127.0.0.1:%u", f.server->port);
        assert_int_equal(target_parse(&f.target, url, &e), TA_OK);
        assert_int_equal(target_reach(&f.target, NS_PER_S, &e), TA_OK);
        free(url);
        rc = driver_run(&f.plan, &f.o, &f.report, &e);
        struct err closing;
        writer_close(f.o.writer, &closing);
    }
    assert_int_equal(rc, TA_ESYS);
    assert_non_null(strstr(e.msg, "/dev/full"));
    server_stop(f.server);
    end(&f);
}

static void a_failed_member_holds_nobody_up(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    add(&f, "/silent", member(0, -1));
    add(&f, "/length", member(0, -1));
    add(&f, "/length", behind(1));
    run_all(&f);
    assert_string_equal(entry(&f, 0)->outcome, "closed-early");
    assert_string_equal(entry(&f, 1)->outcome, "complete");
    assert_string_equal(entry(&f, 2)->outcome, "complete");
    end(&f);
}

static struct plan_request on_conn(int64_t conn, int64_t after)
{
    struct plan_request r = after < 0 ? now : behind(after);
    r.conn = conn;
    return r;
}

/* Requests of one planned connection share one, in their order, and with nobody else. */
static void planned_connections(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    add(&f, "/events", on_conn(0, -1));
    add(&f, "/events", on_conn(3, -1));
    add(&f, "/length", on_conn(0, 0));
    add(&f, "/length", behind(1));
    add(&f, "/events", on_conn(3, 1));
    add(&f, "/events", on_conn(0, 2));
    run_all(&f);
    assert_int_equal(f.report.log.good, 6);
    assert_int_equal(f.report.planned, 2);
    assert_int_equal(f.report.moved + f.report.reopened, 0);
    static const struct {
        size_t i, like, nth;
    } want[] = {{0, 0, 0}, {2, 0, 1}, {5, 0, 2}, {1, 1, 0}, {4, 1, 1}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        assert_int_equal(entry(&f, want[k].i)->local_port, entry(&f, want[k].like)->local_port);
        assert_int_equal(entry(&f, want[k].i)->nth, want[k].nth);
        assert_int_equal(entry(&f, want[k].i)->conn_planned, f.plan.requests.v[want[k].i].conn);
        assert_int_equal(entry(&f, want[k].i)->concurrency, 0);
    }
    assert_int_not_equal(entry(&f, 0)->local_port, entry(&f, 1)->local_port);
    assert_int_not_equal(entry(&f, 3)->local_port, entry(&f, 0)->local_port);
    assert_int_not_equal(entry(&f, 3)->local_port, entry(&f, 1)->local_port);
    assert_string_equal(entry(&f, 0)->body_sha256, f.plan.requests.v[0].body_sha256);
    assert_same_bytes(f.trace, f.server);
    end(&f);
}

/* The first is answered only once the second has come: it can't have the first one's connection,
 * and the third finds the second's free. */
static void a_busy_connection_holds_nobody_up(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    add(&f, "/together", on_conn(0, -1));
    struct plan_request second = on_conn(0, -1);
    second.t_ns = 60 * NS_PER_MS;
    add(&f, "/together", second);
    add(&f, "/length", on_conn(0, 1));
    run_all(&f);
    assert_int_equal(f.report.log.good, 3);
    assert_int_equal(f.report.moved, 1);
    assert_int_not_equal(entry(&f, 0)->local_port, entry(&f, 1)->local_port);
    assert_int_equal(entry(&f, 2)->local_port, entry(&f, 1)->local_port);
    assert_same_bytes(f.trace, f.server);
    end(&f);
}

static void a_closed_connection_is_made_anew(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    add(&f, "/close", on_conn(7, -1));
    add(&f, "/length", on_conn(7, 0));
    add(&f, "/length", on_conn(7, 1));
    run_all(&f);
    assert_int_equal(f.report.log.good, 3);
    assert_int_equal(f.report.reopened, 1);
    assert_int_equal(f.report.moved, 0);
    assert_int_not_equal(entry(&f, 0)->local_port, entry(&f, 1)->local_port);
    assert_int_equal(entry(&f, 2)->local_port, entry(&f, 1)->local_port);
    end(&f);
}

/* Three are answered when three have come: fewer in flight would hang, and more would overlap. */
static void at_most_so_many_in_flight(void **state)
{
    (void)state;
    enum { N = 12, LIMIT = 3 };
    struct fixture f;
    begin(&f, LIMIT);
    f.plan.concurrency = LIMIT;
    struct plan_request anytime = now;
    anytime.t_ns = -1;
    for (int i = 0; i < N; i++)
        add(&f, "/together", anytime);
    run_all(&f);
    assert_int_equal(f.report.log.good, N);
    assert_int_equal(f.report.log.send_error_ns.n, 0);
    for (size_t i = 0; i < N; i++) {
        int at_once = 0;
        for (size_t k = 0; k < N; k++)
            at_once += entry(&f, k)->sent_ns <= entry(&f, i)->sent_ns &&
                       entry(&f, k)->end_ns > entry(&f, i)->sent_ns;
        assert_in_range(at_once, 1, LIMIT);
        assert_int_equal(entry(&f, i)->concurrency, LIMIT);
        assert_true(i < LIMIT || entry(&f, i)->sent_ns >= entry(&f, i - LIMIT)->sent_ns);
    }
    end(&f);
}

static void a_round_waits_for_the_one_before(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    for (int64_t round = 0; round < 3; round++) {
        struct plan_request r = now;
        r.round = round;
        add(&f, "/events", r);
        r.t_ns = 30 * NS_PER_MS;
        add(&f, "/events", r);
        r.t_ns = -1;
        r.after = round * 3;
        add(&f, "/events", r);
    }
    run_all(&f);
    assert_int_equal(f.report.log.good, 9);
    for (size_t i = 3; i < 9; i++) {
        for (size_t k = 0; k < i / 3 * 3; k++)
            assert_true(entry(&f, i)->sent_ns >= entry(&f, k)->end_ns);
    }
    for (size_t i = 0; i < 9; i += 3) {
        int64_t apart = entry(&f, i + 1)->due_ns - entry(&f, i)->due_ns - 30 * NS_PER_MS;
        assert_in_range(apart + NS_PER_MS, 0, 2 * NS_PER_MS);
    }
    end(&f);
}

/* What is under way when the time is over ends in order; what is not, is never sent. */
static void nothing_starts_after_the_time(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    f.plan.duration_ns = 150 * NS_PER_MS;
    add(&f, "/events", now);
    for (int i = 0; i < 2; i++) {
        struct plan_request late = now;
        late.t_ns = (i == 0 ? 151 : 3600000) * INT64_C(1000000);
        add(&f, "/events", late);
    }
    add(&f, "/events", behind(2));
    struct plan_request next_round = now;
    next_round.round = 1;
    add(&f, "/events", next_round);
    run_all(&f);
    assert_true(f.report.out_of_time && !f.report.ended_by_signal);
    assert_int_equal(f.report.log.good, 1);
    assert_int_equal(f.report.unsent, 4);
    assert_int_equal(f.trace->n_entries, 1);
    end(&f);
}

struct url_case {
    const char *url;
    int rc;
    const char *host, *authority;
    uint16_t port;
};

static const struct url_case url_cases[] = {
    {"http://127.0.0.1:8000", TA_OK, "127.0.0.1", "127.0.0.1:8000", 8000},
    {"HTTP://localhost/", TA_OK, "localhost", "localhost", 80},
    {"http://[::1]:65535", TA_OK, "::1", "[::1]:65535", 65535},
    {"https://localhost", TA_OK, "localhost", "localhost", 443},
    {"localhost:8000", TA_EUSAGE, "", "", 0},
    {"ftp://localhost", TA_EUSAGE, "", "", 0},
    {"http://", TA_EUSAGE, "", "", 0},
    {"http://:80", TA_EUSAGE, "", "", 0},
    {"http://h:", TA_EUSAGE, "", "", 0},
    {"http://h:0", TA_EUSAGE, "", "", 0},
    {"http://h:65536", TA_EUSAGE, "", "", 0},
    {"http://h:8k", TA_EUSAGE, "", "", 0},
    {"http://h:-1", TA_EUSAGE, "", "", 0},
    {"http://[::1", TA_EUSAGE, "", "", 0},
    {"http://[::1]x", TA_EUSAGE, "", "", 0},
    {"http://a b", TA_EUSAGE, "", "", 0},
    {"http://a\r\nX: y", TA_EUSAGE, "", "", 0},
    {"http://me:pw@h", TA_EUSAGE, "", "", 0},
    {"http://h/v1", TA_EUSAGE, "", "", 0},
    {"http://h?x", TA_EUSAGE, "", "", 0},
};

static void target_urls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof url_cases / sizeof *url_cases; i++) {
        const struct url_case *c = &url_cases[i];
        struct target t;
        struct err e = {0};
        if (target_parse(&t, c->url, &e) != c->rc)
            fail_msg("%s: %s", c->url, e.msg);
        if (c->rc != TA_OK)
            continue;
        assert_string_equal(t.host, c->host);
        assert_string_equal(t.authority, c->authority);
        assert_int_equal(t.port, c->port);
    }
    struct target t;
    struct err e;
    char *url = mem_printf("http://%0300d", 1);
    assert_int_equal(target_parse(&t, url, &e), TA_EUSAGE);
    free(url);
}

static void the_server_names_its_model(void **state)
{
    (void)state;
    struct server *s = server_start(1);
    struct target t;
    struct target_says says;
    struct err e;
    char *url = mem_printf("http://localhost:%u", s->port);
    assert_int_equal(target_parse(&t, url, &e), TA_OK);
    if (target_reach(&t, NS_PER_S, &e) != TA_OK ||
        target_ask(&t, 10 * INT64_C(1000000000), &says, &e) != TA_OK)
        fail_msg("%s", e.msg);
    assert_string_equal(says.model, "m\xC3\xB6"
                                    "del-1");
    assert_string_equal(says.simulated, "slow");
    free(says.model);
    free(says.simulated);
    free(url);
    server_stop(s);
    server_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_urls),
        cmocka_unit_test(the_server_names_its_model),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(groups_are_released_together),
        cmocka_unit_test(large_bodies),
        cmocka_unit_test(every_outcome_and_on_it_goes),
        cmocka_unit_test(answers_to_head_have_no_body),
        cmocka_unit_test(a_timeout_ends_one_request),
        cmocka_unit_test(due_times_and_pauses),
        cmocka_unit_test(secrets_reach_the_server_alone),
        cmocka_unit_test(refused),
        cmocka_unit_test(a_signal_ends_the_run_cleanly),
        cmocka_unit_test(the_ledger_goes_to_a_recorder_too),
        cmocka_unit_test(a_full_disk_stops_the_run),
        cmocka_unit_test(a_failed_member_holds_nobody_up),
        cmocka_unit_test(planned_connections),
        cmocka_unit_test(a_busy_connection_holds_nobody_up),
        cmocka_unit_test(a_closed_connection_is_made_anew),
        cmocka_unit_test(at_most_so_many_in_flight),
        cmocka_unit_test(a_round_waits_for_the_one_before),
        cmocka_unit_test(nothing_starts_after_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
