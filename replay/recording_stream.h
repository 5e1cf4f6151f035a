/* Inside recording: the bytes that the server of one connection has sent, until it is known whose
 * response they are. */
#ifndef REPLAY_RECORDING_STREAM_H
#define REPLAY_RECORDING_STREAM_H

#include "replay/recording.h"
#include "replay/spool.h"

struct recording_piece {
    uint64_t off, end; /* in the stream */
    uint64_t pkt;
    int64_t t_ns;
    const char *bytes; /* in the spool; NULL: not captured */
};

/* In the order of the stream, v[first..n). All zero to begin with. */
struct recording_stream {
    VEC(struct recording_piece) pieces;
    size_t first;
};

int recording_stream_data(struct recording_stream *s, struct span in, struct spool *spool,
                          struct err *e) TA_NODISCARD;
void recording_stream_gap(struct recording_stream *s, uint64_t n, struct mark at);

struct recording_cut {
    uint64_t from, to;     /* the final response: offsets in the stream */
    int64_t not_before_ns; /* what came earlier in the stream is left out, unless it came so late */
};

/* The segments of a response, themselves in the spool, into x; what is behind them stays. Returns
 * TA_OK, or the spool's error; *gap: bytes are missing in it. */
int recording_stream_take(struct recording_stream *s, const struct recording_cut *cut,
                          struct spool *spool, struct recording_exchange *x, bool *gap,
                          struct err *e) TA_NODISCARD;

void recording_stream_clear(struct recording_stream *s); /* drops what is there */
void recording_stream_free(struct recording_stream *s);

#endif
