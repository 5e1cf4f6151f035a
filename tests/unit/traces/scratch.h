/* Files of a test, in a folder of its own that goes when the test program ends. */
#ifndef TESTS_UNIT_TRACES_SCRATCH_H
#define TESTS_UNIT_TRACES_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "traces/base/buf.h"

static char scratch_folder[64], scratch_file[96];

static inline int scratch_make(void **state)
{
    (void)state;
    snprintf(scratch_folder, sizeof scratch_folder, "/tmp/tokaudit-test-XXXXXX");
    if (mkdtemp(scratch_folder) == NULL)
        return -1;
    snprintf(scratch_file, sizeof scratch_file, "%s/trace", scratch_folder);
    return 0;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    unlink(scratch_file);
    return rmdir(scratch_folder);
}

/* scratch_file holds these bytes. */
static inline void scratch_put(const void *p, size_t n)
{
    FILE *f = fopen(scratch_file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void scratch_get(struct buf *out)
{
    FILE *f = fopen(scratch_file, "rb");
    assert_non_null(f);
    buf_clear(out);
    for (size_t n = 1; n > 0; out->n += n) {
        uint8_t *room = buf_reserve(out, 65536);
        assert_non_null(room);
        n = fread(room, 1, 65536, f);
    }
    fclose(f);
}

/* One byte of scratch_file is changed in place. */
static inline void scratch_patch(size_t at, uint8_t v)
{
    FILE *f = fopen(scratch_file, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fputc(v, f), v);
    assert_int_equal(fclose(f), 0);
}

/* What a shell command prints; it must end well. */
static inline void scratch_output(struct buf *out, const char *fmt, ...) TA_PRINTF(2, 3);
static inline void scratch_output(struct buf *out, const char *fmt, ...)
{
    struct buf command;
    va_list ap;
    buf_init(&command, 65536);
    va_start(ap, fmt);
    buf_vprintf(&command, fmt, ap);
    va_end(ap);
    FILE *f = popen(buf_text(&command), "r");
    assert_non_null(f);
    buf_clear(out);
    for (size_t n = 1; n > 0; out->n += n) {
        uint8_t *room = buf_reserve(out, 65536);
        assert_non_null(room);
        n = fread(room, 1, 65536, f);
    }
    assert_int_equal(pclose(f), 0);
    buf_done(&command);
}

/* Wireshark's judgement is wanted; where there is none, the test says so and is skipped. */
static inline void scratch_needs_tshark(void)
{
    FILE *f = popen("command -v tshark", "r");
    assert_non_null(f);
    char line[256];
    bool found = fgets(line, sizeof line, f) != NULL;
    pclose(f);
    if (!found) {
        fprintf(stderr, "SKIPPED: no tshark in PATH, so the file was NOT held against Wireshark\n");
        skip();
    }
}

/* The same numbers on every machine (xorshift64*). */
static inline uint64_t scratch_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

#endif
