/* Ranges of factors inside other documents. */
#ifndef ULP_DATA_RANGE_LIST_H
#define ULP_DATA_RANGE_LIST_H

#include "data/json_file.h"

/* "ranges" of the document into *out, a struct ulp_factor_ranges. */
ulp_json_take ulp_range_list_take;

#endif
