/* What a budget is made of (ulpscope/memory.h says what it is for). Budgets form two levels: a
 * root, which has the limit, and below it one for each owner (a model, a program, a run, a pool's
 * scratch), so that each knows its own use. Zero-initialised, a budget is a root without a limit.
 */
#pragma once

#include <stdbool.h>
#include <ulpscope/memory.h>

#define ULP_ALIGNMENT 64
struct ulp_budget {
    size_t limit_bytes; /* 0: none */
    _Atomic size_t used_bytes;
    _Atomic size_t peak_bytes;
    _Atomic size_t refusals;
    struct ulp_budget *root; /* NULL: this is one */
};

/* Put *budget, which is zero, below root; root NULL: it becomes a root. */
static inline void ulp_budget_open(struct ulp_budget *budget, struct ulp_budget *root)
{
    budget->root = root;
}

/* Charge memory that another library takes, an estimate; false: not within the limit. budget may be
 * NULL. */
bool ulp_budget_charge(struct ulp_budget *budget, size_t bytes);
void ulp_budget_discharge(struct ulp_budget *budget, size_t bytes);

/* How often the limit of the budget's family has refused memory. budget NULL: 0. */
size_t ulp_budget_refusals(const struct ulp_budget *budget);
/* Did a call fail because the limit refused memory, where refusals were `before` before it? While
 * they stand still the machine has no memory. */
bool ulp_budget_refused(const struct ulp_budget *budget, size_t before, enum ulp_status status);

/* The limit that holds for the budget; 0: none. */
size_t ulp_budget_limit(const struct ulp_budget *budget);

/* ---- for alloc.c ---- */

/* A block of `bytes`, a multiple of ULP_ALIGNMENT, charged to the budget and its root; NULL: not
 * within the limit, or there is no memory. budget NULL: none is charged. */
void *ulp_budget_take(struct ulp_budget *budget, size_t bytes);
void ulp_budget_give(struct ulp_budget *budget, void *block, size_t bytes);
/* Write why this thread's last ulp_budget_take failed: the limit (": ..."), or nothing. */
void ulp_budget_explain(char *out, size_t size);
