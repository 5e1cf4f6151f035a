/* A workload spec expanded to its plan (replay/WORKLOAD.md). */
#include "replay/workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "replay/arrivals.h"
#include "replay/chance.h"
#include "replay/filler.h"
#include "replay/workload_body.h"
#include "traces/base/clock.h"
#include "traces/limits.h"

enum {
    MOST_PROMPTS = 4096,
    MOST_TOKENS = 10000000,
    MOST_REPEATS = 100000,
    MOST_MEMBERS = 4096,
    NAME_BYTES = 128
};

/* --- the spec --------------------------------------------------------------------------------- */

struct prompt {
    const char *name, *text; /* text: sent as it is, instead of words */
    int64_t prompt_tokens, max_tokens;
};

enum order { ORDER_SEQUENTIAL, ORDER_BY_PROMPT, ORDER_SHUFFLED };

struct spec {
    const char *place; /* for messages */
    const struct json *v;
    const char *workload;
    VEC(struct prompt) prompts;
    enum order order;
    int64_t concurrency, repeats, warmup, seed, pause_ns;
    double temperature, rate;
    bool barrier, stream, include_usage, salt, poisson;
    const struct json *extra;
};

static const char *const spec_members[] = {
    "workload",      "about",  "model",    "prompts",  "order",  "concurrency", "barrier",
    "repeats",       "warmup", "seed",     "pause_ms", "stream", "temperature", "rate",
    "include_usage", "salt",   "arrivals", "extra",    NULL};
static const char *const prompt_members[] = {"name", "prompt_tokens", "max_tokens", "text", NULL};

/* Of a body: what extra may not say a second time. */
static const char *const own_members[] = {"model",       "messages", "prompt",         "max_tokens",
                                          "temperature", "stream",   "stream_options", NULL};

static int bad(const struct spec *s, struct err *e, const char *what)
{
    return err_set(e, TA_EFORMAT, "%s: %s", s->place, what);
}

/* A misspelt member would otherwise change nothing and be believed. */
static int check_members(const struct spec *s, const struct json *obj, const char *const *known,
                         struct err *e)
{
    for (const struct json *m = json_first(obj); m != NULL; m = json_next(m)) {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], json_name(m)) != 0)
            i++;
        if (known[i] == NULL)
            return err_set(e, TA_EFORMAT,
                           "%s: '%.60s' is no member of a workload spec; see WORKLOAD.md", s->place,
                           json_name(m));
    }
    return TA_OK;
}

static int get_int(const struct spec *s, const struct json *obj, const char *name, int64_t least,
                   int64_t most, int64_t *out, struct err *e)
{
    const struct json *v = json_get(obj, name);
    if (v == NULL)
        return TA_OK;
    if (!json_value_int(v, out) || *out < least || *out > most)
        return err_set(e, TA_EFORMAT, "%s: '%s' is not a whole number from %" PRId64 " to %" PRId64,
                       s->place, name, least, most);
    return TA_OK;
}

static int get_number(const struct spec *s, const char *name, double most, double *out,
                      struct err *e)
{
    const struct json *v = json_get(s->v, name);
    if (v == NULL)
        return TA_OK;
    if (!json_value_number(v, out) || !(*out >= 0) || *out > most)
        return err_set(e, TA_EFORMAT, "%s: '%s' is not a number from 0 to %g", s->place, name,
                       most);
    return TA_OK;
}

static int get_bool(const struct spec *s, const char *name, bool *out, struct err *e)
{
    const struct json *v = json_get(s->v, name);
    if (v != NULL && json_kind(v) != JSON_BOOL)
        return err_set(e, TA_EFORMAT, "%s: '%s' is neither true nor false", s->place, name);
    if (v != NULL)
        *out = json_value_bool(v);
    return TA_OK;
}

/* The place of the member's text in choices; 0, the default, if absent. */
static int get_choice(const struct spec *s, const char *name, const char *const *choices,
                      size_t *out, struct err *e)
{
    *out = 0;
    const struct json *v = json_get(s->v, name);
    if (v == NULL)
        return TA_OK;
    const char *text = json_value_string(v);
    for (size_t i = 0; text != NULL && choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return TA_OK;
        }
    }
    struct buf list;
    buf_init(&list, 256);
    for (size_t i = 0; choices[i] != NULL; i++)
        buf_printf(&list, "%s\"%s\"", i ? ", " : "", choices[i]);
    err_set(e, TA_EFORMAT, "%s: '%s' is none of %s", s->place, name, buf_text(&list));
    buf_done(&list);
    return TA_EFORMAT;
}

/* Names go into X-Request-ID and file names. */
static bool is_name(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    return n > 0 && n <= NAME_BYTES &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._") == n;
}

