/* The cache of packed operands: forms by view, and their eviction. */
#include "kernels/operand/packed.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "kernels/operand/pack.h"

/* Memory that stays as it is, and the forms made of it. */
struct kept {
    struct kept *before, *next;
    const char *first, *end;
    size_t count; /* how often it was kept */
    struct ulp_packed_form *forms;
};

struct ulp_packed {
    pthread_mutex_t mutex; /* guards the rest, but not the budget */
    struct ulp_budget *budget;
    size_t bytes, bytes_max; /* of forms that stay */
    _Atomic size_t passing;  /* how many do not */
    struct kept *kept;       /* all of it */
    void *by_address;        /* the same as a tree of <search.h> */
    struct ulp_packed_counts counts;
};

/* Frees a form that is in no list any more, or leaves that to the last of its users. */
static void give_up(struct ulp_packed *packed, struct ulp_packed_form *form)
{
    form->given_up = true;
    packed->bytes -= form->passing ? 0 : form->bytes;
    packed->passing -= form->passing;
    if (form->users == 0)
        form->free(form);
}

/* The forms that `of` chooses. */
static bool give_up_those(struct ulp_packed *packed, struct kept *kept,
                          bool (*of)(const struct ulp_packed_form *form, const void *context),
                          const void *context)
{
    bool any = false;
    for (struct ulp_packed_form **at = &kept->forms, *form; (form = *at);) {
        if (!of(form, context)) {
            at = &form->next;
            continue;
        }
        *at = form->next;
        give_up(packed, form);
        any = true;
    }
    return any;
}

static bool is_any(const struct ulp_packed_form *form, const void *context)
{
    (void)form, (void)context;
    return true;
}

static bool is_unused(const struct ulp_packed_form *form, const void *context)
{
    (void)context;
    return form->users == 0;
}

static bool is_passing(const struct ulp_packed_form *form, const void *context)
{
    (void)context;
    return form->passing;
}

static int compare_kept(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->end > y->end) - (x->end < y->end);
}

static struct kept outline(const struct ulp_tensor *tensor)
{
    const char *first = tensor->data;
    return (struct kept){.first = first, .end = first + tensor->count * tensor->element_bytes};
}

static struct kept *find_same(const struct ulp_packed *packed, const struct ulp_tensor *tensor)
{
    const struct kept wanted = outline(tensor);
    void *found = tfind(&wanted, &packed->by_address, compare_kept);
    return found ? *(struct kept **)found : NULL;
}

static struct kept *add_kept(struct ulp_packed *packed, const struct ulp_tensor *tensor)
{
    struct kept *kept = malloc(sizeof *kept);
    if (!kept)
        return NULL;
    *kept = outline(tensor);
    if (!tsearch(kept, &packed->by_address, compare_kept)) {
        free(kept);
        return NULL;
    }
    kept->next = packed->kept;
    if (kept->next)
        kept->next->before = kept;
    packed->kept = kept;
    return kept;
}

static void remove_kept(struct ulp_packed *packed, struct kept *kept)
{
    tdelete(kept, &packed->by_address, compare_kept);
    if (kept->next)
        kept->next->before = kept->before;
    if (kept->before)
        kept->before->next = kept->next;
    else
        packed->kept = kept->next;
    give_up_those(packed, kept, is_any, NULL);
    free(kept);
}

/* What the budget asks for: all forms that no call uses just now. */
static bool reclaim(void *owner)
{
    struct ulp_packed *packed = owner;
    bool any = false;
    pthread_mutex_lock(&packed->mutex);
    for (struct kept *kept = packed->kept; kept; kept = kept->next)
        any |= give_up_those(packed, kept, is_unused, NULL);
    pthread_mutex_unlock(&packed->mutex);
    return any;
}

enum ulp_status ulp_packed_create(struct ulp_packed **out, struct ulp_budget *budget,
                                  size_t bytes_max, struct ulp_error *error)
{
    *out = calloc(1, sizeof **out);
    ULP_TRY(ulp_taken(*out, error));
    pthread_mutex_init(&(*out)->mutex, NULL);
    (*out)->budget = budget;
    (*out)->bytes_max = bytes_max;
    if (budget)
        ulp_budget_set_reclaim(budget, reclaim, *out);
    return ULP_OK;
}

void ulp_packed_free(struct ulp_packed *packed)
{
    if (!packed)
        return;
    if (packed->budget)
        ulp_budget_set_reclaim(packed->budget, NULL, NULL);
    while (packed->kept)
        remove_kept(packed, packed->kept);
    pthread_mutex_destroy(&packed->mutex);
    free(packed);
}

struct ulp_packed_counts ulp_packed_count(struct ulp_packed *packed)
{
    if (!packed)
        return (struct ulp_packed_counts){0};
    pthread_mutex_lock(&packed->mutex);
    const struct ulp_packed_counts counts = packed->counts;
    pthread_mutex_unlock(&packed->mutex);
    return counts;
}

