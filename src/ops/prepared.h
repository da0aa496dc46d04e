/* What calls of a bound node prepare and keep for further ones: tapes of texts that depend on
 * shapes (ulp_call_text). Several threads may call a node at once; nothing is removed before the
 * end. Zero-initialised it is empty. */
#pragma once

#include "formula/tape.h"

struct ulp_prepared {
    struct ulp_budget *budget;
    size_t bytes_max; /* 0: no limit */
    _Atomic(struct ulp_text_tape *) texts;
    _Atomic size_t text_count;
};

/* The tape of a text over operands and outputs of these names, operands first. *kept: it stays
 * until ulp_prepared_free, as it must where that is set before; else there is no room, and the
 * caller frees it. */
enum ulp_status ulp_prepared_tape(struct ulp_prepared *prepared, const char *text,
                                  const char *const *names, size_t operand_count,
                                  size_t output_count, struct ulp_budget *budget,
                                  struct ulp_tape **out, bool *kept, struct ulp_error *error);
/* What is taken from now on is charged to the budget, until it has bytes_max bytes. */
void ulp_prepared_charge(struct ulp_prepared *prepared, struct ulp_budget *budget,
                         size_t bytes_max);
void ulp_prepared_free(struct ulp_prepared *prepared);
