/* The readers of engines' descriptions, and the mapping to a model, fed with arbitrary bytes. */
#ifndef ULP_TESTS_FUZZ_FUZZ_ENGINE_H
#define ULP_TESTS_FUZZ_FUZZ_ENGINE_H

#include <stddef.h>
#include <stdint.h>

/* Reads the bytes as a description (as JSON, a log or XML, by what they are), maps it to a model of
 * five nodes, and writes down what was built. Returns NULL, or what is wrong: another status than
 * OK, INPUT and USAGE, a failure without a one-line message, or a result that breaks a promise of
 * ulpscope/engine.h. */
const char *fuzz_engine(const uint8_t *bytes, size_t count);

/* The text with strings exchanged, repeated, joined, emptied or replaced by hostile ones; what is
 * not between quotes stays, so that most of the copies are descriptions still. malloc'd, its size
 * in *out_count: a pure function of (bytes, seed). */
uint8_t *fuzz_engine_mutate(const uint8_t *bytes, size_t count, uint64_t seed, size_t *out_count);

/* libFuzzer's entry; aborts when fuzz_engine finds something. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#endif
