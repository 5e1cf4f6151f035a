/* A tokenizer.json. Each part becomes rules and stages (tokenizer_text.h, tokenizer_split.h), or
 * the file is refused with the part's name. Source: Hugging Face's tokenizers 0.23, how each part
 * is deserialized. */
#include <stdlib.h>
#include <string.h>

#include "analyze/tokenizer_parts.h"
#include "traces/base/jscan.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/limits.h"

struct reading {
    struct tokenizer *t;
    const char *name;
    struct buf scratch;
    unsigned depth; /* of sequences in sequences */
    struct err *e;
};

enum { SEQUENCES_MAX = 16, NAME_SHOWN = 64 };

/* --- values ------------------------------------------------------------------------------- */

/* The member's value as it stands in the file; {NULL, 0}: there is none. */
static struct slice member(struct slice object, const char *name)
{
    struct jscan s = jscan_over_valid(object);
    struct slice key, found = {NULL, 0};
    if (object.n == 0 || jscan_next(&s) != JT_OBJECT)
        return found;
    while (jscan_pair(&s, &key)) {
        struct slice value = jscan_whole(&s);
        if (slice_is(key, name))
            found = value;
    }
    return found;
}

static bool is_null(struct slice v)
{
    return v.n == 0 || *v.p == 'n';
}

/* A member that is true or false. */
static bool flag(struct slice object, const char *name, bool otherwise)
{
    struct slice v = member(object, name);
    return is_null(v) ? otherwise : *v.p == 't';
}

/* What stands between quotes; dies with the next one. */
static struct slice unescape(struct reading *r, struct slice quoted)
{
    struct jscan s = {.text = quoted, .escaped = memchr(quoted.p, '\\', quoted.n) != NULL};
    if (!s.escaped)
        return quoted;
    buf_clear(&r->scratch);
    if (jscan_unescape(&s, &r->scratch) != TA_OK)
        return (struct slice){"", 0}; /* never: as big as a file may be */
    return (struct slice){(const char *)r->scratch.p, r->scratch.n};
}

static bool is_text(struct slice v)
{
    return v.n >= 2 && *v.p == '"';
}

/* A text that lives as long as the tokenizer; {"", 0} if v is none. */
static struct slice text_of(struct reading *r, struct slice v)
{
    if (!is_text(v))
        return (struct slice){"", 0};
    return arena_slice(&r->t->texts, unescape(r, (struct slice){v.p + 1, v.n - 2}));
}

static bool type_is(struct slice object, const char *name)
{
    struct slice v = member(object, "type");
    return is_text(v) && jscan_raw_is((struct slice){v.p + 1, v.n - 2}, name);
}

/* Names what is not counted with: the part's type where it has one. */
static int refuse(struct reading *r, const char *what, struct slice part)
{
    struct slice type = member(part, "type");
    if (!is_text(type))
        return err_set(r->e, TA_STOP, "%s: a %s without a type is not counted with", r->name, what);
    int n = (int)(type.n - 2 < NAME_SHOWN ? type.n - 2 : NAME_SHOWN);
    return err_set(r->e, TA_STOP, "%s: the %s %.*s is not counted with", r->name, what, n,
                   type.p + 1);
}

static int broken(struct reading *r, const char *what)
{
    return err_set(r->e, TA_EFORMAT, "%s: %s", r->name, what);
}

/* {"String": "…"} or {"Regex": "…"}. */
static int read_pattern(struct reading *r, struct slice part, struct pattern **out)
{
    struct slice pattern = member(part, "pattern");
    struct slice literal = member(pattern, "String"), regex = member(pattern, "Regex");
    struct err why;
    if (is_text(regex)) {
        if (pattern_new(out, text_of(r, regex), PATTERN_RUBY, &why) == TA_OK)
            return TA_OK;
        return err_set(r->e, TA_STOP, "%s: %s", r->name, why.msg);
    }
    struct slice text = text_of(r, literal);
    if (text.n == 0)
        return err_set(r->e, TA_STOP, "%s: a pattern without a text is not counted with", r->name);
    *out = pattern_literal(text);
    return TA_OK;
}

