/* The values of a second model's reference run, stored by name: the truth that a rewritten graph
 * (converted to FP16, quantised) is compared with. */
#include "analysis/audit/truth.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/names.h"

/* One value of one execution of its node; those of a name are a list, the latest first. */
struct kept {
    struct ulp_tensor tensor;
    size_t execution;
    ptrdiff_t before; /* index into kept; -1: none */
};

struct pair {
    const char *audited, *original;
    bool found; /* the other model has computed the original */
};

struct ulp_truth {
    struct ulp_budget *budget;
    struct ulp_arena *arena;  /* of names */
    struct ulp_names numbers; /* of a name: into heads */
    ptrdiff_t *heads;         /* latest kept value of each name; -1: none in this sample */
    size_t name_count, name_capacity;
    struct kept *kept;
    size_t kept_count, kept_capacity;
    struct pair *pairs;
    size_t pair_count, pair_capacity;
};

enum ulp_status ulp_truth_create(struct ulp_budget *budget, struct ulp_truth **out,
                                 struct ulp_error *error)
{
    struct ulp_truth *truth = calloc(1, sizeof *truth);
    *out = NULL;
    ULP_TRY(ulp_taken(truth, error));
    truth->budget = truth->numbers.budget = budget;
    enum ulp_status status = ulp_arena_create(&truth->arena, budget, error);
    if (status == ULP_OK)
        *out = truth;
    else
        ulp_truth_free(truth);
    return status;
}

void ulp_truth_clear(struct ulp_truth *truth)
{
    for (size_t i = 0; i < truth->kept_count; i++)
        ulp_tensor_free(&truth->kept[i].tensor);
    truth->kept_count = 0;
    for (size_t i = 0; i < truth->name_count; i++)
        truth->heads[i] = -1;
}

void ulp_truth_free(struct ulp_truth *truth)
{
    if (!truth)
        return;
    ulp_truth_clear(truth);
    ulp_names_free(&truth->numbers);
    ulp_free(truth->heads);
    ulp_free(truth->kept);
    ulp_free(truth->pairs);
    ulp_arena_free(truth->arena);
    free(truth);
}

enum ulp_status ulp_truth_pair(struct ulp_truth *truth, const char *audited, const char *original,
                               struct ulp_error *error)
{
    ULP_TRY(ulp_grow(&truth->pairs, truth->pair_count, &truth->pair_capacity, sizeof *truth->pairs,
                     truth->budget, "pairs", error));
    const struct pair pair = {.audited = ulp_arena_copy(truth->arena, audited),
                              .original = ulp_arena_copy(truth->arena, original)};
    ULP_TRY(ulp_taken(pair.audited && pair.original, error));
    truth->pairs[truth->pair_count++] = pair;
    return ULP_OK;
}

bool ulp_truth_is_paired(const struct ulp_truth *truth, const char *audited)
{
    bool is = false;
    for (size_t i = 0; i < truth->pair_count; i++)
        is |= strcmp(truth->pairs[i].audited, audited) == 0;
    return is;
}

/* The number of a name, given one when it has none; -1: out of memory. */
static int number_name(struct ulp_truth *truth, const char *name)
{
    int number = ulp_names_find(&truth->numbers, name);
    if (number >= 0)
        return number;
    number = (int)truth->name_count;
    const char *copy = ulp_arena_copy(truth->arena, name);
    if (!copy ||
        ulp_grow(&truth->heads, truth->name_count, &truth->name_capacity, sizeof *truth->heads,
                 truth->budget, "names", NULL) != ULP_OK ||
        !ulp_names_add(&truth->numbers, copy, number))
        return -1;
    truth->heads[number] = -1;
    truth->name_count++;
    return number;
}

