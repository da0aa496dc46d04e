#include "ops/wide.h"

#include <string.h>

enum { FLOAT16 = 1, BFLOAT16 = 2 };

static const struct {
    const char *domain, *name;
    int first, last;
    unsigned types;
} wide[] = {
#define WIDE(domain, name, first, last, types) {domain, name, first, last, types},
#include "ops/wide.def"
#undef WIDE
};

bool ulp_op_is_wide(const struct ulp_node *node, int64_t opset, enum ulp_type type)
{
    const unsigned wanted = type == ULP_TYPE_FLOAT16    ? FLOAT16
                            : type == ULP_TYPE_BFLOAT16 ? BFLOAT16
                                                        : 0;
    /* mean and deviation are FLOAT whatever the data is */
    if (wanted && strcmp(node->op_type, "LayerNormalization") == 0)
        for (size_t o = 1; o < node->output_count; o++)
            if (node->outputs[o] >= 0)
                return true;
    for (size_t i = 0; i < sizeof wide / sizeof *wide && wanted; i++)
        if (wide[i].types & wanted && opset >= wide[i].first && opset <= wide[i].last &&
            strcmp(wide[i].name, node->op_type) == 0 && strcmp(wide[i].domain, node->domain) == 0)
            return true;
    return false;
}
