/* Ranges of factors inside other documents. */
#pragma once

#include "data/json_file.h"

/* "ranges" of the document into *out, a struct ulp_factor_ranges. */
ulp_json_take ulp_range_list_take;