static enum ulp_status keep(struct ulp_truth *truth, const char *name, size_t execution,
                            const struct ulp_tensor *value, struct ulp_error *error)
{
    ULP_TRY(ulp_grow(&truth->kept, truth->kept_count, &truth->kept_capacity, sizeof *truth->kept,
                     truth->budget, "kept values", error));
    const int number = number_name(truth, name);
    if (number < 0)
        return ulp_out_of_memory(error);
    struct kept *kept = &truth->kept[truth->kept_count];
    ULP_TRY(ulp_fail_at(error, ulp_tensor_copy(&kept->tensor, value, truth->budget, error),
                        "keeping the reference model's %s", name));
    kept->execution = execution;
    kept->before = truth->heads[number];
    truth->heads[number] = (ptrdiff_t)truth->kept_count++;
    return ULP_OK;
}

void ulp_truth_note(struct ulp_truth *truth, const char *original)
{
    for (size_t i = 0; i < truth->pair_count; i++)
        truth->pairs[i].found |= !strcmp(truth->pairs[i].original, original);
}

static enum ulp_status keep_outputs(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    struct ulp_truth *truth = context;
    for (size_t o = 0; o < event->output_count; o++) {
        ulp_truth_note(truth, event->output_names[o]);
        if (event->values[o].entire)
            ULP_TRY(keep(truth, event->output_names[o], event->execution, event->values[o].entire,
                         error));
    }
    return ULP_OK;
}

struct ulp_observer ulp_truth_observer(struct ulp_truth *truth)
{
    return (struct ulp_observer){.context = truth, .node_done = keep_outputs, .modes_unused = true};
}

/* What quantisers put behind a value's name: the number of that value; -1: there is none. */
static int find_named(const struct ulp_truth *truth, const char *name)
{
    static const char *const endings[] = {"_DequantizeLinear_Output", "_QuantizeInput",
                                          "_QuantizeLinear_Input"};
    const size_t length = strlen(name);
    int number = ulp_names_find(&truth->numbers, name);
    for (size_t e = 0; e < sizeof endings / sizeof *endings && number < 0; e++) {
        const size_t end = strlen(endings[e]);
        char *own = length > end && strcmp(name + length - end, endings[e]) == 0
                        ? strndup(name, length - end)
                        : NULL;
        number = own ? ulp_names_find(&truth->numbers, own) : -1;
        free(own);
    }
    return number;
}

const struct ulp_tensor *ulp_truth_find(const struct ulp_truth *truth, const char *name,
                                        size_t execution, const struct ulp_tensor *like)
{
    for (size_t i = 0; i < truth->pair_count; i++)
        if (!strcmp(truth->pairs[i].audited, name)) {
            name = truth->pairs[i].original;
            break;
        }
    const int number = find_named(truth, name);
    ptrdiff_t k = number < 0 ? -1 : truth->heads[number];
    while (k >= 0 && truth->kept[k].execution != execution)
        k = truth->kept[k].before;
    if (k < 0)
        return NULL;
    const struct ulp_tensor *found = &truth->kept[k].tensor;
    const bool alike = ulp_tensor_same_shape(found, like) &&
                       ulp_type_is_float(found->type) == ulp_type_is_float(like->type);
    return alike ? found : NULL;
}

static bool computes(const struct ulp_audit_lane *lane, const char *name)
{
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (!strcmp(lane->nodes[n].outputs[o].name, name))
                return true;
    return false;
}

enum ulp_status ulp_truth_check(const struct ulp_truth *truth, const struct ulp_audit *audit,
                                struct ulp_error *error)
{
    for (size_t i = 0; i < truth->pair_count; i++) {
        const struct pair *pair = &truth->pairs[i];
        const bool there = computes(&audit->lanes[0], pair->audited);
        if (!there || !pair->found)
            return ulp_fail(error, ULP_ERROR_USAGE, "pair %s=%s: %s computes no value '%s'",
                            pair->audited, pair->original,
                            there ? audit->reference_model : audit->model_path,
                            there ? pair->original : pair->audited);
    }
    return ULP_OK;
}
