/* The loader fed with arbitrary bytes, and an engine that damages files at random. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Loads the bytes as a model and walks all of it. Returns NULL, or what is wrong: a status other
 * than OK, INPUT and UNSUPPORTED, a failure without a one-line message, or a model that breaks a
 * promise of graph/graph.h. */
const char *fuzz_load(const uint8_t *bytes, size_t count);

/* A damaged copy of bytes (malloc'd, its size in *out_count): a pure function of (bytes, seed). */
uint8_t *fuzz_mutate(const uint8_t *bytes, size_t count, uint64_t seed, size_t *out_count);
