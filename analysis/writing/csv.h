/* Fields of files of values separated by commas. */
#ifndef ULP_ANALYSIS_WRITING_CSV_H
#define ULP_ANALYSIS_WRITING_CSV_H

#include "base/text/text.h"

/* A field of text in quotation marks, made harmless; a comma and a number, or nothing after
 * it. */
void ulp_csv_text(struct ulp_text *out, const char *value);
void ulp_csv_number(struct ulp_text *out, double value);

#endif
