/* Between variants.c and variants_attribute.c. */
#pragma once

#include "variants.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define BIG(bits) (INT64_C(1) << (bits))

enum { VARIANT_INTEGERS = 22, VARIANT_FLOATS = 15, VARIANT_TYPES = 12, VARIANT_SHAPES = 24 };
extern const int64_t variant_integers[VARIANT_INTEGERS];
extern const double variant_floats[VARIANT_FLOATS];
extern const enum ulp_type variant_types[VARIANT_TYPES];

struct shape {
    int rank;
    int64_t dims[ULP_RANK_MAX];
};
extern const struct shape variant_shapes[VARIANT_SHAPES];

/* Element i as the lane holds it (lane NULL: as the model does). */
void variant_set_number(struct ulp_tensor *tensor, const struct ulp_arithmetic *lane, size_t i,
                        double real, int64_t whole);

/* How many values attribute `place` of the row is given; -1: there is no such one. */
int variant_attribute_values(const struct ulp_operator *row, int place);
void variant_change_attribute(struct node_case *c, const struct ulp_operator *row, int place,
                              int detail, struct ulp_text *what);
