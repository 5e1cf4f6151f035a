/* SIGINT, SIGTERM and SIGHUP before the run: what waits for the target ends then, and what is known
 * by then is written. A signal that our parent has us ignore stays ignored. */
#ifndef REPLAY_INTERRUPT_H
#define REPLAY_INTERRUPT_H

#include <stdbool.h>

/* From here on the first signal is noted; a second one ends the process, for who waits for a name
 * server can't be told. */
void interrupt_watch(void);

/* Was one of them caught since interrupt_watch? */
bool interrupt_came(void);

/* As before interrupt_watch. After one came, further ones wait instead, for good: what is written
 * then is to be whole. */
void interrupt_unwatch(void);

#endif
