/* Text of common words, chosen by a seeded chance. */
#include "replay/filler.h"

#include <stdbool.h>
#include <stdlib.h>

#include "replay/chance.h"

enum { SALT_WORDS = 8 }; /* of 256 words each: 64 bits */

/* Common enough that nearly every vocabulary has each, with the blank before it, as one token. */
static const char *const words[256] = {
    "the",    "of",        "and",    "to",       "in",       "is",       "you",     "that",
    "it",     "he",        "was",    "for",      "on",       "are",      "as",      "with",
    "his",    "they",      "at",     "be",       "this",     "have",     "from",    "or",
    "one",    "had",       "by",     "word",     "but",      "not",      "what",    "all",
    "were",   "we",        "when",   "your",     "can",      "said",     "there",   "use",
    "an",     "each",      "which",  "she",      "do",       "how",      "their",   "if",
    "will",   "up",        "other",  "about",    "out",      "many",     "then",    "them",
    "these",  "so",        "some",   "her",      "would",    "make",     "like",    "him",
    "into",   "time",      "has",    "look",     "two",      "more",     "write",   "go",
    "see",    "number",    "no",     "way",      "could",    "people",   "my",      "than",
    "first",  "water",     "been",   "call",     "who",      "oil",      "its",     "now",
    "find",   "long",      "down",   "day",      "did",      "get",      "come",    "made",
    "may",    "part",      "over",   "new",      "sound",    "take",     "only",    "little",
    "work",   "know",      "place",  "year",     "live",     "me",       "back",    "give",
    "most",   "very",      "after",  "thing",    "our",      "just",     "name",    "good",
    "man",    "think",     "say",    "great",    "where",    "help",     "through", "much",
    "before", "line",      "right",  "too",      "mean",     "old",      "any",     "same",
    "tell",   "boy",       "came",   "want",     "show",     "also",     "around",  "form",
    "three",  "small",     "set",    "put",      "end",      "does",     "another", "well",
    "large",  "must",      "big",    "even",     "such",     "here",     "turn",    "why",
    "ask",    "went",      "men",    "read",     "need",     "land",     "home",    "us",
    "move",   "try",       "kind",   "hand",     "picture",  "again",    "change",  "off",
    "play",   "spell",     "air",    "away",     "animal",   "house",    "point",   "page",
    "letter", "mother",    "answer", "found",    "study",    "still",    "learn",   "should",
    "world",  "high",      "every",  "near",     "add",      "food",     "between", "own",
    "below",  "country",   "plant",  "last",     "school",   "father",   "keep",    "tree",
    "never",  "start",     "city",   "earth",    "eye",      "light",    "thought", "head",
    "under",  "story",     "saw",    "left",     "few",      "while",    "along",   "might",
    "close",  "seem",      "next",   "hard",     "open",     "example",  "begin",   "life",
    "always", "those",     "both",   "paper",    "together", "got",      "group",   "often",
    "run",    "important", "until",  "children", "side",     "feet",     "car",     "mile",
    "night",  "walk",      "white",  "sea",      "river",    "mountain", "ship",    "song",
};

static const char closing[] = "\nWrite a long story that uses many of these words.";
enum { CLOSING_TOKENS = 11, ROOM_FOR_CLOSING = 32 };

enum { LONGEST_WORD = 9, WORDS_AT_ONCE = 4096 };

static void add_words(struct buf *out, uint64_t *chance, int64_t n)
{
    for (int64_t i = 0; i < n;) {
        int64_t until = n - i < WORDS_AT_ONCE ? n : i + WORDS_AT_ONCE;
        char *p = (char *)buf_reserve(out, (size_t)(until - i) * (LONGEST_WORD + 1)), *from = p;
        if (p == NULL)
            abort(); /* as buf_put does: callers know how much they ask for */
        for (; i < until; i++) {
            if (i > 0)
                *p++ = ' ';
            for (const char *w = words[chance_next(chance) & 0xFF]; *w != '\0';)
                *p++ = *w++;
        }
        out->n += (size_t)(p - from);
    }
}

void filler_add_block(struct buf *out, int64_t id, int64_t seed, int64_t n)
{
    /* Neighbouring ids must not give neighbouring states, which are one text shifted by a word. */
    uint64_t chance = (uint64_t)id;
    chance = chance_next(&chance) ^ (uint64_t)seed * 0x9E3779B97F4A7C15u;
    if (out->n > 0 && n > 0)
        buf_puts(out, " ");
    add_words(out, &chance, n);
}

void filler_add_salt(struct buf *out, const char *salt, int64_t seed)
{
    uint64_t chance = chance_from(salt) ^ (uint64_t)seed * 0xD1B54A32D192ED03u;
    add_words(out, &chance, SALT_WORDS);
    buf_puts(out, "\n");
}

void filler_add(struct buf *out, const char *salt, const char *name, int64_t seed, int64_t n)
{
    bool closes = n >= ROOM_FOR_CLOSING;
    n -= closes ? CLOSING_TOKENS : 0;
    if (salt != NULL) {
        filler_add_salt(out, salt, seed);
        n -= SALT_WORDS;
    }
    uint64_t chance = chance_from(name) ^ (uint64_t)seed * 0x9E3779B97F4A7C15u;
    add_words(out, &chance, n);
    if (closes)
        buf_puts(out, closing);
}