static int read_prompt(struct spec *s, const struct json *v, struct err *e)
{
    struct prompt p = {
        .name = json_string(v, "name"), .text = json_string(v, "text"), .max_tokens = 256};
    if (!is_name(p.name))
        return bad(s, e, "a prompt has no 'name' of letters, digits, . and _");
    int r = check_members(s, v, prompt_members, e);
    if (r == TA_OK)
        r = get_int(s, v, "prompt_tokens", 1, MOST_TOKENS, &p.prompt_tokens, e);
    if (r == TA_OK)
        r = get_int(s, v, "max_tokens", 1, MOST_TOKENS, &p.max_tokens, e);
    if (r != TA_OK)
        return r;
    if ((p.prompt_tokens > 0) == (p.text != NULL))
        return err_set(e, TA_EFORMAT, "%s: prompt %s: expected either 'prompt_tokens' or 'text'",
                       s->place, p.name);
    for (size_t i = 0; i < s->prompts.n; i++) {
        if (strcmp(s->prompts.v[i].name, p.name) == 0)
            return err_set(e, TA_EFORMAT, "%s: two prompts are called %s", s->place, p.name);
    }
    VEC_PUSH(&s->prompts, p);
    return TA_OK;
}

static int read_prompts(struct spec *s, struct err *e)
{
    const struct json *list = json_get(s->v, "prompts");
    size_t n = json_count(list);
    if (list == NULL || json_kind(list) != JSON_ARRAY || n == 0 || n > MOST_PROMPTS)
        return bad(s, e, "'prompts' is not an array of 1 to 4096 prompts");
    for (const struct json *v = json_first(list); v != NULL; v = json_next(v)) {
        int r = read_prompt(s, v, e);
        if (r != TA_OK)
            return r;
    }
    return TA_OK;
}

static int read_choices(struct spec *s, struct err *e)
{
    static const char *const orders[] = {"sequential", "by-prompt", "shuffled", NULL};
    static const char *const salts[] = {"request", "none", NULL};
    static const char *const arrivals[] = {"constant", "poisson", NULL};
    size_t order, salt, arrival;
    int r = get_choice(s, "order", orders, &order, e);
    if (r == TA_OK)
        r = get_choice(s, "salt", salts, &salt, e);
    if (r == TA_OK)
        r = get_choice(s, "arrivals", arrivals, &arrival, e);
    if (r == TA_OK) {
        s->order = (enum order)order;
        s->salt = salt == 0;
        s->poisson = arrival == 1;
    }
    return r;
}

static int read_numbers(struct spec *s, struct err *e)
{
    int64_t pause_ms = 0;
    const struct {
        const char *name;
        int64_t least, most;
        int64_t *to;
    } ints[] = {{"concurrency", 1, MOST_MEMBERS, &s->concurrency},
                {"repeats", 1, MOST_REPEATS, &s->repeats},
                {"warmup", 0, MOST_REPEATS, &s->warmup},
                {"seed", 0, INT64_C(1) << 53, &s->seed},
                {"pause_ms", 0, 86400000, &pause_ms}};
    int r = TA_OK;
    for (size_t i = 0; r == TA_OK && i < sizeof ints / sizeof *ints; i++)
        r = get_int(s, s->v, ints[i].name, ints[i].least, ints[i].most, ints[i].to, e);
    s->pause_ns = pause_ms * NS_PER_MS;
    if (r == TA_OK)
        r = get_number(s, "temperature", 100, &s->temperature, e);
    if (r == TA_OK)
        r = get_number(s, "rate", 1e6, &s->rate, e);
    return r;
}

static int read_spec(struct spec *s, struct err *e)
{
    if (json_kind(s->v) != JSON_OBJECT)
        return bad(s, e, "a workload spec is a JSON object");
    int r = check_members(s, s->v, spec_members, e);
    if (r != TA_OK)
        return r;
    s->workload = json_string(s->v, "workload");
    if (!is_name(s->workload))
        return bad(s, e, "'workload' is not a name of letters, digits, . and _");
    s->extra = json_get(s->v, "extra");
    if (s->extra != NULL && json_kind(s->extra) != JSON_OBJECT)
        return bad(s, e, "'extra' is not an object of members for every body");
    for (size_t i = 0; own_members[i] != NULL; i++) {
        if (json_get(s->extra, own_members[i]) != NULL)
            return err_set(e, TA_EFORMAT, "%s: 'extra' holds '%s', which the spec itself sets",
                           s->place, own_members[i]);
    }
    if ((r = read_numbers(s, e)) != TA_OK || (r = read_choices(s, e)) != TA_OK)
        return r;
    if ((r = get_bool(s, "barrier", &s->barrier, e)) != TA_OK ||
        (r = get_bool(s, "stream", &s->stream, e)) != TA_OK ||
        (r = get_bool(s, "include_usage", &s->include_usage, e)) != TA_OK)
        return r;
    if (s->rate > 0 && s->pause_ns > 0)
        return bad(s, e, "'rate' says when each request starts, so 'pause_ms' can't say it too");
    return read_prompts(s, e);
}

