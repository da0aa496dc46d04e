#include "run/carried.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/machine/thread.h"
#include "base/error.h"
#include "base/tuning.h"

#define HEADS 1024

struct entry {
    struct ulp_tensor tensor; /* type UNDEFINED: none */
    size_t users;
};

/* All that the figures of a constant follow from. */
struct counted {
    const void *data;
    size_t count;
    enum ulp_type type;
    struct ulp_format storage;
    enum ulp_constants rule;
    enum ulp_rounding rounding;
    struct ulp_lowered lowered;
    struct counted *before;
};

struct note {
    const void *mark;
    size_t part;
    void *note;
    struct note *before;
};

struct ulp_carried {
    _Atomic size_t runs;
    pthread_mutex_t preparing, mutex; /* the second guards all that follows */
    /* lists by a hash of data or mark, the last first: a model may have 10^5 of either */
    struct counted *counted[HEADS];
    struct note *notes[HEADS];
    struct ulp_budget constants, memory[2];
    size_t bytes_max; /* of constants */
    _Atomic(struct ulp_pool *) pool;
    bool lends;
    struct entry *entries;
    size_t count;
};

static size_t head_of(const void *of, size_t part)
{
    const uintptr_t address = (uintptr_t)of;
    return (size_t)(address >> 4 ^ address >> 14 ^ part) % HEADS;
}

size_t ulp_carried_place(const struct ulp_program *program, const struct ulp_block *block)
{
    size_t place = 0;
    for (size_t b = 0; b < program->block_count && program->blocks[b] != block; b++)
        for (size_t l = 0; l < program->lane_count; l++)
            place += ulp_lane_value_count(&program->mixes[l], program->blocks[b]);
    return place;
}

void ulp_carried_lend(struct ulp_carried *kept)
{
    kept->lends = true;
}

bool ulp_carried_lends(const struct ulp_carried *kept)
{
    return kept->lends;
}

/* What the budget asks for: constants that no run uses just now. */
static bool reclaim(void *owner)
{
    struct ulp_carried *kept = owner;
    bool any = false;
    pthread_mutex_lock(&kept->mutex);
    for (size_t i = 0; i < kept->count; i++)
        if (kept->entries[i].tensor.type != ULP_TYPE_UNDEFINED && !kept->entries[i].users) {
            ulp_tensor_free(&kept->entries[i].tensor);
            any = true;
        }
    pthread_mutex_unlock(&kept->mutex);
    return any;
}

size_t ulp_carried_limit(const struct ulp_budget *budget)
{
    const size_t limit = ulp_budget_limit(budget);
    return limit ? limit / ULP_TUNE_KEPT_SHARE : ULP_TUNE_KEPT_BYTES;
}

enum ulp_status ulp_carried_create(struct ulp_carried **out, struct ulp_budget *budget,
                                   struct ulp_error *error)
{
    struct ulp_carried *kept = calloc(1, sizeof *kept);
    *out = kept;
    ULP_TRY(ulp_taken(kept, error));
    pthread_mutex_init(&kept->preparing, NULL);
    pthread_mutex_init(&kept->mutex, NULL);
    ulp_budget_open(&kept->constants, budget);
    ulp_budget_open(&kept->memory[0], budget);
    ulp_budget_open(&kept->memory[1], budget);
    kept->bytes_max = ulp_carried_limit(budget);
    ulp_budget_set_reclaim(&kept->constants, reclaim, kept);
    return ULP_OK;
}

enum ulp_status ulp_carried_take_pool(struct ulp_carried *kept, int thread_count,
                                      struct ulp_pool **out, struct ulp_error *error)
{
    *out = atomic_exchange(&kept->pool, NULL);
    if (*out && ulp_pool_serves(*out, thread_count))
        return ULP_OK;
    ulp_pool_free(*out);
    return ulp_pool_create(out, thread_count, error);
}

void ulp_carried_return_pool(struct ulp_carried *kept, struct ulp_pool *pool)
{
    if (pool && ulp_pool_rest(pool))
        pool = atomic_exchange(&kept->pool, pool);
    ulp_pool_free(pool);
}

void ulp_carried_forget(struct ulp_carried *kept)
{
    pthread_mutex_lock(&kept->mutex);
    struct entry *entries = kept->entries;
    struct note *notes[HEADS];
    const size_t count = kept->count;
    memcpy(notes, kept->notes, sizeof notes);
    memset(kept->notes, 0, sizeof kept->notes);
    kept->entries = NULL;
    kept->count = 0;
    kept->runs = 0;
    pthread_mutex_unlock(&kept->mutex);
    for (size_t i = 0; i < count; i++)
        ulp_tensor_free(&entries[i].tensor);
    free(entries);
    for (size_t h = 0; h < HEADS; h++)
        for (struct note *n = notes[h], *before; n; n = before) {
            before = n->before;
            free(n->note);
            free(n);
        }
}

void ulp_carried_free(struct ulp_carried *kept)
{
    if (!kept)
        return;
    ulp_budget_set_reclaim(&kept->constants, NULL, NULL);
    ulp_carried_forget(kept);
    ulp_pool_free(kept->pool);
    for (size_t h = 0; h < HEADS; h++)
        for (struct counted *c = kept->counted[h], *before; c; c = before) {
            before = c->before;
            free(c);
        }
    ulp_budget_close(&kept->memory[1]);
    ulp_budget_close(&kept->memory[0]);
    ulp_budget_close(&kept->constants);
    pthread_mutex_destroy(&kept->mutex);
    pthread_mutex_destroy(&kept->preparing);
    free(kept);
}

