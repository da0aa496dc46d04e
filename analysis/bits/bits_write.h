/* An allocation as text and files. */
#ifndef ULP_ANALYSIS_BITS_WRITE_H
#define ULP_ANALYSIS_BITS_WRITE_H

#include <ulpscope/bits.h>

#include "base/text/text.h"

/* bits_text.c: what bits.json has as its verdict, too. */
void ulp_bits_verdict(struct ulp_text *out, const struct ulp_bits *bits);

#endif