/* --- requests --------------------------------------------------------------------------------- */

/* One step of the workload: a prompt, sent by every member. */
struct item {
    const struct prompt *prompt;
    int64_t warmup, repeat;
};

struct expansion {
    struct plan *plan;
    const struct spec *spec;
    const struct workload_options *o;
    VEC(struct item) items;
    struct buf id, text, body; /* scratch */
    struct arrivals arrivals;
};

static int64_t words_of(const struct expansion *x, const struct prompt *p)
{
    double n = (double)p->prompt_tokens * x->o->scale;
    return n < 1 ? 1 : n > MOST_TOKENS ? MOST_TOKENS : (int64_t)llround(n);
}

/* A first line of its own makes a prefix that no cache holds; what follows is the same in all
 * repeats. */
static void compose_text(struct expansion *x, const struct item *item)
{
    const struct spec *s = x->spec;
    const char *salt = s->salt ? buf_text(&x->id) : NULL;
    if (salt != NULL || item->prompt->text == NULL) {
        x->plan->text_is_made = true;
        x->plan->text_seed = s->seed;
    }
    if (item->prompt->text != NULL) {
        if (salt != NULL)
            filler_add_salt(&x->text, salt, s->seed);
        buf_puts(&x->text, item->prompt->text);
        return;
    }
    filler_add(&x->text, salt, item->prompt->name, s->seed, words_of(x, item->prompt));
}

static void compose_body(struct expansion *x, const struct prompt *p)
{
    const struct spec *s = x->spec;
    struct workload_body b = {.model = x->o->model,
                              .path = x->o->path,
                              .text = {(const char *)x->text.p, x->text.n},
                              .max_tokens =
                                  x->o->max_tokens >= 0 ? x->o->max_tokens : p->max_tokens,
                              .temperature = s->temperature,
                              .stream = s->stream,
                              .include_usage = s->include_usage,
                              .extra = s->extra};
    if (b.text.p == NULL) /* an empty text */
        b.text = slice_of("");
    workload_body_write(&b, &x->body);
}

/* The request of item i by a member; when is set by the caller. */
static int add_request(struct expansion *x, size_t i, int64_t member, struct plan_request r,
                       struct err *e)
{
    const struct item *item = &x->items.v[i];
    const struct spec *s = x->spec;
    buf_clear(&x->id);
    buf_clear(&x->text);
    buf_clear(&x->body);
    buf_printf(&x->id, "%s-%c%" PRId64 "-%s", s->workload, item->warmup ? 'w' : 'r', item->repeat,
               item->prompt->name);
    if (s->concurrency > 1)
        buf_printf(&x->id, "-%" PRId64, member);
    compose_text(x, item);
    compose_body(x, item->prompt);
    r.workload = s->workload;
    r.name = item->prompt->name;
    r.repeat = item->repeat;
    r.warmup = item->warmup;
    r.member = member;
    r.method = "POST";
    r.path = x->o->path;
    if (item->prompt->text == NULL) {
        r.expect_prompt_tokens = words_of(x, item->prompt);
        r.expect_completion_tokens =
            x->o->max_tokens >= 0 ? x->o->max_tokens : item->prompt->max_tokens;
    }
    struct slice body = {(const char *)x->body.p, x->body.n};
    int rc = plan_keep_body(x->plan, body, &r.body, e);
    if (rc != TA_OK)
        return rc;
    workload_body_fields(x->plan, &r, s->stream, buf_text(&x->id));
    plan_add(x->plan, &r);
    return TA_OK;
}

/* Item i by all members. With a barrier they wait for all of the item before; else each member for
 * itself. In an open loop they arrive member by member, or all members of a barrier at once. */
static int add_item(struct expansion *x, size_t i, struct err *e)
{
    const struct spec *s = x->spec;
    size_t members = (size_t)s->concurrency, first = x->plan->requests.n;
    bool together = s->barrier && members > 1;
    int64_t shared_t = s->rate > 0 && together ? arrivals_next(&x->arrivals) : -1;
    for (size_t m = 0; m < members; m++) {
        struct plan_request r = PLAN_REQUEST_NONE;
        if (together)
            r.group = (int64_t)i;
        if (s->rate > 0) {
            r.t_ns = together ? shared_t : arrivals_next(&x->arrivals);
        } else if (i == 0) {
            r.t_ns = 0;
        } else {
            r.after = (int64_t)(first - members + (together ? 0 : m));
            r.pause_ns = s->pause_ns;
        }
        int rc = add_request(x, i, (int64_t)m, r, e);
        if (rc != TA_OK)
            return rc;
    }
    return TA_OK;
}