/* The elements of part's array, each by read. */
static int read_sequence(struct reading *r, struct slice array, const char *what,
                         int (*read)(struct reading *r, struct slice part))
{
    struct jscan s = jscan_over_valid(array);
    if (array.n == 0 || jscan_next(&s) != JT_ARRAY || ++r->depth > SEQUENCES_MAX)
        return err_set(r->e, TA_STOP, "%s: a sequence of %ss that is not counted with", r->name,
                       what);
    while (jscan_element(&s)) {
        int rc = read(r, jscan_whole(&s));
        if (rc != TA_OK)
            return rc;
    }
    r->depth--;
    return TA_OK;
}

static int check_parts(struct reading *r)
{
    size_t n = r->t->rules.n + r->t->stages.n;
    return n <= LIMIT_VOCABULARY_PARTS
               ? TA_OK
               : err_set(r->e, TA_STOP, "%s: more than %u parts", r->name, LIMIT_VOCABULARY_PARTS);
}

/* --- normalizer --------------------------------------------------------------------------- */

static int read_normalizer(struct reading *r, struct slice part)
{
    static const struct {
        const char *name;
        enum text_rule_kind kind;
    } kinds[] = {
        {"NFC", TEXT_NFC},         {"NFD", TEXT_NFD},
        {"NFKC", TEXT_NFKC},       {"NFKD", TEXT_NFKD},
        {"Prepend", TEXT_PREPEND}, {"Lowercase", TEXT_LOWERCASE},
        {"Replace", TEXT_REPLACE}, {"StripAccents", TEXT_STRIP_ACCENTS},
        {"Strip", TEXT_STRIP},     {"ByteLevel", TEXT_BYTES},
        {"Nmt", TEXT_NMT},
    };
    if (is_null(part))
        return TA_OK;
    if (type_is(part, "Sequence"))
        return read_sequence(r, member(part, "normalizers"), "normalizer", read_normalizer);
    struct text_rule rule = {.pattern = NULL};
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !type_is(part, kinds[i].name))
        i++;
    if (i == sizeof kinds / sizeof *kinds)
        return refuse(r, "normalizer", part);
    rule.kind = kinds[i].kind;
    rule.left = flag(part, "strip_left", true);
    rule.right = flag(part, "strip_right", true);
    if (rule.kind == TEXT_PREPEND)
        rule.text = text_of(r, member(part, "prepend"));
    if (rule.kind == TEXT_REPLACE) {
        rule.text = text_of(r, member(part, "content"));
        int rc = read_pattern(r, part, &rule.pattern);
        if (rc != TA_OK)
            return rc;
    }
    VEC_PUSH(&r->t->rules, rule);
    return check_parts(r);
}

/* --- pre-tokenizer ------------------------------------------------------------------------ */

static int add_split(struct reading *r, const char *regex, enum split_behaviour behaviour,
                     bool inverted)
{
    struct stage *s = tokenizer_stage(r->t, STAGE_SPLIT);
    s->behaviour = behaviour;
    s->inverted = inverted;
    /* char::is_whitespace and \w as Rust's regex has it */
    return pattern_new(&s->pattern, slice_of(regex), PATTERN_RUST, r->e);
}

static int read_behaviour(struct reading *r, struct slice part, enum split_behaviour *out)
{
    static const char *const names[] = {"\"Removed\"", "\"Isolated\"", "\"Contiguous\"",
                                        "\"MergedWithPrevious\"", "\"MergedWithNext\""};
    struct slice v = member(part, "behavior");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (v.n > 0 && slice_is(v, names[i])) {
            *out = (enum split_behaviour)i;
            return TA_OK;
        }
    }
    return err_set(r->e, TA_STOP, "%s: a split with an unknown behaviour is not counted with",
                   r->name);
}

static int read_split(struct reading *r, struct slice part)
{
    struct stage *s = tokenizer_stage(r->t, STAGE_SPLIT);
    s->inverted = flag(part, "invert", false);
    int rc = read_behaviour(r, part, &s->behaviour);
    return rc == TA_OK ? read_pattern(r, part, &s->pattern) : rc;
}

