/* An instruction in the words of its formula. */
#pragma once

#include "formula/tape.h"

/* The part of the formula's text that instruction i computes, as "d * d" or "row_sum(e)", cut to
 * size and always terminated. Returns buffer. */
const char *ulp_tape_words(const struct ulp_tape *tape, int i, char *buffer, size_t size);
