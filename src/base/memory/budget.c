/* Charging memory to budgets. */
#include "base/memory/budget.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/tuning.h"

/* Blocks of this size are mapped: between smaller ones a heap grows to several times what is in
 * use. Sanitizers watch malloc's. */
static bool is_mapped(size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    (void)bytes;
    return false;
#else
    return bytes >= ULP_TUNE_MAPPED_BYTES_MIN;
#endif
}

static void *map_pages(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(block, bytes, MADV_HUGEPAGE); /* advice: it may fail */
#endif
    return block;
}

/* aligned_alloc cuts a small block out of a larger one and gives the rest back, which takes five
 * times as long as malloc (make bench, tinybert_1l); here the byte before an aligned small block
 * says how far it lies from malloc's. */
static void *allocate_aligned(size_t bytes)
{
    if (is_mapped(bytes))
        return map_pages(bytes);
    if (bytes >= ULP_TUNE_ALIGNED_BYTES_MIN)
        return aligned_alloc(ULP_ALIGNMENT, bytes);
    unsigned char *whole = malloc(bytes + ULP_ALIGNMENT);
    if (!whole)
        return NULL;
    const size_t shift = ULP_ALIGNMENT - (uintptr_t)whole % ULP_ALIGNMENT;
    whole[shift - 1] = (unsigned char)shift;
    return whole + shift;
}

static void free_aligned(void *block, size_t bytes)
{
    unsigned char *start = block;
    if (is_mapped(bytes))
        munmap(block, bytes);
    else
        free(bytes >= ULP_TUNE_ALIGNED_BYTES_MIN ? start : start - start[-1]);
}

/* The limit that refused this thread's last request that failed; 0: none did. Messages are written
 * far from here, where only the failure is known, and often once for several requests, of which
 * smaller ones may have come through afterwards: only one as large makes it forgotten. */
static _Thread_local size_t refused_limit, refused_used, refused_bytes;

static void forget_refusal(size_t bytes)
{
    if (bytes >= refused_bytes)
        refused_limit = refused_bytes = 0;
}

/* ---- charges ---- */

static bool charge(struct ulp_budget *budget, size_t bytes)
{
    /* what is refused is never counted in between: another thread's request may fit */
    size_t used = atomic_load(&budget->used_bytes);
    do {
        if (budget->limit_bytes &&
            (used > budget->limit_bytes || bytes > budget->limit_bytes - used)) {
            refused_used = used;
            refused_limit = budget->limit_bytes;
            refused_bytes = bytes;
            atomic_fetch_add(&budget->refusals, 1);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&budget->used_bytes, &used, used + bytes));
    used += bytes;
    size_t peak = atomic_load(&budget->peak_bytes);
    while (used > peak && !atomic_compare_exchange_weak(&budget->peak_bytes, &peak, used))
        ;
    return true;
}

static void discharge(struct ulp_budget *budget, size_t bytes)
{
    atomic_fetch_sub(&budget->used_bytes, bytes);
}

size_t ulp_budget_limit(const struct ulp_budget *budget)
{
    return !budget ? 0 : budget->root ? budget->root->limit_bytes : budget->limit_bytes;
}

static bool charge_both(struct ulp_budget *budget, size_t bytes)
{
    if (!charge(budget, bytes))
        return false;
    if (!budget->root || charge(budget->root, bytes))
        return true;
    discharge(budget, bytes);
    return false;
}

size_t ulp_budget_refusals(const struct ulp_budget *budget)
{
    if (!budget)
        return 0;
    return atomic_load(budget->root ? &budget->root->refusals : &budget->refusals);
}

bool ulp_budget_refused(const struct ulp_budget *budget, size_t before, enum ulp_status status)
{
    return status == ULP_ERROR_MEMORY && ulp_budget_refusals(budget) > before;
}

bool ulp_budget_charge(struct ulp_budget *budget, size_t bytes)
{
    const bool charged = !budget || charge_both(budget, bytes);
    if (charged)
        forget_refusal(bytes);
    return charged;
}

void ulp_budget_discharge(struct ulp_budget *budget, size_t bytes)
{
    if (!budget)
        return;
    discharge(budget, bytes);
    if (budget->root)
        discharge(budget->root, bytes);
}

/* ---- blocks ---- */

void *ulp_budget_take(struct ulp_budget *budget, size_t bytes)
{
    if (budget && !charge_both(budget, bytes))
        return NULL;
    void *block = allocate_aligned(bytes);
    forget_refusal(block ? bytes : SIZE_MAX); /* for want of memory: no limit's */
    if (!block)
        ulp_budget_discharge(budget, bytes);
    return block;
}

void ulp_budget_give(struct ulp_budget *budget, void *block, size_t bytes)
{
    ulp_budget_discharge(budget, bytes);
    free_aligned(block, bytes);
}

void ulp_budget_explain(char *out, size_t size)
{
    *out = '\0';
    if (refused_limit)
        snprintf(out, size,
                 ": the memory limit of %.4g MiB is reached (%.4g in use, %.4g asked for); raise "
                 "--max-memory",
                 (double)refused_limit / 0x1p20, (double)refused_used / 0x1p20,
                 (double)refused_bytes / 0x1p20);
}

/* ---- for callers of the library ---- */

enum ulp_status ulp_budget_create(size_t limit_bytes, struct ulp_budget **out,
                                  struct ulp_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for a budget");
    (*out)->limit_bytes = limit_bytes;
    return ULP_OK;
}

void ulp_budget_free(struct ulp_budget *budget)
{
    free(budget);
}

size_t ulp_budget_used(const struct ulp_budget *budget)
{
    return atomic_load(&budget->used_bytes);
}

size_t ulp_budget_peak(const struct ulp_budget *budget)
{
    return atomic_load(&budget->peak_bytes);
}
