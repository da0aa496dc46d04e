/* What a budget is made of (ulpscope/memory.h says what it is for). Budgets form two levels: a
 * root, which has the limit, and below it one for each owner (a model, a program, a run, a pool's
 * scratch), so that each knows its own use and can keep freed blocks. Zero-initialised, a budget is
 * a root without a limit. */
#pragma once

#include <stdbool.h>
#include <ulpscope/memory.h>

#include "base/memory/spin.h"

/* A budget that keeps blocks (keeps_blocks, set before it is used) holds freed blocks for the next
 * allocation of about their size, so that a run does not ask the system for zeroed pages at every
 * node. What is in use and what is kept never exceed the peak of what was in use, but for what
 * blocks in use hold beyond the bytes asked for, so the peak stays nearly the truth; the root is
 * charged for all of it. */
#define ULP_BUDGET_BLOCKS 128
#define ULP_ALIGNMENT 64
struct ulp_budget {
    size_t limit_bytes; /* 0: none */
    _Atomic size_t used_bytes;
    _Atomic size_t peak_bytes;
    _Atomic size_t refusals;
    bool keeps_blocks;
    struct ulp_budget *root; /* NULL: this is one */
    ulp_spin locked;         /* guards the kept blocks: held for ULP_BUDGET_BLOCKS entries */
    size_t kept_bytes, kept_count;
    struct ulp_kept_block {
        void *block;
        size_t bytes;
    } kept[ULP_BUDGET_BLOCKS]; /* oldest first */
    /* The root's lock guards all of its family's. */
    ulp_spin family_locked; /* held while a family gives up what it can */
    struct ulp_budget *children, *next;
};

/* Put *budget, which is zero, below root; root NULL: it becomes a root. Ends with ulp_budget_close,
 * which gives kept blocks back to the system. */
void ulp_budget_open(struct ulp_budget *budget, struct ulp_budget *root);
void ulp_budget_close(struct ulp_budget *budget);
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
 * within the limit, or there is no memory. *capacity is of the whole block, which may have been
 * another's. budget NULL: none is charged. */
void *ulp_budget_take(struct ulp_budget *budget, size_t bytes, size_t *capacity);
/* Free such a block, or hold it for the next allocation. */
void ulp_budget_give(struct ulp_budget *budget, void *block, size_t bytes, size_t capacity);
/* Write why this thread's last ulp_budget_take failed: the limit (": ..."), or nothing. */
void ulp_budget_explain(char *out, size_t size);
