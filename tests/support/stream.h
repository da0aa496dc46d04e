/* A reproducible stream of random numbers for tests: each draw is the library's counter-based
 * generator at the next place. */
#pragma once

#include <stdint.h>

#include "base/random.h"

/* Set the key; start `next` at zero, or far on for numbers that no other user of the key draws. */
struct stream {
    uint64_t key, next;
};

static inline uint64_t stream_draw(struct stream *stream)
{
    return ulp_random_bits(stream->key, stream->next++);
}
static inline uint64_t stream_draw_below(struct stream *stream, uint64_t bound)
{
    return stream_draw(stream) % bound;
}