static int read_byte_level(struct reading *r, struct slice part)
{
    int rc = TA_OK;
    if (flag(part, "add_prefix_space", true))
        tokenizer_stage(r->t, STAGE_PREFIX)->prefix = slice_of(" ");
    if (flag(part, "use_regex", true))
        rc = add_split(r,
                       "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
                       "\\s+(?!\\S)|\\s+",
                       SPLIT_ISOLATED, false);
    tokenizer_stage(r->t, STAGE_RULE)->rule.kind = TEXT_BYTES;
    return rc;
}

static int read_metaspace(struct reading *r, struct slice part)
{
    struct slice mark = text_of(r, member(part, "replacement"));
    struct slice scheme = member(part, "prepend_scheme");
    bool first = scheme.n > 0 && slice_is(scheme, "\"first\"");
    bool never = scheme.n > 0 && slice_is(scheme, "\"never\"");
    if (mark.n == 0 || (!is_null(scheme) && !first && !never && !slice_is(scheme, "\"always\"")))
        return refuse(r, "way of the pre-tokenizer", part);
    struct stage *s = tokenizer_stage(r->t, STAGE_RULE);
    s->rule = (struct text_rule){
        .kind = TEXT_REPLACE, .text = mark, .pattern = pattern_literal(slice_of(" "))};
    if (!never && flag(part, "add_prefix_space", true)) {
        s = tokenizer_stage(r->t, STAGE_PREFIX);
        s->prefix = mark;
        s->only_first = first;
    }
    if (!flag(part, "split", true))
        return TA_OK;
    s = tokenizer_stage(r->t, STAGE_SPLIT);
    s->behaviour = SPLIT_WITH_NEXT;
    s->pattern = pattern_literal(mark);
    return TA_OK;
}

static int read_punctuation(struct reading *r, struct slice part)
{
    enum split_behaviour behaviour = SPLIT_ISOLATED;
    if (!is_null(member(part, "behavior"))) {
        int rc = read_behaviour(r, part, &behaviour);
        if (rc != TA_OK)
            return rc;
    }
    return add_split(r, "[!-/:-@\\[-`{-~\\p{P}]", behaviour, false);
}

static int read_digits(struct reading *r, struct slice part)
{
    bool each = flag(part, "individual_digits", false);
    return add_split(r, "\\p{N}", each ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, false);
}

static int read_whitespace(struct reading *r, struct slice part)
{
    (void)part;
    return add_split(r, "\\w+|[^\\w\\s]+", SPLIT_REMOVED, true);
}

static int read_whitespace_split(struct reading *r, struct slice part)
{
    (void)part;
    return add_split(r, "\\s", SPLIT_REMOVED, false);
}

static int read_pre_tokenizer(struct reading *r, struct slice part)
{
    static const struct {
        const char *name;
        int (*read)(struct reading *r, struct slice part);
    } kinds[] = {
        {"Split", read_split},
        {"ByteLevel", read_byte_level},
        {"Metaspace", read_metaspace},
        {"Digits", read_digits},
        {"Whitespace", read_whitespace},
        {"WhitespaceSplit", read_whitespace_split},
        {"Punctuation", read_punctuation},
    };
    if (is_null(part))
        return TA_OK;
    if (type_is(part, "Sequence"))
        return read_sequence(r, member(part, "pretokenizers"), "pre-tokenizer", read_pre_tokenizer);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (type_is(part, kinds[i].name)) {
            int rc = kinds[i].read(r, part);
            return rc == TA_OK ? check_parts(r) : rc;
        }
    }
    return refuse(r, "pre-tokenizer", part);
}

/* --- model -------------------------------------------------------------------------------- */

static int read_vocab(struct reading *r, struct slice vocab)
{
    struct jscan s = jscan_over_valid(vocab);
    struct slice key;
    if (vocab.n == 0 || jscan_next(&s) != JT_OBJECT)
        return broken(r, "the model has no vocabulary");
    while (jscan_member(&s, &key)) {
        int64_t id;
        struct slice token = s.text;
        if (jscan_next(&s) != JT_NUMBER || !jscan_int(&s, &id) || id < 0 || id >= UINT32_MAX)
            return broken(r, "the vocabulary has an id that is no number");
        token_table_put(&r->t->bpe.vocab, unescape(r, token), (uint32_t)id);
    }
    return TA_OK;
}

