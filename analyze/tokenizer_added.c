/* Tokens that are looked for in the text before anything else. */
#include "analyze/tokenizer_added.h"

#include <string.h>

#include "analyze/tokenizer_text.h"
#include "traces/base/text.h"

static void add_length(struct added_lengths *l, uint32_t n)
{
    size_t i = 0;
    while (i < l->n && l->v[i] > n)
        i++;
    if (i < l->n && l->v[i] == n)
        return;
    VEC_PUSH(l, 0);
    memmove(l->v + i + 1, l->v + i, (l->n - 1 - i) * sizeof *l->v);
    l->v[i] = n;
}

void added_put(struct added *a, struct slice text, struct added_token token)
{
    if (text.n == 0)
        return;
    token_table_put(&a->texts, text, (uint32_t)a->tokens.n);
    VEC_PUSH(&a->tokens, token);
    add_length(&a->lengths[(uint8_t)text.p[0]], (uint32_t)text.n);
}

void added_done(struct added *a)
{
    token_table_done(&a->texts);
    VEC_FREE(&a->tokens);
    for (size_t i = 0; i < 256; i++)
        VEC_FREE(&a->lengths[i]);
}

/* The longest at p. */
static const struct added_token *at(const struct added *a, struct slice rest, size_t *n)
{
    const struct added_lengths *l = &a->lengths[(uint8_t)rest.p[0]];
    for (size_t i = 0; i < l->n; i++) {
        uint32_t number;
        *n = l->v[i];
        if (*n <= rest.n && token_table_get(&a->texts, (struct slice){rest.p, *n}, &number))
            return &a->tokens.v[number];
    }
    return NULL;
}

/* The character before text.p[i], which begins at the returned place. */
static size_t before(struct slice text, size_t i, uint32_t *cp)
{
    size_t k = i - 1;
    while (k > 0 && ((uint8_t)text.p[k] & 0xc0) == 0x80)
        k--;
    utf8_next((const uint8_t *)text.p + k, i - k, cp);
    return k;
}

static bool stands_alone(struct slice text, size_t start, size_t end)
{
    uint32_t cp;
    if (start > 0) {
        before(text, start, &cp);
        if (text_is_word(cp))
            return false;
    }
    if (end == text.n)
        return true;
    utf8_next((const uint8_t *)text.p + end, text.n - end, &cp);
    return !text_is_word(cp);
}

const struct added_token *added_next(const struct added *a, struct slice text, size_t taken,
                                     size_t *from, size_t *start, size_t *end)
{
    const struct added_token *found = NULL;
    size_t i = *from, n = 0;
    uint32_t cp;
    for (; i < text.n && a->tokens.n > 0; i += found != NULL ? n : 1) {
        found = at(a, (struct slice){text.p + i, text.n - i}, &n);
        if (found != NULL && (!found->single_word || stands_alone(text, i, i + n)))
            break;
    }
    if (i >= text.n || a->tokens.n == 0)
        return NULL;
    *start = i;
    *from = *end = i + n;
    for (size_t k; found->lstrip && *start > taken; *start = k) {
        k = before(text, *start, &cp);
        if (!text_is_space(cp))
            break;
    }
    while (found->rstrip && *end < text.n) {
        size_t used = utf8_next((const uint8_t *)text.p + *end, text.n - *end, &cp);
        if (!text_is_space(cp))
            break;
        *end += used;
    }
    return found;
}
