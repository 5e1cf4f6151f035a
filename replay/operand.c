/* Opening what is to be replayed. */
#include "replay/operand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/plan.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

enum { STEP = 65536 };

/* The file of a shipped spec of that name, installed or in the source tree; NULL. The caller's. */
static char *shipped_spec(const char *name)
{
    static const char *const places[] = {TOKAUDIT_DATADIR "/workloads/",
                                         TOKAUDIT_SOURCEDIR "/replay/workloads/"};
    for (size_t i = 0; strchr(name, '/') == NULL && i < sizeof places / sizeof *places; i++) {
        char *path = mem_printf("%s%s.json", places[i], name);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static int open_file(struct operand *s, const char *text, struct err *e)
{
    if (strcmp(text, "-") == 0) {
        s->name = "stdin";
        s->f = stdin;
        return TA_OK;
    }
    s->f = fopen(text, "rb");
    int fault = errno;
    char *shipped = s->f == NULL ? shipped_spec(text) : NULL;
    if (shipped != NULL)
        s->f = fopen(shipped, "rb");
    free(shipped);
    if (s->f != NULL)
        return TA_OK;
    errno = fault;
    return err_sys(e, TA_EFORMAT,
                   "%s is neither a readable file nor a shipped workload (run_single, run_double)",
                   text);
}

/* True: it goes on. */
static bool read_step(struct operand *s, int *rc, struct err *e)
{
    uint8_t *p = buf_reserve(&s->head, STEP);
    if (p == NULL) {
        *rc = err_set(e, TA_EFORMAT, "%s: larger than %u bytes, the most a spec may have", s->name,
                      LIMIT_SPEC_BYTES);
        return false;
    }
    size_t n = fread(p, 1, STEP, s->f);
    s->head.n += n;
    if (n == 0 && ferror(s->f))
        *rc = err_sys(e, TA_EFORMAT, "reading %s", s->name);
    return n > 0;
}

static bool is_capture(const struct buf *b)
{
    static const struct {
        uint8_t bytes[4];
        size_t n;
    } magics[] = {{{0x1F, 0x8B}, 2},
                  {{0x0A, 0x0D, 0x0D, 0x0A}, 4},
                  {{0xD4, 0xC3, 0xB2, 0xA1}, 4},
                  {{0x4D, 0x3C, 0xB2, 0xA1}, 4},
                  {{0xA1, 0xB2, 0xC3, 0xD4}, 4},
                  {{0xA1, 0xB2, 0x3C, 0x4D}, 4}};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (b->n >= magics[i].n && memcmp(b->p, magics[i].bytes, magics[i].n) == 0)
            return true;
    }
    return false;
}

int operand_open(struct operand *s, const char *text, struct err *e)
{
    *s = (struct operand){.name = text};
    buf_init(&s->head, LIMIT_SPEC_BYTES);
    int rc = open_file(s, text, e);
    if (rc != TA_OK)
        return rc;
    bool more = read_step(s, &rc, e);
    if (is_capture(&s->head)) {
        s->kind = OPERAND_TRACE;
        return rc;
    }
    for (size_t seen = 0; more && s->head.n + STEP <= LIMIT_SPEC_BYTES &&
                          memchr(s->head.p + seen, '\n', s->head.n - seen) == NULL;
         more = read_step(s, &rc, e))
        seen = s->head.n;
    if (rc == TA_OK)
        s->kind = plan_claims(operand_head(s)) ? OPERAND_PLAN : OPERAND_SPEC;
    return rc;
}

struct slice operand_head(const struct operand *s)
{
    return (struct slice){(const char *)s->head.p, s->head.n};
}

void operand_close(struct operand *s)
{
    buf_done(&s->head);
    if (s->f != NULL && s->f != stdin)
        fclose(s->f);
    s->f = NULL;
}
