/* Naming the numbers of a trace. */
#include "base/error.h"
#include "ops/trace/gate.h"

enum ulp_status ulp_trace_create(struct ulp_trace **out, struct ulp_budget *budget,
                                 struct ulp_pool *pool, struct ulp_error *error)
{
    void *memory;
    const enum ulp_status status =
        ulp_allocate_zero(&memory, 1, sizeof **out, budget, "a trace", error);
    *out = memory;
    if (status != ULP_OK)
        return status;
    **out = (struct ulp_trace){.budget = budget, .pool = pool};
    return ulp_arithmetic_find("fp64", &(*out)->arithmetic, error);
}

void ulp_trace_clear(struct ulp_trace *trace)
{
    ulp_arena_free(trace->arena);
    ulp_free(trace->values);
    ulp_free(trace->cotangents);
    trace->arena = NULL;
    trace->last = trace->pending = trace->last_pending = NULL;
    trace->first_mark = NULL;
    trace->end_mark = NULL;
    trace->values = trace->cotangents = NULL;
    trace->count = trace->capacity = 0;
}

void ulp_trace_free(struct ulp_trace *trace)
{
    if (!trace)
        return;
    ulp_trace_clear(trace);
    if (trace->instead)
        trace->instead->free(trace);
    for (struct ulp_trace_kept_adjoint *kept = trace->kept, *next; kept; kept = next) {
        next = kept->next;
        ulp_tape_free(kept->adjoint);
        ulp_free(kept);
    }
    ulp_free(trace);
}

/* Room for `count` more numbers. */
enum ulp_status ulp_trace_reserve(struct ulp_trace *trace, size_t count, struct ulp_error *error)
{
    size_t wanted;
    void *grown;
    if (!ulp_size_add(trace->count, count, &wanted))
        return ulp_trace_fail(error);
    if (wanted <= trace->capacity)
        return ULP_OK;
    wanted = wanted > 2 * trace->capacity ? wanted : 2 * trace->capacity;
    ULP_TRY(ulp_allocate(&grown, wanted, sizeof *trace->values, trace->budget, "numbers of a trace",
                         error));
    if (trace->count)
        memcpy(grown, trace->values, trace->count * sizeof *trace->values);
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
    const enum ulp_status status = ulp_trace_room(trace, count, bytes, &memory, error);
    if (status == ULP_OK)
        memset(memory, 0, (count ? count : 1) * bytes);
    memcpy(out, &memory, sizeof memory);
    return status;
}

/* Elements compared before it is looked whether all were in order. */
#define COMPARED 512

size_t ulp_names_in_order(const double *names, size_t count)
{
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
                               const struct ulp_tensor *values, struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_describe(out, values->type, ULP_ELEMENT_F64, 0, values->rank, values->dims,
                                error));
    ULP_TRY(ulp_trace_reserve(trace, values->count, error));
    out->data = trace->values + trace->count;
    enum ulp_status status =
        ulp_tensor_convert(out, values, NULL, ULP_ROUND_NEAREST_EVEN, 0, trace->pool, error);
    out->data = NULL;
    if (status == ULP_OK)
        status = ulp_tensor_allocate(out, trace->budget, error);
    double *names = out->data;
    for (size_t i = 0; status == ULP_OK && i < out->count; i++)
        names[i] = ulp_name_of(trace->count + i);
    if (status == ULP_OK)
        trace->count += out->count;
    return status;
}

void ulp_trace_shift(struct ulp_trace *trace, const struct ulp_tensor *named, double part,
                     const float *of)
{
    double *values = trace->values + trace->count - named->count;
    for (size_t i = 0; i < named->count; i++)
        values[i] += part * (double)of[i];
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
    *out = (struct ulp_trace_part){.tensor = ulp_tensor_view(tensor), .first = low};
    out->tensor.rank = 1;
    out->tensor.dims[0] = high - low + 1;
    out->tensor.count = (size_t)(high - low + 1);
    const void *from = (const char *)tensor->data + (size_t)low * tensor->element_bytes;
    const bool wide = tensor->element == ULP_ELEMENT_F64;
    out->start = wide ? ulp_names_in_order(from, out->tensor.count) : ULP_NO_NUMBER;
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
