/* A trace's bytes (traces/gz.h), inflated by a thread of its own beside whoever reads them.
 *
 * What is read, and what *health says after each call, is the same as without the thread, damage
 * included. The thread starts once `after` bytes have been given out (small files are not worth
 * one) of a gzip'd regular file: a pipe may keep its reader waiting, and then it could not be
 * closed. */
#ifndef TRACES_GZ_AHEAD_H
#define TRACES_GZ_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/base/err.h"
#include "traces/gz.h"
#include "traces/reader.h"

struct gz_ahead;

/* As gz_open. after: SIZE_MAX for never. resume.begins is called while the caller is inside
 * gz_ahead_next alone, though not always on its thread. */
int gz_ahead_open(struct gz_ahead **out, const char *path, size_t after, struct gz_resume resume,
                  struct reader_health *health, struct err *e) TA_NODISCARD;

bool gz_ahead_is_gzip(const struct gz_ahead *a);
int gz_ahead_next(struct gz_ahead *a, struct gz_piece *out, struct err *e) TA_NODISCARD;
int gz_ahead_drain(struct gz_ahead *a, struct err *e) TA_NODISCARD;
void gz_ahead_close(struct gz_ahead *a);

#endif