/* For the second run. */
static bool prepare_carried(struct ulp_carried *kept, const struct ulp_program *program)
{
    const size_t count = ulp_carried_place(program, NULL);
    /* in no budget: it would stay there when the rest is given up */
    void *entries = calloc(count + 1, sizeof *kept->entries);
    if (!entries)
        return false;
    pthread_mutex_lock(&kept->mutex);
    kept->entries = entries;
    kept->count = count;
    pthread_mutex_unlock(&kept->mutex);
    return true;
}

bool ulp_carried_begin(struct ulp_carried *kept, const struct ulp_program *program)
{
    if (atomic_fetch_add(&kept->runs, 1) == 0)
        return false;
    /* not the mutex: allocating may call reclaim */
    pthread_mutex_lock(&kept->preparing);
    const bool is = kept->entries || prepare_carried(kept, program);
    pthread_mutex_unlock(&kept->preparing);
    return is;
}

struct ulp_budget *ulp_carried_memory(struct ulp_carried *kept, bool scratch)
{
    return &kept->memory[scratch];
}

size_t ulp_carried_spare(struct ulp_carried *kept)
{
    return ulp_budget_spare(&kept->memory[0]) + ulp_budget_spare(&kept->memory[1]);
}

size_t ulp_carried_bytes(const struct ulp_carried *kept)
{
    return ulp_budget_used(&kept->constants);
}

struct ulp_budget *ulp_carried_room(struct ulp_carried *kept, size_t bytes)
{
    const size_t used = ulp_budget_used(&kept->constants);
    return used <= kept->bytes_max && bytes <= kept->bytes_max - used ? &kept->constants : NULL;
}

bool ulp_carried_find(struct ulp_carried *kept, size_t place, struct ulp_tensor *view)
{
    struct entry *entry = &kept->entries[place];
    pthread_mutex_lock(&kept->mutex);
    const bool found = entry->tensor.type != ULP_TYPE_UNDEFINED;
    if (found) {
        *view = ulp_tensor_view(&entry->tensor);
        entry->users++;
    }
    pthread_mutex_unlock(&kept->mutex);
    return found;
}

void ulp_carried_add(struct ulp_carried *kept, size_t place, struct ulp_tensor *value)
{
    struct entry *entry = &kept->entries[place];
    pthread_mutex_lock(&kept->mutex);
    if (entry->tensor.type == ULP_TYPE_UNDEFINED) {
        *entry = (struct entry){*value, 1};
        *value = ulp_tensor_view(&entry->tensor);
    }
    pthread_mutex_unlock(&kept->mutex);
}

void ulp_carried_release(struct ulp_carried *kept, size_t place)
{
    pthread_mutex_lock(&kept->mutex);
    kept->entries[place].users--;
    pthread_mutex_unlock(&kept->mutex);
}

static bool is_of(const struct counted *c, const struct ulp_tensor *constant,
                  const struct ulp_arithmetic *in)
{
    return c->data == constant->data && c->count == constant->count && c->type == constant->type &&
           strcmp(c->storage.name, in->storage.name) == 0 &&
           c->storage.subnormals == in->storage.subnormals &&
           c->storage.overflow == in->storage.overflow && c->rule == in->constants &&
           c->rounding == in->rounding;
}

bool ulp_carried_find_lowered(struct ulp_carried *kept, const struct ulp_tensor *constant,
                              const struct ulp_arithmetic *in, struct ulp_lowered *out)
{
    pthread_mutex_lock(&kept->mutex);
    const struct counted *c = kept->counted[head_of(constant->data, 0)];
    while (c && !is_of(c, constant, in))
        c = c->before;
    if (c)
        *out = c->lowered;
    pthread_mutex_unlock(&kept->mutex);
    return c != NULL;
}

void ulp_carried_add_lowered(struct ulp_carried *kept, const struct ulp_tensor *constant,
                             const struct ulp_arithmetic *in, const struct ulp_lowered *lowered)
{
    struct counted *c = malloc(sizeof *c), **head = &kept->counted[head_of(constant->data, 0)];
    if (!c)
        return;
    pthread_mutex_lock(&kept->mutex);
    *c = (struct counted){constant->data, constant->count, constant->type, in->storage,
                          in->constants,  in->rounding,    *lowered,       *head};
    *head = c;
    pthread_mutex_unlock(&kept->mutex);
}

/* Under the mutex. */
static const void *find_note(const struct ulp_carried *kept, const void *mark, size_t part)
{
    const struct note *n = kept->notes[head_of(mark, part)];
    while (n && (n->mark != mark || n->part != part))
        n = n->before;
    return n ? n->note : NULL;
}

const void *ulp_carried_find_note(struct ulp_carried *kept, const void *mark, size_t part)
{
    pthread_mutex_lock(&kept->mutex);
    const void *note = find_note(kept, mark, part);
    pthread_mutex_unlock(&kept->mutex);
    return note;
}

void ulp_carried_add_note(struct ulp_carried *kept, const void *mark, size_t part, void *note)
{
    struct note *n = malloc(sizeof *n), **head = &kept->notes[head_of(mark, part)];
    pthread_mutex_lock(&kept->mutex);
    if (n && !find_note(kept, mark, part)) {
        *n = (struct note){mark, part, note, *head};
        *head = n;
        n = note = NULL;
    }
    pthread_mutex_unlock(&kept->mutex);
    free(note);
    free(n);
}