static void meet(struct bpe *b, struct slice left, struct slice right)
{
    uint32_t last, first;
    size_t i = left.n;
    if (left.n == 0 || right.n == 0)
        return;
    do
        i--;
    while (i > 0 && ((uint8_t)left.p[i] & 0xc0) == 0x80);
    utf8_next((const uint8_t *)left.p + i, left.n - i, &last);
    utf8_next((const uint8_t *)right.p, right.n, &first);
    bpe_meet(b, last, first);
}

/* Both parts of a merge are tokens, and so is what they become. */
static int add_merge(struct reading *r, struct slice left, struct slice right, uint32_t rank)
{
    struct bpe *b = &r->t->bpe;
    uint32_t left_id, right_id, id;
    struct slice tail = right;
    if (b->prefix.n > 0 && right.n >= b->prefix.n)
        tail = (struct slice){right.p + b->prefix.n, right.n - b->prefix.n};
    bool known =
        token_table_get(&b->vocab, left, &left_id) && token_table_get(&b->vocab, right, &right_id);
    struct buf both;
    buf_init(&both, LIMIT_VOCABULARY_BYTES);
    buf_put(&both, left.p, left.n);
    buf_put(&both, tail.p, tail.n);
    known = known && token_table_get(&b->vocab, (struct slice){(char *)both.p, both.n}, &id);
    buf_done(&both);
    if (!known)
        return err_set(r->e, TA_EFORMAT, "%s: merge %u is of tokens that the vocabulary lacks",
                       r->name, rank + 1);
    bpe_merge(b, left_id, right_id, rank, id);
    meet(b, left, tail);
    return TA_OK;
}

/* "a b"; no token of such a file has a blank in it. */
static int read_merge_text(struct reading *r, const struct jscan *s, uint32_t rank)
{
    struct slice both = unescape(r, s->text);
    const char *blank = both.n > 0 ? memchr(both.p, ' ', both.n) : NULL;
    size_t n = blank != NULL ? (size_t)(blank - both.p) : 0;
    if (blank == NULL || memchr(blank + 1, ' ', both.n - n - 1) != NULL)
        return broken(r, "a merge that is not two tokens with a blank between");
    return add_merge(r, (struct slice){both.p, n}, (struct slice){blank + 1, both.n - n - 1}, rank);
}

/* ["a", "b"] */
static int read_merge_pair(struct reading *r, struct jscan *s, uint32_t rank)
{
    if (!jscan_element(s) || s->last != JT_STRING)
        return broken(r, "a merge that is not two texts");
    struct slice first = unescape(r, s->text);
    struct slice left = {mem_dup(first.p, first.n > 0 ? first.n : 1), first.n};
    int rc = !jscan_element(s) || s->last != JT_STRING
                 ? broken(r, "a merge that is not two texts")
                 : add_merge(r, left, unescape(r, s->text), rank);
    free((char *)left.p);
    if (rc == TA_OK && jscan_element(s))
        rc = broken(r, "a merge of more than two texts");
    return rc;
}

static int read_merges(struct reading *r, struct slice merges)
{
    struct jscan s = jscan_over_valid(merges);
    if (merges.n == 0 || jscan_next(&s) != JT_ARRAY)
        return broken(r, "the model has no merges");
    uint32_t rank = 0;
    while (jscan_element(&s)) {
        int rc = s.last == JT_ARRAY    ? read_merge_pair(r, &s, rank)
                 : s.last == JT_STRING ? TA_OK
                                       : broken(r, "a merge that is neither a text nor a pair");
        /* some files keep the first line of merges.txt, which has no rank */
        bool version = s.last == JT_STRING && s.text.n >= 8 && memcmp(s.text.p, "#version", 8) == 0;
        if (rc == TA_OK && s.last == JT_STRING && !version)
            rc = read_merge_text(r, &s, rank);
        if (rc != TA_OK)
            return rc;
        rank += !version;
    }
    return TA_OK;
}

