/* Recordings made by hand: exchanges whose texts are literals. */
#ifndef TESTS_SUPPORT_MADE_RECORDING_H
#define TESTS_SUPPORT_MADE_RECORDING_H

#include <string.h>

#include "replay/recording.h"
#include "traces/base/mem.h"
#include "traces/sha256.h"

#define MADE_T0 INT64_C(1700000000000000000)

/* A segment so many ms after the request's last byte. */
#define MADE_SEGMENT(ms, text)                                                                     \
    {                                                                                              \
        MADE_T0 + INT64_C(ms) * 1000000,                                                           \
        {                                                                                          \
            text, sizeof text - 1                                                                  \
        }                                                                                          \
    }

static inline struct recording_exchange *made_add(struct recording *r, const char *method,
                                                  const char *target, const char *body,
                                                  const struct recording_segment *segments,
                                                  size_t n)
{
    struct recording_exchange x = {.id = r->exchanges.n + 1,
                                   .method = slice_of(method),
                                   .target = slice_of(target),
                                   .body = slice_of(body),
                                   .request_last_ns = MADE_T0,
                                   .status = 200,
                                   .segments = segments,
                                   .n_segments = n,
                                   .end_ns = MADE_T0,
                                   .after_ns = MADE_T0,
                                   .prompt_tokens = -1,
                                   .completion_tokens = -1};
    struct sha256 *sha = sha256_new();
    sha256_add(sha, body, strlen(body));
    sha256_text(sha, x.body_sha256);
    sha256_free(sha);
    for (size_t i = 0; i < n; i++)
        x.response_bytes += segments[i].bytes.n;
    VEC_PUSH(&r->exchanges, x);
    return &r->exchanges.v[r->exchanges.n - 1];
}

#endif