enum ulp_status ulp_packed_keep(struct ulp_packed *packed, const struct ulp_tensor *tensor,
                                struct ulp_error *error)
{
    if (!packed || !tensor->data || tensor->count == 0)
        return ULP_OK;
    pthread_mutex_lock(&packed->mutex);
    struct kept *kept = find_same(packed, tensor);
    if (!kept)
        kept = add_kept(packed, tensor);
    if (kept)
        kept->count++;
    pthread_mutex_unlock(&packed->mutex);
    return ulp_taken(kept, error);
}

void ulp_packed_drop(struct ulp_packed *packed, const struct ulp_tensor *tensor)
{
    if (!packed || !tensor->data || tensor->count == 0)
        return;
    pthread_mutex_lock(&packed->mutex);
    struct kept *kept = find_same(packed, tensor);
    if (kept && --kept->count == 0)
        remove_kept(packed, kept);
    pthread_mutex_unlock(&packed->mutex);
}

void ulp_packed_pass(struct ulp_packed *packed, const struct ulp_tensor *tensor)
{
    if (!packed || !packed->passing || !tensor->data || tensor->count == 0)
        return;
    pthread_mutex_lock(&packed->mutex);
    struct kept *kept = find_same(packed, tensor);
    if (kept)
        give_up_those(packed, kept, is_passing, NULL);
    pthread_mutex_unlock(&packed->mutex);
}

static int compare_place(const void *a, const void *b)
{
    const char *address = a;
    const struct kept *kept = b;
    return address < kept->first ? -1 : address >= kept->end;
}

/* The kept memory that the address lies in. Where constants overlap (initialisers may share bytes
 * of a file) it may be missed; then nothing is kept for this call. */
static struct kept *find_around(const struct ulp_packed *packed, const void *address)
{
    void *found = tfind(address, &packed->by_address, compare_place);
    return found ? *(struct kept **)found : NULL;
}

/* Batches until their offsets repeat, as those of weights do from image to image. */
static size_t count_groups(const struct ulp_packed_view *view)
{
    const int64_t *offset = view->factor->batch_offset;
    size_t period = 1;
    if (!offset)
        return 1;
    while (period < view->batch_count && offset[period] != offset[0])
        period++;
    for (size_t g = period; g < view->batch_count; g++)
        if (offset[g] != offset[g - period])
            return view->batch_count;
    return period;
}

bool ulp_packed_is_kept(struct ulp_packed *packed, const struct ulp_packed_view *view)
{
    if (!packed || view->factor->padding || !view->batch_count)
        return false;
    const struct ulp_tensor *tensor = view->factor->tensor;
    size_t lines, elements;
    pthread_mutex_lock(&packed->mutex);
    const struct kept *kept = find_around(packed, tensor->data);
    const size_t room = kept ? (size_t)(kept->end - kept->first) / tensor->element_bytes : 0;
    pthread_mutex_unlock(&packed->mutex);
    return ulp_size_mul(view->line_count, view->k_count, &lines) &&
           ulp_size_mul(lines, count_groups(view), &elements) && elements <= room;
}

struct ulp_budget *ulp_packed_budget(struct ulp_packed *packed)
{
    return packed->budget;
}

static bool has_room(struct ulp_packed *packed, size_t bytes)
{
    pthread_mutex_lock(&packed->mutex);
    const bool has = bytes <= packed->bytes_max && packed->bytes <= packed->bytes_max - bytes;
    pthread_mutex_unlock(&packed->mutex);
    return has;
}

static bool is_form_of(const struct ulp_packed_form *form, const struct ulp_packed_view *view)
{
    const struct ulp_factor *factor = view->factor;
    const struct ulp_tensor *tensor = factor->tensor;
    if (form->data != tensor->data || form->element != tensor->element ||
        form->precision != tensor->precision || form->line_count != view->line_count ||
        form->k_count != view->k_count)
        return false;
    const int64_t *lines = form->tables + form->group_count, *k = lines + form->line_count;
    if (memcmp(lines, factor->line_offset, view->line_count * sizeof *lines) != 0 ||
        memcmp(k, factor->k_offset, view->k_count * sizeof *k) != 0)
        return false;
    for (size_t g = 0; g < view->batch_count; g++)
        if (ulp_packed_group(form, ulp_packed_batch_offset(factor, g)) == form->group_count)
            return false;
    return true;
}

struct ulp_packed_variant ulp_packed_variant_of(const struct ulp_pack *pack, int side,
                                                const void *tile, size_t k_block)
{
    struct ulp_packed_variant variant = {.tile = tile,
                                         .k_block = k_block,
                                         .side = (uint32_t)side,
                                         .rounding = (uint32_t)pack->rounding};
    if (pack->round)
        memcpy(variant.format, pack->format.name, strlen(pack->format.name));
    return variant;
}

struct ulp_packed_form *ulp_packed_find(struct ulp_packed *packed,
                                        const struct ulp_packed_view *view,
                                        void (*kernel)(struct ulp_packed_form *form),
                                        const struct ulp_packed_variant *variant)
{
    pthread_mutex_lock(&packed->mutex);
    struct kept *kept = find_around(packed, view->factor->tensor->data);
    struct ulp_packed_form *form = kept ? kept->forms : NULL;
    while (form &&
           !(form->free == kernel && memcmp(&form->variant, variant, sizeof *variant) == 0 &&
             is_form_of(form, view)))
        form = form->next;
    if (form) {
        form->users++;
        packed->counts.used++;
    }
    pthread_mutex_unlock(&packed->mutex);
    return form;
}

