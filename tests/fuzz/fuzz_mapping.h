/* Descriptions of engines mapped to a model of five nodes (fuzz_mapping in fuzz.h), and damage that
 * leaves most of them descriptions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The text with strings exchanged, repeated, joined, emptied or replaced by hostile ones; what is
 * not between quotes stays, so that most of the copies are descriptions still. malloc'd, its size
 * in *out_count: a pure function of (bytes, seed). */
uint8_t *fuzz_mapping_mutate(const uint8_t *bytes, size_t count, uint64_t seed, size_t *out_count);
