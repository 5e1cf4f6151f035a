/* Chance that is the same on every machine: SplitMix64 (Steele, Lea, Flood 2014), started from a
 * text. */
#ifndef REPLAY_CHANCE_H
#define REPLAY_CHANCE_H

#include <stdint.h>

/* A state to start from: FNV-1a over a text. */
static inline uint64_t chance_from(const char *text)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text != '\0'; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001B3u;
    return h;
}

static inline uint64_t chance_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* In (0, 1]. */
static inline double chance_unit(uint64_t *state)
{
    return ((double)(chance_next(state) >> 11) + 1) * 0x1p-53;
}

#endif
