/* Workload files of other tools written from a plan: columns and names as peers-and-formats 4.1 has
 * them. Nothing is invented: what is not known is left out and counted. */
#include "replay/export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "traces/base/clock.h"
#include "traces/base/jscan.h"
#include "traces/limits.h"

static const char *const names[] = {[EXPORT_MOONCAKE] = "mooncake",
                                    [EXPORT_AIPERF] = "aiperf",
                                    [EXPORT_BURSTGPT] = "burstgpt",
                                    [EXPORT_AZURE] = "azure"};

enum refusal { NO_TIME, LATER_ROUND, NO_INPUT, NO_OUTPUT, FAILED, NO_MESSAGES, REFUSALS };

static const char *const refusal_texts[REFUSALS] = {
    [NO_TIME] = "have no time: they start when another one has ended",
    [LATER_ROUND] = "belong to a later round, which starts when the one before has ended",
    [NO_INPUT] = "have no known input length: no server stated it, no workload asked for one",
    [NO_OUTPUT] = "have no known output length: no server stated it, no workload asked for one",
    [FAILED] = "failed in the recording (an error status, or none)",
    [NO_MESSAGES] = "have a body that is no JSON object with 'messages'",
};

/* One line of the file to be. */
struct line {
    int64_t t_ns, input, output;
    size_t request;
};

struct export
{
    const struct plan *p;
    enum export_format f;
    VEC(struct line) lines;
    size_t refused[REFUSALS], first_refused[REFUSALS];
    size_t asked_input, asked_output, joined_lines, failed_calls;
    struct buf out;
};

bool export_named(const char *name, enum export_format *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (enum export_format)i;
            return true;
        }
    }
    return false;
}

/* --- what is known ---------------------------------------------------------------------------- */

static void refuse(struct export *x, size_t i, enum refusal why)
{
    if (x->refused[why]++ == 0)
        x->first_refused[why] = i;
}

/* The server's count, else the one asked for; -1. */
static int64_t length(int64_t stated, int64_t asked, size_t *n_asked)
{
    if (stated >= 0)
        return stated;
    if (asked <= 0)
        return -1;
    ++*n_asked;
    return asked;
}

static bool succeeded(const struct plan_request *q)
{
    return q->recorded == NULL || (q->recorded->status >= 200 && q->recorded->status < 300);
}

static void add_lengths(struct export *x, size_t i)
{
    const struct plan_request *q = &x->p->requests.v[i];
    const struct plan_recorded *was = q->recorded;
    struct line line = {.request = i, .t_ns = was != NULL ? was->t_ns : q->t_ns};
    if (q->round > 0) {
        refuse(x, i, LATER_ROUND);
        return;
    }
    if (line.t_ns < 0) {
        refuse(x, i, NO_TIME);
        return;
    }
    bool failed = !succeeded(q);
    if (failed && x->f != EXPORT_BURSTGPT) {
        refuse(x, i, FAILED);
        return;
    }
    size_t asked_input = 0, asked_output = 0;
    line.input = length(was ? was->prompt_tokens : -1, q->expect_prompt_tokens, &asked_input);
    line.output = failed ? 0
                         : length(was ? was->completion_tokens : -1, q->expect_completion_tokens,
                                  &asked_output);
    if (line.input < 0 && failed) /* BurstGPT's failed calls have lengths; ours were not counted */
        refuse(x, i, FAILED);
    else if (line.input < 0)
        refuse(x, i, NO_INPUT);
    else if (line.output < 0)
        refuse(x, i, NO_OUTPUT);
    if (line.input < 0 || line.output < 0)
        return;
    x->asked_input += asked_input;
    x->asked_output += asked_output;
    x->failed_calls += failed;
    VEC_PUSH(&x->lines, line);
}

/* The member of a body that is one JSON object, as it stands; n is 0: none, or no such body. */
static struct slice body_member(struct slice body, const char *name)
{
    struct jscan s = jscan_over(body);
    struct slice key, found = {NULL, 0};
    if (body.n == 0 || jscan_next(&s) != JT_OBJECT)
        return found;
    while (jscan_member(&s, &key)) {
        struct slice value = jscan_raw(&s);
        if (slice_is(key, name))
            found = value;
    }
    return jscan_bad(&s) || jscan_next(&s) != JT_END ? (struct slice){NULL, 0} : found;
}

