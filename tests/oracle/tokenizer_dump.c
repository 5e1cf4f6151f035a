/* tokenizer_dump FILE [PATTERN] < STRINGS: for each string (its length as 4 bytes, little-endian,
 * then its bytes) a line: the count, then the ids. With --time, instead: nanoseconds for counting
 * all of them once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/tokenizer.h"
#include "traces/base/mem.h"
#include "traces/base/vec.h"
#include "traces/limits.h"

static bool read_string(struct slice *out, char *into)
{
    uint8_t head[4];
    if (fread(head, 1, 4, stdin) != 4)
        return false;
    size_t n =
        (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    if (n > LIMIT_RECOUNT_BYTES || fread(into, 1, n, stdin) != n)
        return false;
    *out = (struct slice){into, n};
    return true;
}

static void dump(struct tokenizer *t, struct slice text)
{
    struct token_ids ids = {NULL, 0, 0};
    const char *why = "";
    int64_t n = tokenizer_count(t, text, &why);
    if (n < 0)
        printf("-1 %s", why);
    else
        printf("%lld", (long long)n);
    if (tokenizer_encode(t, text, &ids, &why) >= 0) {
        for (size_t i = 0; i < ids.n; i++)
            printf(" %u", ids.v[i]);
    }
    putchar('\n');
    VEC_FREE(&ids);
}

static int64_t now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t spent(struct tokenizer *t, const struct slice *texts, size_t n, int64_t *tokens)
{
    const char *why;
    int64_t start = now();
    *tokens = 0;
    for (size_t i = 0; i < n; i++)
        *tokens += tokenizer_count(t, texts[i], &why);
    return now() - start;
}

int main(int argc, char **argv)
{
    bool timed = argc > 1 && strcmp(argv[1], "--time") == 0;
    argc -= timed;
    argv += timed;
    struct tokenizer *t = NULL;
    struct err e;
    if (argc < 2 || tokenizer_open(&t, argv[1], argc > 2 ? argv[2] : NULL, &e) != TA_OK) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: tokenizer_dump [--time] FILE [PATTERN]" : e.msg);
        return 1;
    }
    char *into = mem_alloc(LIMIT_RECOUNT_BYTES);
    VEC(struct slice) texts = {NULL, 0, 0};
    for (struct slice text; read_string(&text, into);) {
        if (!timed)
            dump(t, text);
        else
            VEC_PUSH(&texts, ((struct slice){mem_strndup(text.p, text.n), text.n}));
    }
    int64_t tokens;
    if (timed) {
        int64_t ns = spent(t, texts.v, texts.n, &tokens);
        printf("%lld %lld\n", (long long)ns, (long long)tokens);
    }
    for (size_t i = 0; i < texts.n; i++)
        free((char *)texts.v[i].p);
    VEC_FREE(&texts);
    free(into);
    tokenizer_close(t);
    return 0;
}
