/* A text to its tokens: added tokens are cut out, the pieces between them are rewritten, split into
 * words, and each word encoded. */
#include "analyze/tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/tokenizer_parts.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/limits.h"

/* --- a text ------------------------------------------------------------------------------- */

struct counting {
    struct tokenizer *t;
    struct token_ids *ids; /* NULL: only counted */
    int64_t n;
    const char **why;
};

static int on_word(void *ctx, struct slice word)
{
    struct counting *c = ctx;
    int64_t n = bpe_word(&c->t->bpe, word, c->ids);
    if (n < 0) {
        *c->why = "its text has a character that the tokenizer has no token for";
        return TA_EFORMAT;
    }
    c->n += n;
    return TA_OK;
}

static void add(struct counting *c, uint32_t id)
{
    c->n++;
    if (c->ids != NULL)
        VEC_PUSH(c->ids, id);
}

/* The pieces of a text between added tokens. */
struct cutting {
    const struct added *added;
    struct slice text;
    size_t from, taken;
};

/* The next piece before an added token, or the last; false: it was the last. */
static bool cut(struct cutting *k, struct slice *piece, const struct added_token **token)
{
    size_t start = k->text.n, end = k->text.n, taken = k->taken;
    *token = added_next(k->added, k->text, taken, &k->from, &start, &end);
    *piece = (struct slice){k->text.p + taken, start > taken ? start - taken : 0};
    k->taken = end;
    return *token != NULL;
}

static int count_normalized(struct counting *c, struct slice text, bool at_start)
{
    struct tokenizer *t = c->t;
    struct cutting k = {.added = &t->normalized, .text = text};
    struct word_sink words = {c, on_word};
    if (text.n == 0)
        return TA_OK;
    for (bool more = true; more;) {
        struct slice piece;
        const struct added_token *token;
        more = cut(&k, &piece, &token);
        int rc = stages_run(t->stages.v, t->stages.n, piece, at_start && piece.p == text.p, words,
                            c->why);
        if (rc != TA_OK)
            return rc;
        if (more)
            add(c, token->id);
    }
    return TA_OK;
}

static int count(struct counting *c, struct slice text)
{
    struct tokenizer *t = c->t;
    struct cutting k = {.added = &t->plain, .text = text};
    for (bool more = true; more;) {
        struct slice piece, rewritten;
        const struct added_token *token;
        more = cut(&k, &piece, &token);
        int rc = text_rules_apply(t->rules.v, t->rules.n, piece, t->works, &rewritten, c->why);
        if (rc == TA_OK)
            rc = count_normalized(c, rewritten, piece.p == text.p);
        if (rc != TA_OK)
            return rc;
        if (more)
            add(c, token->id);
    }
    return TA_OK;
}

int64_t tokenizer_encode(struct tokenizer *t, struct slice text, struct token_ids *ids,
                         const char **why)
{
    struct counting c = {t, ids, 0, why};
    if (text.n == 0)
        return 0;
    if (text.n > LIMIT_RECOUNT_BYTES) {
        *why = "its text is too long to be counted again";
        return -1;
    }
    if (text_valid(text, &t->valid, &text, why) != TA_OK || count(&c, text) != TA_OK)
        return -1;
    return c.n;
}

int64_t tokenizer_count(struct tokenizer *t, struct slice text, const char **why)
{
    return tokenizer_encode(t, text, NULL, why);
}

int64_t tokenizer_around(const struct tokenizer *t)
{
    return t->around;
}

/* --- beginning and end -------------------------------------------------------------------- */

struct stage *tokenizer_stage(struct tokenizer *t, enum stage_kind kind)
{
    VEC_PUSH(&t->stages, ((struct stage){.kind = kind}));
    struct stage *s = &t->stages.v[t->stages.n - 1];
    buf_init(&s->work, LIMIT_RECOUNT_WORK_BYTES);
    return s;
}

/* A file that is not UTF-8 is no JSON, and would put what is not UTF-8 into texts. */
static int check_utf8(struct slice file, const char *name, struct err *e)
{
    uint32_t cp;
    for (size_t i = 0, n; i < file.n; i += n) {
        n = utf8_next((const uint8_t *)file.p + i, file.n - i, &cp);
        if (n == 1 && cp >= 0x80)
            return err_set(e, TA_EFORMAT, "%s: byte %zu is not UTF-8; is this a tokenizer?", name,
                           i);
    }
    return TA_OK;
}

int tokenizer_read(struct tokenizer **out, struct slice file, const char *name, const char *pattern,
                   struct err *e)
{
    *out = NULL;
    if (file.n > LIMIT_VOCABULARY_BYTES)
        return err_set(e, TA_EFORMAT, "%s: more than %u bytes; is this a tokenizer?", name,
                       LIMIT_VOCABULARY_BYTES);
    int rc = check_utf8(file, name, e);
    if (rc != TA_OK)
        return rc;
    struct tokenizer *t = mem_zalloc(sizeof *t);
    buf_init(&t->valid, LIMIT_RECOUNT_WORK_BYTES);
    buf_init(&t->works[0], LIMIT_RECOUNT_WORK_BYTES);
    buf_init(&t->works[1], LIMIT_RECOUNT_WORK_BYTES);
    size_t blanks = 0;
    while (blanks < file.n && strchr(" \t\r\n", file.p[blanks]) != NULL && file.p[blanks] != '\0')
        blanks++;
    if (blanks < file.n && file.p[blanks] == '{')
        rc = tokenizer_from_json(t, file, name, e);
    else
        rc = tokenizer_from_ranks(t, file, name, pattern, e);
    if (rc != TA_OK) {
        tokenizer_close(t);
        return rc;
    }
    *out = t;
    return TA_OK;
}

/* Of at most max bytes and one more. */
static int read_whole(int fd, struct buf *text)
{
    for (ssize_t n = 1; n != 0 && text->n < text->max;) {
        size_t room = text->max - text->n < (1u << 20) ? text->max - text->n : 1u << 20;
        uint8_t *p = buf_reserve(text, room);
        n = read(fd, p, room);
        if (n < 0 && errno != EINTR)
            return TA_ESYS;
        text->n += n > 0 ? (size_t)n : 0;
    }
    return TA_OK;
}

int tokenizer_open(struct tokenizer **out, const char *path, const char *pattern, struct err *e)
{
    struct buf text;
    buf_init(&text, (size_t)LIMIT_VOCABULARY_BYTES + 1);
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? TA_ESYS : read_whole(fd, &text);
    if (rc != TA_OK)
        err_sys(e, TA_EFORMAT, "cannot read the tokenizer %s", path);
    else
        rc = tokenizer_read(out, (struct slice){(const char *)text.p, text.n}, path, pattern, e);
    if (fd >= 0)
        close(fd);
    buf_done(&text);
    return rc == TA_ESYS ? TA_EFORMAT : rc;
}

void tokenizer_close(struct tokenizer *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->rules.n; i++)
        pattern_free(t->rules.v[i].pattern);
    for (size_t i = 0; i < t->stages.n; i++) {
        pattern_free(t->stages.v[i].pattern);
        pattern_free(t->stages.v[i].rule.pattern);
        buf_done(&t->stages.v[i].work);
    }
    VEC_FREE(&t->rules);
    VEC_FREE(&t->stages);
    added_done(&t->plain);
    added_done(&t->normalized);
    bpe_done(&t->bpe);
    buf_done(&t->valid);
    buf_done(&t->works[0]);
    buf_done(&t->works[1]);
    arena_free(&t->texts);
    free(t);
}