static void add_body(struct export *x, size_t i)
{
    const struct plan_request *q = &x->p->requests.v[i];
    int64_t t_ns = q->recorded != NULL ? q->recorded->t_ns : q->t_ns;
    if (body_member(q->body, "messages").n == 0)
        refuse(x, i, NO_MESSAGES);
    else
        VEC_PUSH(&x->lines, (struct line){.request = i, .t_ns = t_ns});
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_mooncake(struct export *x, const struct line *l)
{
    buf_printf(&x->out,
               "{\"timestamp\": %" PRId64 ", \"input_length\": %" PRId64
               ", \"output_length\": %" PRId64 "}\n",
               l->t_ns / NS_PER_MS, l->input, l->output);
}

/* A line end between JSON's tokens is a blank as any other, but would end the line here. */
static void put_body(struct export *x, const struct line *l)
{
    struct slice body = x->p->requests.v[l->request].body;
    bool joined = false;
    size_t from = x->out.n;
    buf_put(&x->out, body.p, body.n);
    for (size_t i = from; i < x->out.n; i++) {
        if (x->out.p[i] == '\n' || x->out.p[i] == '\r') {
            x->out.p[i] = ' ';
            joined = true;
        }
    }
    x->joined_lines += joined;
    buf_puts(&x->out, "\n");
}

/* The model as the body has it, in quotes where CSV needs them; its escapes are left. */
static void put_model(struct export *x, size_t request)
{
    struct slice model = body_member(x->p->requests.v[request].body, "model");
    if (model.n < 3 || *model.p != '"') {
        buf_puts(&x->out, "unknown");
        return;
    }
    model = (struct slice){model.p + 1, model.n - 2};
    bool quote = memchr(model.p, ',', model.n) != NULL || memchr(model.p, '"', model.n) != NULL;
    buf_puts(&x->out, quote ? "\"" : "");
    for (size_t i = 0; i < model.n; i++)
        buf_put(&x->out, model.p[i] == '"' ? "\"\"" : &model.p[i], model.p[i] == '"' ? 2 : 1);
    buf_puts(&x->out, quote ? "\"" : "");
}

static void put_burstgpt(struct export *x, const struct line *l)
{
    buf_printf(&x->out, "%" PRId64 ".%09" PRId64, l->t_ns / NS_PER_S, l->t_ns % NS_PER_S);
    while (x->out.p[x->out.n - 1] == '0')
        x->out.n--;
    if (x->out.p[x->out.n - 1] == '.')
        x->out.n--;
    buf_puts(&x->out, ",");
    put_model(x, l->request);
    buf_printf(&x->out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",API log\n", l->input, l->output,
               l->input + l->output);
}

static void put_azure(struct export *x, const struct line *l)
{
    char utc[32];
    clock_utc(l->t_ns, utc); /* "1970-01-01T00:00:03Z" */
    buf_printf(&x->out, "%.10s %.8s.%07" PRId64 ",%" PRId64 ",%" PRId64 "\r\n", utc, utc + 11,
               l->t_ns % NS_PER_S / 100, l->input, l->output);
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return x->request < y->request ? -1 : x->request > y->request;
}

static int write_lines(struct export *x, FILE *to, struct err *e)
{
    static void (*const put[])(struct export *,
                               const struct line *) = {[EXPORT_MOONCAKE] = put_mooncake,
                                                       [EXPORT_AIPERF] = put_body,
                                                       [EXPORT_BURSTGPT] = put_burstgpt,
                                                       [EXPORT_AZURE] = put_azure};
    static const char *const headers[] = {
        [EXPORT_MOONCAKE] = "",
        [EXPORT_AIPERF] = "",
        [EXPORT_BURSTGPT] =
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
        [EXPORT_AZURE] = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"};
    fputs(headers[x->f], to);
    for (size_t i = 0; i < x->lines.n; i++) {
        buf_clear(&x->out);
        put[x->f](x, &x->lines.v[i]);
        fwrite(x->out.p, 1, x->out.n, to);
    }
    return fflush(to) == 0 && !ferror(to) ? TA_OK : err_sys(e, TA_ESYS, "writing the export");
}

/* --- what it loses ---------------------------------------------------------------------------- */

static void say_format(const struct export *x, struct buf *says)
{
    switch (x->f) {
    case EXPORT_MOONCAKE:
        buf_puts(says, "export: lost: times are rounded down to ms; no bodies, names of models, "
                       "header fields, paths or connections; no hash_ids (the server's tokens are "
                       "not known, so "
                       "shared prefixes are not either)\n");
        break;
    case EXPORT_AIPERF:
        buf_puts(says, "export: lost: all times, and who waits for whom (the order is kept); no "
                       "header fields, paths or connections\n");
        break;
    case EXPORT_BURSTGPT:
        buf_puts(says, "export: lost: no bodies, header fields, paths or connections; vLLM's "
                       "reader of BurstGPT keeps only rows of a model called GPT-4\n");
        break;
    case EXPORT_AZURE:
        buf_puts(says, "export: lost: times are rounded down to 100 ns, and the day is made up "
                       "(1970-01-01 is the start); no bodies, models, header fields, paths or "
                       "connections\n");
        break;
    }
}

static void say_plan(const struct export *x, struct buf *says)
{
    size_t grouped = 0, waiting = 0;
    for (size_t i = 0; i < x->lines.n; i++) {
        const struct plan_request *q = &x->p->requests.v[x->lines.v[i].request];
        grouped += q->group >= 0;
        waiting += q->after >= 0;
    }
    if (grouped > 0)
        buf_printf(says,
                   "export: lost: %zu requests are released together with others; here they "
                   "are merely due at one time\n",
                   grouped);
    if (waiting > 0 && x->f != EXPORT_AIPERF)
        buf_printf(says,
                   "export: lost: %zu requests wait for another one to end; here they are "
                   "merely due at their time\n",
                   waiting);
    if (x->asked_input > 0)
        buf_printf(says,
                   "export: %zu input lengths are those the workload asks for (of its "
                   "file, or words of made text), not counts of a server\n",
                   x->asked_input);
    if (x->asked_output > 0)
        buf_printf(says,
                   "export: %zu output lengths are those the workload asks for (of its "
                   "file, or max_tokens), not counts of a server\n",
                   x->asked_output);
    if (x->failed_calls > 0)
        buf_printf(says, "export: %zu calls that failed have 0 response tokens\n", x->failed_calls);
    if (x->joined_lines > 0)
        buf_printf(says,
                   "export: %zu bodies had line ends between their parts; blanks stand for "
                   "them, so these are not the exact bytes\n",
                   x->joined_lines);
    for (size_t i = 0; i < REFUSALS; i++) {
        if (x->refused[i] > 0)
            buf_printf(says, "export: left out: %zu requests that %s, the first is request %zu\n",
                       x->refused[i], refusal_texts[i], x->first_refused[i]);
    }
}

int export_write(const struct plan *p, enum export_format f, FILE *to, struct buf *says,
                 struct err *e)
{
    struct export x = {.p = p, .f = f};
    buf_init(&x.out, (size_t)LIMIT_REQUEST_BODY_BYTES * 2);
    for (size_t i = 0; i < p->requests.n; i++) {
        if (f == EXPORT_AIPERF)
            add_body(&x, i);
        else
            add_lengths(&x, i);
    }
    if (f != EXPORT_AIPERF && x.lines.n > 0)
        qsort(x.lines.v, x.lines.n, sizeof *x.lines.v, by_time);
    int rc = x.lines.n > 0 ? write_lines(&x, to, e)
                           : err_set(e, TA_EFORMAT, "no request can be written as %s", names[f]);
    if (rc == TA_OK) {
        buf_printf(says, "export: %zu of %zu requests written as %s\n", x.lines.n, p->requests.n,
                   names[f]);
        say_format(&x, says);
    }
    say_plan(&x, says);
    VEC_FREE(&x.lines);
    buf_done(&x.out);
    return rc;
}
