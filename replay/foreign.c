/* Files of other tools, as the command line asks for them. */
#include "replay/foreign.h"

#include <string.h>

#include "traces/limits.h"

enum { SAYS_BYTES = 1 << 16 };

/* What a body has already comes from elsewhere. */
static const char *const own_members[] = {"model", "messages", "prompt", "max_tokens"};

static int check_extra(struct foreign *f, struct err *e)
{
    struct err why;
    if (f->extra == NULL)
        return TA_OK;
    f->extra_json = json_parse(f->extra, strlen(f->extra), &why);
    if (f->extra_json == NULL || json_kind(f->extra_json) != JSON_OBJECT)
        return err_set(e, TA_EUSAGE, "--extra: expected a JSON object such as '%s'; %s",
                       "{\"ignore_eos\": true}", f->extra_json == NULL ? why.msg : "found another");
    for (size_t i = 0; i < sizeof own_members / sizeof *own_members; i++) {
        if (json_get(f->extra_json, own_members[i]) != NULL)
            return err_set(e, TA_EUSAGE, "--extra holds '%s', which every body has already",
                           own_members[i]);
    }
    return TA_OK;
}

int foreign_check(struct foreign *f, struct err *e)
{
    if (f->export != NULL && !export_named(f->export, &f->export_format))
        return err_set(e, TA_EUSAGE,
                       "--export: expected mooncake, aiperf, burstgpt or azure, found '%.40s'",
                       f->export);
    return check_extra(f, e);
}

void foreign_free(struct foreign *f)
{
    json_free(f->extra_json);
    f->extra_json = NULL;
}

bool foreign_wants_lengths(const struct foreign *f)
{
    return f->export != NULL && f->export_format != EXPORT_AIPERF;
}

static void say(struct buf *says)
{
    fputs(buf_text(says), stderr);
    buf_clear(says);
}

int foreign_read(const struct foreign *f, struct formats *in, struct plan *out,
                 struct formats_options o, struct err *e)
{
    struct buf says;
    buf_init(&says, SAYS_BYTES);
    o.time_unit = f->time_unit;
    o.barrier_ties = f->barrier_ties;
    o.extra = f->extra_json;
    o.lengths_only = foreign_wants_lengths(f);
    o.said = say;
    int rc = formats_read(in, out, &o, &says, e);
    say(&says);
    buf_done(&says);
    return rc;
}

static void write_lines(const struct plan *p, FILE *to)
{
    struct buf line;
    buf_init(&line, (size_t)LIMIT_REQUEST_BODY_BYTES * 7);
    plan_write_head(p, &line);
    for (size_t i = 0; i < p->requests.n; i++) {
        plan_write_line(p, i, &line);
        fwrite(line.p, 1, line.n, to);
        buf_clear(&line);
    }
    buf_done(&line);
}

static int write_export(const struct foreign *f, const struct plan *p, FILE *to, struct err *e)
{
    struct buf says;
    buf_init(&says, SAYS_BYTES);
    int rc = export_write(p, f->export_format, to, &says, e);
    say(&says);
    buf_done(&says);
    return rc;
}

int foreign_write(const struct foreign *f, const struct plan *p, const char *path, struct err *e)
{
    bool to_stdout = path == NULL || strcmp(path, "-") == 0;
    FILE *to = to_stdout ? stdout : fopen(path, "wb");
    int rc = TA_OK;
    if (to == NULL)
        return err_sys(e, TA_ESYS, "creating %s", path);
    if (f->export != NULL)
        rc = write_export(f, p, to, e);
    else
        write_lines(p, to);
    bool bad = fflush(to) != 0 || ferror(to);
    if (!to_stdout)
        bad = fclose(to) != 0 || bad;
    return rc == TA_OK && bad ? err_sys(e, TA_ESYS, "writing %s", to_stdout ? "stdout" : path) : rc;
}
