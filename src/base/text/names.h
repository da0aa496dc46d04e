/* A hash table from names to numbers: values of a graph, attributes of a node, arrays of a set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory/budget.h"

/* Zero-initialise; the budget may be set. Keys are borrowed and must outlive the table. */
struct ulp_names {
    struct ulp_names_slot *slots;
    size_t capacity, count;
    struct ulp_budget *budget; /* NULL: charged to none */
};
void ulp_names_free(struct ulp_names *names);
/* The number of name, or -1. */
int ulp_names_find(const struct ulp_names *names, const char *name);
/* Adds a name that is not there yet (look first). False: out of memory. */
bool ulp_names_add(struct ulp_names *names, const char *name, int number);
