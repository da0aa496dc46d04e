/* Charging memory to budgets, and blocks kept for the next allocation. */
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
    if (bytes >= ULP_TUNE_KEPT_BYTES_MIN)
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
        free(bytes >= ULP_TUNE_KEPT_BYTES_MIN ? start : start - start[-1]);
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

static struct ulp_budget *find_root(struct ulp_budget *budget)
{
    return budget->root ? budget->root : budget;
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

static void free_block(struct ulp_budget *budget, struct ulp_kept_block block)
{
    if (budget->root)
        discharge(budget->root, block.bytes);
    free_aligned(block.block, block.bytes);
}

/* ---- kept blocks ---- */

static struct ulp_kept_block remove_kept(struct ulp_budget *budget, size_t index)
{
    struct ulp_kept_block removed = budget->kept[index];
    budget->kept_count--;
    budget->kept_bytes -= removed.bytes;
    memmove(&budget->kept[index], &budget->kept[index + 1],
            (budget->kept_count - index) * sizeof removed);
    return removed;
}

/* The smallest kept block that holds total bytes and wastes no more than `waste`; kept_count: none
 * does. */
static size_t find_kept(const struct ulp_budget *budget, size_t total, size_t waste)
{
    size_t best = budget->kept_count;
    for (size_t i = 0; i < budget->kept_count; i++)
        if (budget->kept[i].bytes >= total && budget->kept[i].bytes - total <= waste &&
            (best == budget->kept_count || budget->kept[i].bytes < budget->kept[best].bytes))
            best = i;
    return best;
}

/* Does what is in use, kept and `more` not fit below the peak? */
static bool is_over_peak(const struct ulp_budget *budget, size_t more)
{
    return atomic_load(&budget->used_bytes) + budget->kept_bytes + more >
           atomic_load(&budget->peak_bytes);
}

/* A kept block for total bytes, which wastes at most a quarter of them, or as many again where a
 * new one would not fit below the peak; else NULL, and the oldest blocks are freed until it does.
 * The new bytes are charged already; what is wasted counts as kept. */
static void *take_kept(struct ulp_budget *budget, size_t total, size_t *capacity)
{
    struct ulp_kept_block found = {.block = NULL, .bytes = total};
    ulp_spin_lock(&budget->locked);
    size_t best = find_kept(budget, total, total / 4);
    if (best == budget->kept_count && is_over_peak(budget, 0))
        best = find_kept(budget, total, total);
    if (best < budget->kept_count)
        found = remove_kept(budget, best);
    budget->kept_bytes += found.bytes - total;
    while (!found.block && budget->kept_count && is_over_peak(budget, 0))
        free_block(budget, remove_kept(budget, 0));
    ulp_spin_unlock(&budget->locked);
    *capacity = found.bytes;
    return found.block;
}

/* Keep a block that is charged no longer, `waste` of which counted as kept; false: it does not fit
 * below the peak. */
static bool keep_block(struct ulp_budget *budget, void *block, size_t capacity, size_t waste)
{
    ulp_spin_lock(&budget->locked);
    budget->kept_bytes -= waste;
    if (budget->kept_count == ULP_BUDGET_BLOCKS)
        free_block(budget, remove_kept(budget, 0));
    const bool keep = !is_over_peak(budget, capacity);
    if (keep) {
        budget->kept[budget->kept_count++] = (struct ulp_kept_block){block, capacity};
        budget->kept_bytes += capacity;
    }
    ulp_spin_unlock(&budget->locked);
    return keep;
}

static void free_kept(struct ulp_budget *budget)
{
    ulp_spin_lock(&budget->locked);
    while (budget->kept_count)
        free_block(budget, remove_kept(budget, budget->kept_count - 1));
    ulp_spin_unlock(&budget->locked);
}

/* ---- the family ---- */

/* Everything that the budget's family can do without is freed, by this thread or by another that it
 * waits for. */
static void relieve(struct ulp_budget *budget)
{
    struct ulp_budget *root = find_root(budget);
    ulp_spin_lock(&root->family_locked);
    free_kept(root);
    for (struct ulp_budget *child = root->children; child; child = child->next)
        free_kept(child);
    ulp_spin_unlock(&root->family_locked);
}

void ulp_budget_open(struct ulp_budget *budget, struct ulp_budget *root)
{
    if (!root)
        return;
    budget->root = root;
    ulp_spin_lock(&root->family_locked);
    budget->next = root->children;
    root->children = budget;
    ulp_spin_unlock(&root->family_locked);
}

void ulp_budget_close(struct ulp_budget *budget)
{
    struct ulp_budget *root = budget->root;
    if (root) {
        ulp_spin_lock(&root->family_locked);
        struct ulp_budget **at = &root->children;
        while (*at != budget)
            at = &(*at)->next;
        *at = budget->next;
        ulp_spin_unlock(&root->family_locked);
    }
    free_kept(budget);
    budget->root = NULL;
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
    bool charged = !budget || charge_both(budget, bytes);
    if (!charged) {
        relieve(budget);
        charged = charge_both(budget, bytes);
    }
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

static void *take_once(struct ulp_budget *budget, size_t bytes, size_t *capacity)
{
    void *block = NULL;
    *capacity = bytes;
    if (budget && !charge(budget, bytes))
        return NULL;
    if (budget && budget->keeps_blocks && bytes >= ULP_TUNE_KEPT_BYTES_MIN &&
        (block = take_kept(budget, bytes, capacity))) {
        forget_refusal(bytes);
        return block;
    }
    if (!budget || !budget->root || charge(budget->root, bytes)) {
        block = allocate_aligned(bytes);
        forget_refusal(block ? bytes : SIZE_MAX); /* for want of memory: no limit's */
        if (!block && budget && budget->root)
            discharge(budget->root, bytes);
    }
    if (!block && budget)
        discharge(budget, bytes);
    return block;
}

void *ulp_budget_take(struct ulp_budget *budget, size_t bytes, size_t *capacity)
{
    void *block = take_once(budget, bytes, capacity);
    if (block || !budget)
        return block;
    relieve(budget);
    return take_once(budget, bytes, capacity);
}

void ulp_budget_give(struct ulp_budget *budget, void *block, size_t bytes, size_t capacity)
{
    if (!budget) {
        free_aligned(block, capacity);
        return;
    }
    discharge(budget, bytes);
    if (!budget->keeps_blocks || capacity < ULP_TUNE_KEPT_BYTES_MIN ||
        !keep_block(budget, block, capacity, capacity - bytes))
        free_block(budget, (struct ulp_kept_block){block, capacity});
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
