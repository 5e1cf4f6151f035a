/* Requests that a server answers one after the other, though they are in flight together. */
#ifndef ANALYZE_QUEUEING_H
#define ANALYZE_QUEUEING_H

#include "analyze/metrics_speedup.h"
#include "analyze/model.h"

/* In a queue, the next one's text follows on the end of the one before, later by that one's time
 * than its own prompt explains. What explains it is the time that a like request took which waited
 * for none; that prompts are read one after the other and answers written together is told apart by
 * the time that writing takes. Of many requests neither can be told: they are in no share. */
struct queueing {
    size_t waiting;         /* successes sent while another was in flight */
    size_t told;            /* … of which it can be told whether they waited for its end */
    size_t serial;          /* … and that did */
    size_t alike;           /* lone requests like the first of them; counted up to a few */
    double later;           /* mean of their ttft over that of the like request, less 1 */
    size_t steps;           /* streams sent while another was in flight */
    double step_s;          /* median of what ttft grows by from one to the next; NAN */
    size_t first, first_of; /* the first serial one and the one it waited for: in audit.requests */
};
void queueing_find(const struct audit *a, const struct run_scope *s, struct queueing *out);

#endif
