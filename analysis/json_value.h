/* Values of JSON reports; NULL: out of memory. */
#ifndef ULP_ANALYSIS_JSON_VALUE_H
#define ULP_ANALYSIS_JSON_VALUE_H

#include <jansson.h>

/* null when it is infinite or no number: JSON has neither. */
json_t *ulp_json_number(double value);
/* JSON holds any characters, but a hostile model's names may not be UTF-8: such bytes are shown. */
json_t *ulp_json_text(const char *text);

#endif
