/* From the operand of replay (a trace, a plan, a spec, another tool's file) to the plan that is
 * driven. */
#include "replay/replay_plan.h"

#include <math.h>
#include <string.h>

#include "replay/interrupt.h"
#include "replay/operand.h"
#include "replay/workload.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/limits.h"

static const int64_t reach_ns = INT64_C(10) * NS_PER_S;

bool replay_sends(const struct replay *r)
{
    return !r->plan_only && r->foreign.export == NULL;
}

/* What stands against sending anything is told by the trace, if there is to be one. */
static int face(struct replay *r, int rc, const struct err *e)
{
    if (rc != TA_ESYS || r->target.fault == NULL || !replay_sends(r))
        return rc;
    r->outcome = r->target.fault;
    r->obstacle = *e;
    return TA_OK;
}

int replay_reach(struct replay *r, struct err *e)
{
    int64_t timeout_ns = r->timeout_ns < reach_ns ? r->timeout_ns : reach_ns;
    if (r->target.addr_bytes > 0 || r->outcome != NULL)
        return TA_OK;
    interrupt_watch();
    int rc = target_reach(&r->target, timeout_ns, e);
    interrupt_unwatch();
    return rc == TA_OK ? TA_OK : face(r, rc, e);
}

static int ask_model(struct replay *r, struct err *e)
{
    struct target_says says;
    interrupt_watch();
    int rc = target_ask(&r->target, reach_ns, &says, e);
    interrupt_unwatch();
    if (rc != TA_OK)
        return rc;
    r->model = r->asked_model = says.model;
    r->simulated = says.simulated;
    if (r->model != NULL)
        return TA_OK;
    r->target.fault = "no-model";
    return err_set(e, TA_ESYS, "GET %s/v1/models names no model; name it with --model",
                   r->target.url);
}

static int find_model(struct replay *r, const struct json *spec, struct err *e)
{
    if (r->model == NULL)
        r->model = json_string(spec, "model");
    if (r->model != NULL)
        return TA_OK;
    if (r->target_url == NULL)
        return err_set(e, TA_EUSAGE,
                       "which model? Name it with --model, or give --target to ask the server");
    int rc = replay_reach(r, e);
    if (rc == TA_OK && r->outcome == NULL && (rc = ask_model(r, e)) != TA_OK)
        rc = face(r, rc, e);
    r->model_unknown = r->model == NULL;
    if (r->model != NULL)
        log_info("model: %s", r->model);
    return rc;
}

static int expand_spec(struct replay *r, struct slice text, struct err *e)
{
    struct err why;
    struct json *spec = json_parse(text.p, text.n, &why);
    if (spec == NULL)
        return err_set(e, TA_EFORMAT, "%s: %.400s", r->input, why.msg);
    int rc = find_model(r, spec, e);
    struct workload_options o = {.scale = isnan(r->scale) ? 1 : r->scale,
                                 .max_tokens = r->max_tokens,
                                 .repeats = r->repeat,
                                 .model = r->model ? r->model : "",
                                 .path = r->path ? r->path : "/v1/chat/completions"};
    if (rc == TA_OK)
        rc = workload_expand(&r->plan, spec, &o, r->input, e);
    r->model = r->asked_model; /* the spec's is going */
    r->repeat = -1;            /* done */
    json_free(spec);
    return rc;
}

/* Options that say how bodies are made mean nothing where they are there already. */
static int bodies_are_made(const struct replay *r, struct err *e)
{
    if (r->path != NULL || r->max_tokens >= 0 || !isnan(r->scale))
        return err_set(e, TA_EUSAGE,
                       "--path, --scale and --max-tokens make the requests of a spec; those of %s "
                       "are sent as they are",
                       r->input);
    return TA_OK;
}

static int check_seed(const struct replay *r, struct err *e)
{
    bool poisson = r->arrivals != NULL && strcmp(r->arrivals, "poisson") == 0;
    if (r->seed < 0 || poisson)
        return TA_OK;
    return err_set(
        e, TA_EUSAGE,
        "--seed is for --arrivals poisson and for the text made for another tool's file; "
        "nothing of %s is left to chance by the command line",
        r->input);
}

/* Likewise those that say how another tool's file is to be understood; and a seed where nothing is
 * left to chance. */
static int nothing_is_made(const struct replay *r, struct err *e)
{
    const struct foreign *f = &r->foreign;
    if (f->time_unit != NULL || f->barrier_ties || f->extra != NULL)
        return err_set(e, TA_EUSAGE, "--%s is for another tool's file; %s is none",
                       f->time_unit != NULL ? "time-unit"
                       : f->barrier_ties    ? "barrier-ties"
                                            : "extra",
                       r->input);
    return check_seed(r, e);
}

static int read_trace(struct replay *r, struct err *e)
{
    if (strcmp(r->input, "-") == 0)
        return err_set(e, TA_EUSAGE, "a trace can't be replayed from stdin; name its file");
    int rc = recording_read(&r->recording, r->input, e);
    if (rc != TA_OK)
        return rc;
    if (r->recording.truncated)
        log_warn("%s: %s; replayed is what it holds", r->input, r->recording.note);
    return plan_trace(&r->plan, &r->recording, r->input, &r->replaced, e);
}

