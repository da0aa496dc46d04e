/* Naming the numbers of a trace. */
#include "base/bits.h"
#include "base/error.h"
#include "ops/trace/gate.h"

enum ulp_status ulp_trace_create(struct ulp_trace **out, struct ulp_budget *budget,
                                 struct ulp_pool *pool, struct ulp_error *error)
{
    ULP_TRY(ulp_allocate_zero(out, 1, sizeof **out, budget, "a trace", error));
    **out = (struct ulp_trace){.budget = budget, .pool = pool};
    return ulp_arithmetic_find("fp64", &(*out)->arithmetic, error);
}

/* What inputs are views of grows between two calls, when none is. Without memory they are named one
 * by one. */
static void grow_names(struct ulp_trace *trace)
{
    if (trace->names_wanted <= trace->name_count)
        return;
    ulp_free(trace->names);
    trace->names = NULL;
    trace->name_count = 0;
    if (ulp_allocate(&trace->names, trace->names_wanted, sizeof *trace->names, trace->budget,
                     "names", NULL) != ULP_OK)
        return;
    trace->name_count = trace->names_wanted;
    for (size_t i = 0; i < trace->name_count; i++)
        trace->names[i] = ulp_name_of(i);
}

void ulp_trace_clear(struct ulp_trace *trace)
{
    ulp_arena_free(trace->arena);
    ulp_free(trace->values);
    ulp_free(trace->cotangents);
    trace->arena = NULL;
    trace->last = trace->pending = trace->last_pending = NULL;
    trace->sources = NULL;
    trace->first_mark = NULL;
    trace->end_mark = NULL;
    trace->values = trace->cotangents = NULL;
    trace->count = trace->capacity = 0;
    grow_names(trace);
}

void ulp_trace_free(struct ulp_trace *trace)
{
    if (!trace)
        return;
    trace->names_wanted = 0;
    ulp_trace_clear(trace);
    ulp_free(trace->names);
    if (trace->instead)
        trace->instead->free(trace);
    for (struct ulp_trace_kept_adjoint *kept = trace->kept, *next; kept; kept = next) {
        next = kept->next;
        ulp_tape_free(kept->adjoint);
        ulp_free(kept);
    }
    ulp_free(trace);
}

enum ulp_status ulp_trace_reserve(struct ulp_trace *trace, struct ulp_error *error)
{
    void *grown;
    if (trace->count <= trace->capacity)
        return ULP_OK;
    const size_t wanted = trace->count > 2 * trace->capacity ? trace->count : 2 * trace->capacity;
    ULP_TRY(ulp_allocate(&grown, wanted, sizeof *trace->values, trace->budget, "numbers of a trace",
                         error));
    if (trace->capacity)
        memcpy(grown, trace->values, trace->capacity * sizeof *trace->values);
    ulp_free(trace->values);
    trace->values = grown;
    trace->capacity = wanted;
    return ULP_OK;
}

enum ulp_status ulp_trace_room(struct ulp_trace *trace, size_t count, size_t bytes, void *out,
                               struct ulp_error *error)
{
    if (!trace->arena)
        ULP_TRY(ulp_arena_create(&trace->arena, trace->budget, error));
    void *memory = ulp_arena_room(trace->arena, count ? count : 1, bytes);
    memcpy(out, &memory, sizeof memory);
    return memory ? ULP_OK : ulp_trace_fail(error);
}

enum ulp_status ulp_trace_take(struct ulp_trace *trace, size_t count, size_t bytes, void *out,
                               struct ulp_error *error)
{
    void *memory = NULL;
    ULP_TRY(ulp_trace_room(trace, count, bytes, &memory, error));
    memset(memory, 0, (count ? count : 1) * bytes);
    memcpy(out, &memory, sizeof memory);
    return ULP_OK;
}

/* Elements compared before it is looked whether all were in order. */
#define COMPARED 512

size_t ulp_names_in_order(const struct ulp_trace *trace, const double *names, size_t count)
{
    const uintptr_t at = (uintptr_t)names, own = (uintptr_t)trace->names;
    if (count && own && at >= own && at - own < trace->name_count * sizeof *names)
        return (at - own) / sizeof *names; /* a view of an input, which ends where it does */
    const size_t first = count ? ulp_number_of(names[0]) : ULP_NO_NUMBER;
    for (size_t begin = 0, end; first != ULP_NO_NUMBER && begin < count; begin = end) {
        uint64_t others = 0;
        end = ulp_size_min(count, begin + COMPARED);
        for (size_t i = begin; i < end; i++)
            others |= ulp_double_bits(names[i]) ^ ulp_double_bits(ulp_name_of(first + i));
        if (others)
            return ULP_NO_NUMBER;
    }
    return first;
}

