/* Bytes too many for memory: kept in a nameless temporary file, read where they are mapped. What is
 * not looked at costs no memory but the page cache's. */
#ifndef REPLAY_SPOOL_H
#define REPLAY_SPOOL_H

#include <stdint.h>

#include "traces/base/err.h"
#include "traces/base/span.h"

struct spool;

/* The file is made with the first byte: in the folder that TMPDIR names, else in /var/tmp (on
 * disk), else in /tmp. */
struct spool *spool_new(void);

/* Appends bytes. *out is where they are now, contiguous and in place until spool_free. TA_ESYS with
 * the folder in the message if the disk is full or the file can't be made; TA_ELIMIT where the
 * addresses end. After an error the spool is as before. */
int spool_add(struct spool *s, struct slice bytes, struct slice *out, struct err *e) TA_NODISCARD;

uint64_t spool_bytes(const struct spool *s); /* added so far */

void spool_free(struct spool *s); /* and all that spool_add gave */

#endif