static int read_bpe(struct reading *r, struct slice model)
{
    struct bpe *b = &r->t->bpe;
    struct slice dropout = member(model, "dropout"), unk = member(model, "unk_token");
    if (!is_null(dropout) && strspn(dropout.p, "0.") < dropout.n)
        return err_set(r->e, TA_STOP, "%s: a model with dropout counts differently each time",
                       r->name);
    b->byte_fallback = flag(model, "byte_fallback", false);
    b->fuse_unk = flag(model, "fuse_unk", false);
    b->whole_first = flag(model, "ignore_merges", false);
    b->has_unk = is_text(unk);
    b->unk = text_of(r, unk);
    b->prefix = text_of(r, member(model, "continuing_subword_prefix"));
    b->suffix = text_of(r, member(model, "end_of_word_suffix"));
    if (b->prefix.n > BPE_AFFIX_MAX || b->suffix.n > BPE_AFFIX_MAX)
        return broken(r, "a prefix or suffix of tokens that is too long");
    int rc = read_vocab(r, member(model, "vocab"));
    if (rc == TA_OK)
        rc = read_merges(r, member(model, "merges"));
    if (rc == TA_OK)
        bpe_ready(b);
    return rc;
}

/* Old files do not name the model; only BPE has merges. */
static int read_model(struct reading *r, struct slice model)
{
    if (is_null(model))
        return broken(r, "no model; is this a tokenizer.json?");
    bool unnamed = is_null(member(model, "type")) && !is_null(member(model, "merges"));
    if (!unnamed && !type_is(model, "BPE"))
        return refuse(r, "model", model);
    return read_bpe(r, model);
}

/* --- around a text ------------------------------------------------------------------------ */

/* Elements of a template: {"SpecialToken":…} or {"Sequence":…}. */
static int read_template_part(struct reading *r, struct slice part)
{
    r->t->around += !is_null(member(part, "SpecialToken"));
    return TA_OK;
}

static int read_post_processor(struct reading *r, struct slice part)
{
    if (type_is(part, "Sequence"))
        return read_sequence(r, member(part, "processors"), "post-processor", read_post_processor);
    if (type_is(part, "TemplateProcessing"))
        return read_sequence(r, member(part, "single"), "part of a template", read_template_part);
    if (type_is(part, "BertProcessing") || type_is(part, "RobertaProcessing"))
        r->t->around += 2;
    return TA_OK;
}

/* --- added tokens ------------------------------------------------------------------------- */

static int read_added_token(struct reading *r, struct slice part)
{
    static const char *why;
    struct tokenizer *t = r->t;
    struct jscan s = jscan_over_valid(member(part, "id"));
    int64_t id;
    struct slice text = text_of(r, member(part, "content"));
    if (s.start == NULL || jscan_next(&s) != JT_NUMBER || !jscan_int(&s, &id) || id < 0 ||
        id >= UINT32_MAX)
        return broken(r, "an added token without an id");
    struct added_token token = {(uint32_t)id, flag(part, "single_word", false),
                                flag(part, "lstrip", false), flag(part, "rstrip", false)};
    bool normalized = flag(part, "normalized", !flag(part, "special", false));
    if (normalized &&
        text_rules_apply(t->rules.v, t->rules.n, text, t->works, &text, &why) != TA_OK)
        return broken(r, why);
    added_put(normalized ? &t->normalized : &t->plain, text, token);
    return TA_OK;
}

int tokenizer_from_json(struct tokenizer *t, struct slice file, const char *name, struct err *e)
{
    struct reading r = {.t = t, .name = name, .e = e};
    struct jscan s = jscan_over(file);
    jscan_skip(&s);
    if (jscan_bad(&s) || jscan_next(&s) != JT_END)
        return err_set(e, TA_EFORMAT, "%s: not valid JSON at byte %zu", name, jscan_offset(&s));
    buf_init(&r.scratch, LIMIT_VOCABULARY_BYTES);
    int rc = read_model(&r, member(file, "model"));
    if (rc == TA_OK)
        rc = read_normalizer(&r, member(file, "normalizer"));
    if (rc == TA_OK)
        rc = read_pre_tokenizer(&r, member(file, "pre_tokenizer"));
    struct slice added = member(file, "added_tokens");
    if (rc == TA_OK && !is_null(added))
        rc = read_sequence(&r, added, "added token", read_added_token);
    struct slice post = member(file, "post_processor");
    struct err unread; /* nothing is counted with it but what others add */
    r.e = &unread;
    if (rc == TA_OK && !is_null(post) && read_post_processor(&r, post) != TA_OK)
        t->around = 0;
    buf_done(&r.scratch);
    return rc;
}