static int compare_offsets(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* A batch of each of the form's groups. */
static enum ulp_status list_batches(size_t **out, const struct ulp_packed_form *form,
                                    const struct ulp_packed_view *view, struct ulp_budget *budget,
                                    struct ulp_error *error)
{
    void *memory;
    *out = NULL;
    ULP_TRY(ulp_allocate(&memory, form->group_count, sizeof **out, budget, "batches of a factor",
                         error));
    *out = memory;
    for (size_t batch = 0; batch < view->batch_count; batch++)
        (*out)[ulp_packed_group(form, ulp_packed_batch_offset(view->factor, batch))] = batch;
    return ULP_OK;
}

/* Fills in a new form's view. */
static enum ulp_status begin(struct ulp_packed *packed, struct ulp_packed_form *form,
                             const struct ulp_packed_view *view, size_t **batches,
                             struct ulp_error *error)
{
    const struct ulp_factor *factor = view->factor;
    void *memory;
    ULP_TRY(ulp_allocate(&memory, view->batch_count + view->line_count + view->k_count,
                         sizeof *form->tables, packed->budget, "a packed factor's offsets", error));
    int64_t *tables = memory;
    for (size_t g = 0; g < view->batch_count; g++)
        tables[g] = ulp_packed_batch_offset(factor, g);
    qsort(tables, view->batch_count, sizeof *tables, compare_offsets);
    size_t groups = 1;
    for (size_t g = 1; g < view->batch_count; g++)
        if (tables[g] != tables[groups - 1])
            tables[groups++] = tables[g];
    memcpy(tables + groups, factor->line_offset, view->line_count * sizeof *tables);
    memcpy(tables + groups + view->line_count, factor->k_offset, view->k_count * sizeof *tables);
    form->data = factor->tensor->data;
    form->element = factor->tensor->element;
    form->precision = factor->tensor->precision;
    form->group_count = groups;
    form->line_count = view->line_count;
    form->k_count = view->k_count;
    form->tables = tables;
    return list_batches(batches, form, view, packed->budget, error);
}

void ulp_packed_end(struct ulp_packed_form *form)
{
    ulp_free(form->tables);
    ulp_free(form);
}

static bool are_alike(const struct ulp_packed_form *x, const void *context)
{
    const struct ulp_packed_form *y = context;
    return x->free == y->free && memcmp(&x->variant, &y->variant, sizeof x->variant) == 0 &&
           x->data == y->data && x->element == y->element && x->group_count == y->group_count &&
           x->line_count == y->line_count && x->k_count == y->k_count &&
           memcmp(x->tables, y->tables,
                  (x->group_count + x->line_count + x->k_count) * sizeof *x->tables) == 0;
}

static void add_form(struct ulp_packed *packed, struct ulp_packed_form *form)
{
    pthread_mutex_lock(&packed->mutex);
    form->users = 1;
    packed->counts.made++;
    struct kept *kept = find_around(packed, form->data);
    if (kept) {
        give_up_those(packed, kept, are_alike, form);
        form->passing =
            packed->bytes > packed->bytes_max || form->bytes > packed->bytes_max - packed->bytes;
        packed->bytes += form->passing ? 0 : form->bytes;
        packed->passing += form->passing;
        form->next = kept->forms;
        kept->forms = form;
    } else {
        form->given_up = true;
    }
    pthread_mutex_unlock(&packed->mutex);
}

struct ulp_packed_form *ulp_packed_make(struct ulp_packed *packed,
                                        const struct ulp_packed_view *view,
                                        const struct ulp_packed_recipe *recipe, void *context)
{
    struct ulp_error error;
    void *memory;
    size_t *batches = NULL;
    if (!has_room(packed, recipe->bytes) ||
        ulp_allocate_zero(&memory, 1, recipe->form_bytes, packed->budget, "a packed factor",
                          &error) != ULP_OK)
        return NULL;
    struct ulp_packed_form *form = memory;
    *form = (struct ulp_packed_form){.free = recipe->free, .variant = recipe->variant};
    enum ulp_status status = begin(packed, form, view, &batches, &error);
    if (status == ULP_OK && (!ulp_size_mul(recipe->bytes, form->group_count, &form->bytes) ||
                             !has_room(packed, form->bytes)))
        status = ULP_ERROR_MEMORY;
    if (status == ULP_OK)
        status = recipe->fill(context, form, batches, &error);
    ulp_free(batches);
    if (status == ULP_OK) {
        add_form(packed, form);
        return form;
    }
    form->free(form);
    return NULL;
}

void ulp_packed_release(struct ulp_packed *packed, struct ulp_packed_form *form)
{
    pthread_mutex_lock(&packed->mutex);
    form->users--;
    if (form->users == 0 && form->given_up)
        form->free(form);
    pthread_mutex_unlock(&packed->mutex);
}
