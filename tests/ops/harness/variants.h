/* Variants of the harness' cases: one thing about a node or its inputs is changed to something
 * empty, extreme or wrong. What comes of it may be a result or a refusal, and nothing else. */
#pragma once

#include "base/text/text.h"
#include "cases.h"

struct variant {
    enum variant_kind {
        VARIANT_OMIT,      /* input `place` is not given */
        VARIANT_SHAPE,     /* it has shape number `detail` */
        VARIANT_DIM,       /* one of its dimensions is changed */
        VARIANT_TYPE,      /* it has another element type */
        VARIANT_VALUES,    /* some or all of its elements are extreme */
        VARIANT_CONSTANT,  /* it lies in memory as the model's constants do */
        VARIANT_ATTRIBUTE, /* attribute `place` of the row has value number `detail` */
        VARIANT_OUTPUTS,   /* outputs are left out, or there are more or fewer */
    } kind;
    int place, detail;
};

/* All single changes of the case, into out (NULL: only their number). */
size_t variant_list(const struct ulp_operator *row, const struct node_case *c, struct variant *out);
/* Make the change, and add to `what` which it is. Tensors beyond VARIANT_ELEMENTS_MAX elements have
 * no data: they can only be planned with. */
#define VARIANT_ELEMENTS_MAX 4096
void variant_apply(struct node_case *c, const struct ulp_operator *row,
                   const struct ulp_arithmetic *lane, const struct variant *variant,
                   struct ulp_text *what);
