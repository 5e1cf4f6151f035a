/* The recorded server: each request gets the recorded response to the same request
 * (replay/answers.h), byte for byte, in the recorded segments and at the recorded times after the
 * request's last byte. */
#ifndef REPLAY_PLAYBACK_H
#define REPLAY_PLAYBACK_H

#include <stdint.h>
#include <stdio.h>
#include <uv.h>

#include "replay/answers.h"
#include "replay/recording.h"
#include "traces/base/err.h"

struct playback_options {
    const struct recording *recording;
    enum answers_match match;
    double speed; /* 2: in half the time; 0: as fast as the client takes it */
    FILE *truth;  /* JSON lines: when each segment was due and left (replay/SERVE.md); NULL: none */
};

/* Can this exchange be played? A response with bytes missing inside can't; one whose end was not
 * seen is played as far as it goes, and then the connection is closed. */
bool playback_can_serve(const struct recording_exchange *x);

struct playback;

/* Listens as listener_open does; the recording outlives it. NULL and *e. */
struct playback *playback_open(uv_loop_t *loop, const char *address,
                               const struct playback_options *options, struct err *e);

uint16_t playback_port(const struct playback *p);
const char *playback_url(const struct playback *p);

struct playback_counts {
    uint64_t requests;
    uint64_t replies;        /* played to their end */
    uint64_t cut;            /* of these, such as the recording has no end of */
    uint64_t again;          /* of these and those below, such as had been given before */
    uint64_t unmatched;      /* answered with 404 (or 400, 413) */
    uint64_t unusable;       /* answered with 502: what was recorded has bytes missing */
    uint64_t abandoned;      /* their client went away */
    uint64_t unanswered;     /* cut by playback_close */
    uint64_t segments, late; /* written; more than 1 ms after they were due */
    int64_t latest_ns;       /* of these, the worst */
};
struct playback_counts playback_counts(const struct playback *p);

/* Stops listening and ends all connections; the loop then runs out. */
void playback_close(struct playback *p);

/* After the loop has run out. */
void playback_free(struct playback *p);

#endif
