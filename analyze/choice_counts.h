/* Token counts of a reply with several choices, or with several prompts' answers: which are of one
 * choice and which of all. llama-server's and SGLang's own APIs say it; in OpenAI's, vLLM and
 * SGLang state what one choice has so far beside its text and the sum at the end, llama-server what
 * one choice had behind its finish, and nothing but the counts themselves tells it from a sum so
 * far. Source: vLLM's serving.py, SGLang's serving_chat.py, llama.cpp's server-task.cpp. */
#ifndef ANALYZE_CHOICE_COUNTS_H
#define ANALYZE_CHOICE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/vec.h"
#include "traces/dialects/dialect.h"

enum { CHOICE_COUNTS_MAX = 4096 }; /* choices beyond these are nobody's */

struct choice_count {
    int64_t prompt, completion; /* the last that was stated of it; -1: none */
    bool spoke;
};

/* All zero: nothing was said. */
struct choice_counts {
    VEC(struct choice_count) v;
    int64_t sum;       /* of all completions … */
    uint32_t stated;   /* … of so many choices … */
    uint32_t unstated; /* … and others that spoke have none */
    uint32_t speakers; /* choices that spoke */
    bool own;          /* by the dialect's own word, each count is of one choice */

    /* By output event, what the choices had together, should each count be of one of them; -1: not
     * stated. Behind its end: what is stated. */
    VEC(int32_t) sums;

    /* Of counts that stood beside one choice: beside text … */
    int64_t last; /* the last, and of which choice */
    uint32_t last_choice;
    uint32_t steps, grew;        /* behind one of the same choice; greater than that */
    uint32_t turns, equal, fell; /* behind one of another choice; no greater; less */
    uint32_t beside;             /* … or beside whatever */

    /* Of counts that stood beside none. */
    int64_t total;          /* the last that did not stand behind the finish of one; 0: none */
    uint32_t alone, behind; /* all; behind the finish of one */

    uint32_t finishes;    /* since the last count … */
    uint32_t last_finish; /* … and of which choice the last */
};

/* What the counts beside and behind single choices are. */
enum choice_reading {
    CHOICES_ALL,    /* of all choices so far, or there is one choice */
    CHOICES_EACH,   /* of one choice each */
    CHOICES_UNKNOWN /* either: how many tokens there were is not known */
};

void choice_counts_done(struct choice_counts *c);

void choice_counts_text(struct choice_counts *c, uint32_t choice);
void choice_counts_finish(struct choice_counts *c, uint32_t choice);

/* The dialect says that u is of that choice. */
void choice_counts_own(struct choice_counts *c, uint32_t choice, const struct usage *u);

/* An event stated u and spoke of that choice, with text or without. */
void choice_counts_beside(struct choice_counts *c, uint32_t choice, const struct usage *u,
                          bool text);

/* An event stated a count and spoke of no choice, or of several. */
void choice_counts_alone(struct choice_counts *c, const struct usage *u, bool several);

/* The n-th output event (from 0) is complete; stated is what counts for those before it. */
void choice_counts_event(struct choice_counts *c, size_t n, const int32_t *stated, size_t n_stated);

/* Completion tokens of all choices together; -1: one that spoke has none stated. */
int64_t choice_counts_completion(const struct choice_counts *c);

/* Prompt tokens of all prompts, of which each has so many choices one after the other; -1. */
int64_t choice_counts_prompt(const struct choice_counts *c, size_t choices_of_prompt);

/* The reply is over: events with text, and the last count stated. */
enum choice_reading choice_counts_read(const struct choice_counts *c, size_t events, int64_t last);

#endif