enum ulp_status ulp_trace_name(struct ulp_trace *trace, struct ulp_tensor *out,
                               const struct ulp_tensor *values, double part, const float *of,
                               struct ulp_error *error)
{
    struct ulp_trace_source *source;
    size_t end;
    ULP_TRY(ulp_tensor_describe(out, values->type, ULP_ELEMENT_F64, 0, values->rank, values->dims,
                                error));
    if (!ulp_size_add(trace->count, out->count, &end))
        return ulp_trace_fail(error);
    ULP_TRY(ulp_trace_room(trace, 1, sizeof *source, &source, error));
    *source = (struct ulp_trace_source){.next = trace->sources,
                                        .tensor = ulp_tensor_view(values),
                                        .start = trace->count,
                                        .part = part,
                                        .of = of};
    trace->names_wanted = end > trace->names_wanted ? end : trace->names_wanted;
    if (end <= trace->name_count) {
        out->data = trace->names + trace->count;
    } else {
        ULP_TRY(ulp_tensor_allocate(out, trace->budget, error));
        double *names = out->data;
        for (size_t i = 0; i < out->count; i++)
            names[i] = ulp_name_of(trace->count + i);
    }
    trace->sources = source;
    trace->count = end;
    return ULP_OK;
}

enum ulp_status ulp_trace_read_sources(struct ulp_trace *trace, struct ulp_error *error)
{
    for (; trace->sources; trace->sources = trace->sources->next) {
        const struct ulp_trace_source *source = trace->sources;
        double *values = trace->values + source->start;
        struct ulp_tensor numbers = ulp_view_numbers(values, source->tensor.count);
        numbers.type = source->tensor.type;
        numbers.rank = source->tensor.rank;
        memcpy(numbers.dims, source->tensor.dims, sizeof numbers.dims);
        const float *floats = source->tensor.data, *of = source->of;
        const double part = source->part;
        if (source->tensor.element == ULP_ELEMENT_F32 && part != 0) {
            for (size_t i = 0; i < numbers.count; i++)
                values[i] = (double)floats[i] + part * (double)of[i];
            continue;
        }
        ULP_TRY(ulp_tensor_convert(&numbers, &source->tensor, NULL, ULP_ROUND_NEAREST_EVEN, 0,
                                   trace->pool, error));
        for (size_t i = 0; part != 0 && i < numbers.count; i++)
            values[i] += part * (double)of[i];
    }
    return ULP_OK;
}

enum ulp_status ulp_trace_remember(struct ulp_trace *trace, size_t key, int position,
                                   const struct ulp_tensor *named, struct ulp_error *error)
{
    struct ulp_trace_mark *mark;
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *mark, &mark, error));
    *mark = (struct ulp_trace_mark){key, position, ulp_tensor_view(named), NULL};
    ULP_TRY(ulp_trace_take(trace, named->count, named->element_bytes, &mark->named.data, error));
    if (named->count)
        memcpy(mark->named.data, named->data, named->count * named->element_bytes);
    *(trace->first_mark ? trace->end_mark : &trace->first_mark) = mark;
    trace->end_mark = &mark->next;
    return ULP_OK;
}

const struct ulp_trace_mark *ulp_trace_remembered(const struct ulp_trace *trace)
{
    return trace->first_mark;
}

void ulp_trace_pass_steps(struct ulp_trace *trace)
{
    trace->passes_steps = true;
}

bool ulp_trace_passes_steps(const struct ulp_trace *trace)
{
    return trace->passes_steps;
}

bool ulp_trace_is_named(const struct ulp_tensor *tensor)
{
    const double *names = tensor->data;
    for (size_t i = 0; tensor->element == ULP_ELEMENT_F64 && i < tensor->count; i++)
        if (ulp_number_of(names[i]) != ULP_NO_NUMBER)
            return true;
    return false;
}

/* ---- what a gate reads ---- */

/* The numbers of the part's names. */
static enum ulp_status read_names(struct ulp_trace *trace, struct ulp_trace_part *part,
                                  struct ulp_error *error)
{
    const double *names = part->tensor.data;
    const size_t count = part->tensor.count;
    for (size_t i = 0; i < count && !part->named; i++)
        part->named = ulp_number_of(names[i]) != ULP_NO_NUMBER;
    if (!part->named)
        return ULP_OK;
    ULP_TRY(ulp_trace_room(trace, count, sizeof *part->numbers, &part->numbers, error));
    for (size_t i = 0; i < count; i++)
        part->numbers[i] = ulp_number_of(names[i]);
    return ULP_OK;
}

enum ulp_status ulp_part_take(struct ulp_trace *trace, struct ulp_trace_part *out,
                              const struct ulp_tensor *tensor, int64_t low, int64_t high,
                              struct ulp_error *error)
{
    *out = (struct ulp_trace_part){.tensor = ulp_tensor_view(tensor)};
    out->tensor.rank = 1;
    out->tensor.dims[0] = high - low + 1;
    out->tensor.count = (size_t)(high - low + 1);
    const void *from = (const char *)tensor->data + (size_t)low * tensor->element_bytes;
    const bool wide = tensor->element == ULP_ELEMENT_F64;
    out->start = wide ? ulp_names_in_order(trace, from, out->tensor.count) : ULP_NO_NUMBER;
    out->named = out->start != ULP_NO_NUMBER;
    if (out->named) {
        out->tensor.data = NULL;
        return ULP_OK;
    }
    ULP_TRY(
        ulp_trace_room(trace, out->tensor.count, tensor->element_bytes, &out->tensor.data, error));
    if (out->tensor.count)
        memcpy(out->tensor.data, from, out->tensor.count * tensor->element_bytes);
    return wide ? read_names(trace, out, error) : ULP_OK;
}