/* A file of another tool, whose bodies are made here unless they are in it. */
static int read_foreign(struct replay *r, struct formats *f, struct err *e)
{
    bool made = formats_makes_bodies(f);
    if (!isnan(r->scale))
        return err_set(e, TA_EUSAGE, "--scale is for a spec; %s is %s", r->input, formats_name(f));
    if (!made && (r->path != NULL || r->max_tokens >= 0) && !foreign_wants_lengths(&r->foreign))
        return bodies_are_made(r, e);
    if (!made && r->foreign.extra != NULL)
        return err_set(e, TA_EUSAGE,
                       "--extra is for bodies made here; those of %s are sent as they "
                       "are",
                       r->input);
    int rc = made ? TA_OK : check_seed(r, e);
    if (rc == TA_OK && made && !foreign_wants_lengths(&r->foreign))
        rc = find_model(r, NULL, e);
    struct formats_options o = {.seed = r->seed < 0 ? 0 : r->seed,
                                .max_tokens = r->max_tokens,
                                .requests = r->requests > 0 ? (uint64_t)r->requests : 0,
                                .model = r->model ? r->model : "",
                                .path = r->path ? r->path : "/v1/chat/completions"};
    if (rc == TA_OK)
        rc = foreign_read(&r->foreign, f, &r->plan, o, e);
    if (rc == TA_OK && !made && r->model != NULL)
        rc = replaced_model(&r->replaced, &r->plan, r->model, e);
    return rc;
}

/* A trace or a plan. */
static int read_made(struct replay *r, struct operand *in, bool trace, struct err *e)
{
    int rc = bodies_are_made(r, e);
    if (rc == TA_OK)
        rc = nothing_is_made(r, e);
    if (rc == TA_OK)
        rc = trace ? read_trace(r, e)
                   : plan_read_file(&r->plan, operand_head(in), in->f, in->name, e);
    if (rc == TA_OK && r->model != NULL)
        rc = replaced_model(&r->replaced, &r->plan, r->model, e);
    return rc;
}

/* What must be read as a whole: a spec, or a plan that is gzip'd. */
static int read_text(struct replay *r, struct formats *f, struct err *e)
{
    struct buf text;
    bool plan = formats_kind(f) == FORMATS_PLAN;
    buf_init(&text, LIMIT_SPEC_BYTES);
    int rc = formats_text(f, LIMIT_SPEC_BYTES, &text, e);
    struct slice all = {(const char *)text.p, text.n};
    if (rc == TA_OK)
        rc = nothing_is_made(r, e);
    if (rc == TA_OK && plan)
        rc = bodies_are_made(r, e);
    if (rc == TA_OK)
        rc = plan ? plan_read(&r->plan, all, r->input, e) : expand_spec(r, all, e);
    if (rc == TA_OK && plan && r->model != NULL)
        rc = replaced_model(&r->replaced, &r->plan, r->model, e);
    buf_done(&text);
    return rc;
}

static int read_operand(struct replay *r, struct operand *in, struct err *e)
{
    const char *format = r->foreign.format;
    struct formats *f = NULL;
    int rc = operand_open(in, r->input, e);
    if (rc != TA_OK)
        return rc;
    if (in->kind == OPERAND_PLAN && format == NULL)
        return read_made(r, in, false, e);
    rc = formats_open(&f, in->f, operand_head(in), in->name, format, e);
    /* A damaged trace is still one. */
    if (in->kind == OPERAND_TRACE && format == NULL &&
        (rc != TA_OK ? !formats_is_text(f) : formats_kind(f) == FORMATS_CAPTURE))
        rc = read_made(r, in, true, e);
    else if (rc == TA_OK && formats_kind(f) == FORMATS_CAPTURE)
        rc = err_set(e, TA_EUSAGE, "%s is a capture, not what --format says", r->input);
    else if (rc == TA_OK)
        rc = formats_kind(f) == FORMATS_FOREIGN ? read_foreign(r, f, e) : read_text(r, f, e);
    formats_close(f);
    return rc;
}

static struct modes_options modes_of(const struct replay *r)
{
    return (struct modes_options){.kind = (enum modes_kind)r->mode,
                                  .rate = r->rate,
                                  .poisson = r->arrivals != NULL && r->arrivals[0] == 'p',
                                  .seed = r->seed < 0 ? 0 : r->seed,
                                  .concurrency = r->concurrency,
                                  .speed = isnan(r->speed) ? 1 : r->speed,
                                  .repeat = r->repeat < 0 ? 1 : r->repeat,
                                  .warmup = r->warmup,
                                  .requests = r->requests < 0 ? 0 : r->requests,
                                  .duration_ns = r->duration_ns < 0 ? 0 : r->duration_ns};
}

int replay_plan(struct replay *r, struct err *e)
{
    struct operand in;
    int rc = read_operand(r, &in, e);
    operand_close(&in);
    if (rc != TA_OK)
        return rc;
    struct modes_options o = modes_of(r);
    return modes_apply(&r->plan, &o, r->input, e);
}
