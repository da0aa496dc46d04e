#include "ops/wide.h"

#include <string.h>

enum { FLOAT16 = 1, BFLOAT16 = 2 };
#define SLOTS 32
#define EVERY UINT32_MAX

static const struct {
    const char *domain, *name;
    int first, last;
    unsigned types;
    uint32_t inputs, outputs; /* bit i: that slot refuses the types; EVERY: nothing takes them */
} wide[] = {
#define WIDE(domain, name, first, last, types, inputs, outputs) \
    {domain, name, first, last, types, inputs, outputs},
#include "ops/wide.def"
#undef WIDE
};

/* Is one of the slots there, and none of those that do not count? */
static bool has_slot(const int *slots, size_t count, uint32_t refused, uint64_t aside)
{
    for (size_t i = 0; i < count && i < SLOTS; i++)
        if (slots[i] >= 0 && refused >> i & 1 && !(aside >> i & 1))
            return true;
    return false;
}

bool ulp_op_is_wide(const struct ulp_node *node, int64_t opset, enum ulp_type type, uint64_t aside)
{
    const unsigned wanted = type == ULP_TYPE_FLOAT16    ? FLOAT16
                            : type == ULP_TYPE_BFLOAT16 ? BFLOAT16
                                                        : 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide && wanted; i++)
        if (wide[i].types & wanted && opset >= wide[i].first && opset <= wide[i].last &&
            strcmp(wide[i].name, node->op_type) == 0 && strcmp(wide[i].domain, node->domain) == 0)
            return wide[i].outputs == EVERY ||
                   has_slot(node->inputs, node->input_count, wide[i].inputs, aside) ||
                   has_slot(node->outputs, node->output_count, wide[i].outputs, 0);
    return false;
}
