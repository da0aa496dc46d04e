/* Binding a row to a node, inside bind/: bind.c with the texts of a row that attributes.c and
 * slots.c read. */
#pragma once

#include "base/memory/alloc.h"
#include "base/error.h"
#include "ops/operator.h"

struct ulp_binding {
    struct ulp_bound *bound;
    struct ulp_arena *arena;
    struct ulp_arena *scratch; /* freed when the node is bound */
    struct ulp_error *error;
};

static inline enum ulp_status ulp_bind_fail_memory(const struct ulp_binding *b)
{
    return ulp_out_of_memory(b->error);
}

/* The node's attribute of that name; NULL: it has none. */
const struct ulp_attribute *ulp_attribute_given(const struct ulp_node *node, const char *name,
                                                size_t length);
/* Those of the row, with the node's values; others are refused. */
enum ulp_status ulp_bind_attributes(const struct ulp_binding *b);

/* All words of text; the last, when variadic, as often as needed to make given_count slots. */
enum ulp_status ulp_bind_slots(const struct ulp_binding *b, const char *text, size_t given_count,
                               const struct ulp_slot **out, size_t *count);
enum ulp_status ulp_bind_inputs(const struct ulp_binding *b);
/* *outputs is in the scratch arena. */
enum ulp_status ulp_bind_outputs(const struct ulp_binding *b, const struct ulp_slot **outputs,
                                 size_t *count);
