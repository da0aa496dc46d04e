/* A cache of packed operands. An owner declares a tensor immutable (keep ... drop); meanwhile
 * kernels store their packed form of it here and find it at the next call. It serves weights,
 * which an audit contracts with the values of every lane, and a recurrent cell or a loop's body at
 * every step. Results never depend on it; when memory is short, forms are evicted before an
 * allocation fails. Thread-safe. */
#pragma once

#include "base/memory/alloc.h"
#include "kernels/contract.h"

/* Forms are charged to the budget (NULL: none), which must outlive the cache and calls it to
 * reclaim memory. bytes_max: what forms that stay may take; beyond it a form lasts until the
 * tensor is dropped once. */
enum ulp_status ulp_packed_create(struct ulp_packed **out, struct ulp_budget *budget,
                                  size_t bytes_max, struct ulp_error *error);
void ulp_packed_free(struct ulp_packed *packed);

/* Declare the tensor's elements immutable until they have been dropped as often as kept; forms of
 * them and of views into them are valid that long. packed NULL: nothing happens. */
enum ulp_status ulp_packed_keep(struct ulp_packed *packed, const struct ulp_tensor *tensor,
                                struct ulp_error *error);
void ulp_packed_drop(struct ulp_packed *packed, const struct ulp_tensor *tensor);
/* Its forms that found no room to stay are given up; it stays declared. */
void ulp_packed_pass(struct ulp_packed *packed, const struct ulp_tensor *tensor);

/* How many forms were made, and how often one was used again. */
struct ulp_packed_counts {
    size_t made, used;
};
struct ulp_packed_counts ulp_packed_count(struct ulp_packed *packed);

/* ---- for kernels ---- */

/* The lines of a factor that a call needs. */
struct ulp_packed_view {
    const struct ulp_factor *factor;
    size_t batch_count, line_count, k_count;
};

/* Which of a kernel's forms of a view it is, where that has several: zeroed, then set. */
struct ulp_packed_variant {
    const void *tile;
    size_t k_block;
    uint32_t side, rounding;
    char format[24];
};
struct ulp_pack;
/* Of that side: a form of the tile's, whose lines are rounded as the pack says. */
struct ulp_packed_variant ulp_packed_variant_of(const struct ulp_pack *pack, int side,
                                                const void *tile, size_t k_block);

/* A form begins with this. */
struct ulp_packed_form {
    struct ulp_packed_form *next;
    void (*free)(struct ulp_packed_form *form); /* which kernel's it is, too */
    size_t bytes;                               /* of its memory, about */
    struct ulp_packed_variant variant;
    int users;
    bool given_up, passing; /* passing: there was no room for it to stay */
    /* The view: elements, and offsets of lines, of k and, each once and ascending, of batches. */
    const void *data;
    enum ulp_element element;
    int precision;
    size_t group_count, line_count, k_count;
    int64_t *tables;
};

/* Is all of the view in memory that stays as it is, and no larger than that? */
bool ulp_packed_is_kept(struct ulp_packed *packed, const struct ulp_packed_view *view);
struct ulp_budget *ulp_packed_budget(struct ulp_packed *packed);
/* The form of that view, kernel and variant, which is not freed before it is released; NULL: there
 * is none. */
struct ulp_packed_form *ulp_packed_find(struct ulp_packed *packed,
                                        const struct ulp_packed_view *view,
                                        void (*kernel)(struct ulp_packed_form *form),
                                        const struct ulp_packed_variant *variant);
/* How a kernel makes a form. */
struct ulp_packed_recipe {
    size_t form_bytes; /* of its struct, which begins with struct ulp_packed_form */
    size_t bytes;      /* of a group's memory; 0: fill says how much it took */
    struct ulp_packed_variant variant;
    /* Fills a form that is zero but for its view; batches: one of each group. */
    enum ulp_status (*fill)(void *context, struct ulp_packed_form *form, const size_t *batches,
                            struct ulp_error *error);
    void (*free)(struct ulp_packed_form *form); /* calls ulp_packed_end */
};
/* A new form, left here in place of any other of its view, kernel and variant, which must be
 * released. NULL: no room for it to stay (where the recipe knows its size), or no memory, which is
 * no failure. */
struct ulp_packed_form *ulp_packed_make(struct ulp_packed *packed,
                                        const struct ulp_packed_view *view,
                                        const struct ulp_packed_recipe *recipe, void *context);
/* Frees what is every form's: its view and its struct. */
void ulp_packed_end(struct ulp_packed_form *form);
void ulp_packed_release(struct ulp_packed *packed, struct ulp_packed_form *form);

static inline int64_t ulp_packed_batch_offset(const struct ulp_factor *factor, size_t batch)
{
    return factor->batch_offset ? factor->batch_offset[batch] : 0;
}
/* Where the batch at that offset is among the form's; group_count: nowhere. */
static inline size_t ulp_packed_group(const struct ulp_packed_form *form, int64_t batch_offset)
{
    size_t low = 0, high = form->group_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (form->tables[middle] < batch_offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < form->group_count && form->tables[low] == batch_offset ? low : form->group_count;
}
