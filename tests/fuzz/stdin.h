/* An input as the standard input, for what reads a file: no name, nothing left behind by a crash.
 */
#ifndef TESTS_FUZZ_STDIN_H
#define TESTS_FUZZ_STDIN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void stdin_give(const void *p, size_t n)
{
    static FILE *file;
    if (file == NULL) {
        file = tmpfile();
        if (file == NULL || dup2(fileno(file), STDIN_FILENO) < 0)
            abort();
    }
    size_t done = 0;
    if (ftruncate(STDIN_FILENO, 0) != 0 || lseek(STDIN_FILENO, 0, SEEK_SET) != 0)
        abort();
    while (done < n) {
        ssize_t got = write(STDIN_FILENO, (const uint8_t *)p + done, n - done);
        if (got <= 0)
            abort();
        done += (size_t)got;
    }
    if (lseek(STDIN_FILENO, 0, SEEK_SET) != 0)
        abort();
}

#endif
