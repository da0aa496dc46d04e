/* Fields of files of values separated by commas. */
#pragma once

#include "base/text/text.h"

/* A field of text in quotation marks, made harmless; a comma and a number, or nothing after
 * it. */
void ulp_csv_text(struct ulp_text *out, const char *value);
void ulp_csv_number(struct ulp_text *out, double value);
