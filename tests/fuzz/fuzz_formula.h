/* The formulas' parser and evaluation fed with arbitrary text, and a maker of such text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Byte 0 chooses an arithmetic, byte 1 the rows, the rest is the formula. Returns NULL, or what is
 * wrong: a status or message the parser must not give, a tape that breaks a promise of tape.h, or
 * rows whose results depend on which other rows are computed beside them. */
const char *fuzz_formula(const uint8_t *bytes, size_t count);

/* Fills bytes with two choices and a formula, most of them valid; a pure function of the seed.
 * Returns how many. */
size_t fuzz_formula_make(uint8_t *bytes, size_t size, uint64_t seed);
/* Damages the formula in place: bytes changed, removed, doubled. Returns the new count, at most
 * size. */
size_t fuzz_formula_damage(uint8_t *bytes, size_t count, size_t size, uint64_t seed);