static void list_repeat(struct expansion *x, int64_t warmup, int64_t repeat)
{
    const struct spec *s = x->spec;
    size_t first = x->items.n;
    for (size_t i = 0; i < s->prompts.n; i++)
        VEC_PUSH(&x->items, (struct item){&s->prompts.v[i], warmup, repeat});
    if (s->order != ORDER_SHUFFLED)
        return;
    uint64_t chance = chance_from("order") ^ (uint64_t)(s->seed * 1000003 + repeat * 2 + warmup);
    for (size_t i = s->prompts.n - 1; i > 0; i--) {
        size_t j = (size_t)(chance_next(&chance) % (i + 1));
        struct item t = x->items.v[first + i];
        x->items.v[first + i] = x->items.v[first + j];
        x->items.v[first + j] = t;
    }
}

static void list_items(struct expansion *x, int64_t warmup, int64_t repeats)
{
    const struct spec *s = x->spec;
    if (s->order != ORDER_BY_PROMPT) {
        for (int64_t r = 0; r < repeats; r++)
            list_repeat(x, warmup, r);
        return;
    }
    for (size_t i = 0; i < s->prompts.n; i++) {
        for (int64_t r = 0; r < repeats; r++)
            VEC_PUSH(&x->items, (struct item){&s->prompts.v[i], warmup, r});
    }
}

/* What the plan would hold is bounded before anything of it is made: a long text, repeated, asks
 * for terabytes in a kilobyte of spec. */
static int check_size(const struct expansion *x, struct err *e)
{
    const struct spec *s = x->spec;
    uint64_t repeats = (uint64_t)(s->repeats + s->warmup);
    uint64_t requests = repeats * s->prompts.n * (uint64_t)s->concurrency;
    if (requests > LIMIT_REQUESTS)
        return err_set(e, TA_ELIMIT, "%s: %" PRIu64 " requests, %u is the most", s->place, requests,
                       LIMIT_REQUESTS);
    double bytes = 0;
    for (size_t i = 0; i < s->prompts.n; i++) {
        const struct prompt *p = &s->prompts.v[i];
        bytes +=
            p->text != NULL ? (double)strlen(p->text) : (double)words_of(x, p) * FILLER_WORD_BYTES;
    }
    bytes *= (double)repeats * (double)s->concurrency;
    if (bytes > (double)LIMIT_WORKLOAD_TEXT_BYTES)
        return err_set(e, TA_ELIMIT,
                       "%s: its prompts are %.3g bytes in all, %.3g is the most; send fewer "
                       "repeats (--repeats), or shorter prompts (--scale)",
                       s->place, bytes, (double)LIMIT_WORKLOAD_TEXT_BYTES);
    return TA_OK;
}

static int expand(struct expansion *x, struct err *e)
{
    int r = check_size(x, e);
    if (r != TA_OK)
        return r;
    buf_init(&x->id, 1024);
    buf_init(&x->text, LIMIT_REQUEST_BODY_BYTES * 2);
    buf_init(&x->body, (size_t)LIMIT_REQUEST_BODY_BYTES * 8);
    x->arrivals = arrivals_begin(x->spec->rate, x->spec->poisson, x->spec->seed);
    x->plan->arrivals_are_made = x->spec->poisson;
    x->plan->arrivals_seed = x->spec->seed;
    list_items(x, 1, x->spec->warmup);
    list_items(x, 0, x->spec->repeats);
    for (size_t i = 0; r == TA_OK && i < x->items.n; i++)
        r = add_item(x, i, e);
    if (r == TA_OK)
        r = plan_check(x->plan, x->spec->place, e);
    VEC_FREE(&x->items);
    buf_done(&x->id);
    buf_done(&x->text);
    buf_done(&x->body);
    return r;
}

int workload_expand(struct plan *out, const struct json *spec, const struct workload_options *o,
                    const char *place, struct err *e)
{
    struct spec s = {.place = place,
                     .v = spec,
                     .concurrency = 1,
                     .repeats = 1,
                     .stream = true,
                     .include_usage = true};
    struct workload_options options = *o;
    options.path = arena_text(&out->texts, slice_of(o->path));
    int r = read_spec(&s, e);
    if (r == TA_OK && o->repeats > MOST_REPEATS)
        r = err_set(e, TA_ELIMIT, "%s: %" PRId64 " repeats, %d is the most", place, o->repeats,
                    MOST_REPEATS);
    if (o->repeats >= 0)
        s.repeats = o->repeats;
    for (size_t i = 0; i < s.prompts.n; i++)
        s.prompts.v[i].name = arena_text(&out->texts, slice_of(s.prompts.v[i].name));
    if (r == TA_OK) {
        s.workload = arena_text(&out->texts, slice_of(s.workload));
        r = expand(&(struct expansion){.plan = out, .spec = &s, .o = &options}, e);
    }
    VEC_FREE(&s.prompts);
    return r;
}
