/* A product with a large weight, a block of the weight's lines at a time: each is read from the
 * model's file, lowered as the lane has constants, multiplied and forgotten. An output is of one
 * line, so that the bits are those of the whole product. */

#include "base/error.h"
#include "base/machine/file.h"
#include "base/tuning.h"
#include "number/round/round.h"
#include "ops/bounds.h"
#include "ops/call.h"
#include "tensor/lower.h"
#include "tensor/stored.h"

/* So that no block has one line, which some arithmetics treat as a vector. */
#define LINES_MIN ((size_t)64)
/* Elements that a thread reads in a row. */
#define READ_ELEMENTS ((size_t)1 << 14)

/* The weight, and a block of it: runs of elements that lie one after the other in both. */
struct blocks {
    const struct ulp_tensor *weight;
    bool
        lines_adjacent; /* element (line, k) is at k * line_count + line; else line * k_count + k */
    size_t line_count, k_count;
    size_t first, count; /* lines of the block */
    struct ulp_tensor block, converted;
    struct ulp_format storage;
    bool converts;
};

ULP_WORK(read_runs)
{
    struct blocks *b = context;
    float *out = b->block.data;
    if (!b->lines_adjacent)
        ulp_floats_read(b->weight, b->first * b->k_count + first, last - first, out + first);
    for (size_t k = first; b->lines_adjacent && k < last; k++)
        ulp_floats_read(b->weight, k * b->line_count + b->first, b->count, out + k * b->count);
    return ULP_OK;
}

/* The block of lines that is set, as the lane has it; *lowered is freed with ulp_tensor_free. */
static enum ulp_status lower_block(struct ulp_call *call, struct blocks *b,
                                   struct ulp_tensor *lowered)
{
    const struct ulp_arithmetic *as = call->lowering;
    const size_t item = b->lines_adjacent ? b->count : 1;
    b->block.count = b->count * b->k_count;
    ULP_TRY(ulp_parallel_for(call->pool, b->block.count / item,
                             item < READ_ELEMENTS ? READ_ELEMENTS / item : 1, read_runs, b,
                             call->error));
    *lowered = ulp_tensor_view(&b->block);
    if (!b->converts)
        return ULP_OK;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor bounded = {0};
    ULP_TRY(ulp_tensor_lower(&bounded, &b->block, &b->storage, as->constants, NULL, call->budget,
                             call->error));
    b->converted.count = b->block.count;
    *lowered = ulp_tensor_view(&b->converted);
    return ulp_tensor_convert(lowered, &bounded, &b->storage, as->rounding, as->seed, call->pool,
                              call->error);
}

/* Room for blocks of `lines` lines. Types of 8 bits are kept in every lane, as what the storage
 * holds is. */
static enum ulp_status begin(struct ulp_call *call, struct blocks *b, size_t lines)
{
    struct ulp_format own;
    const struct ulp_type_row *row = &ulp_type_rows[b->weight->type];
    const int64_t dims[] = {(int64_t)(lines * b->k_count)};
    b->storage = call->lowering->storage;
    ULP_TRY(ulp_format_find(row->format, &own, call->error));
    if (call->lowering->as_declared)
        ULP_TRY(ulp_format_find(ulp_type_format(call->lowering, b->weight->type), &b->storage,
                                call->error));
    ULP_TRY(
        ulp_tensor_describe(&b->block, b->weight->type, ULP_ELEMENT_F32, 0, 1, dims, call->error));
    ULP_TRY(ulp_call_temporary(call, &b->block));
    b->converts = row->file_bits > 8 && !ulp_format_holds(&b->storage, &own);
    b->converted = ulp_tensor_view(&b->block); /* rounded where they are */
    if (!b->converts)
        return ULP_OK;
    if (ulp_storage_element(&b->storage) == ULP_ELEMENT_F32)
        return ULP_OK;
    ULP_TRY(ulp_tensor_describe(&b->converted, b->weight->type, ulp_storage_element(&b->storage),
                                b->storage.precision, 1, dims, call->error));
    return ulp_call_temporary(call, &b->converted);
}

static enum ulp_status contract_block(struct ulp_call *call, const struct ulp_contraction *whole,
                                      struct blocks *b, int64_t *lines, int64_t *k)
{
    struct ulp_tensor lowered;
    struct ulp_contraction part = *whole;
    for (size_t i = 0; i < b->count; i++)
        lines[i] = (int64_t)(b->lines_adjacent ? i : i * b->k_count);
    for (size_t i = 0; i < b->k_count; i++)
        k[i] = (int64_t)(b->lines_adjacent ? i * b->count : i);
    part.n = b->count;
    part.b = (struct ulp_factor){.tensor = &lowered,
                                 .batch_offset = whole->b.batch_offset,
                                 .line_offset = lines,
                                 .k_offset = k};
    part.out_column_offset += b->first;
    enum ulp_status status = lower_block(call, b, &lowered);
    ULP_THEN(status, ulp_bounds_check_contraction(&part, call->error));
    ULP_THEN(status, ulp_contract(call->arithmetic, &part, call->pool, call->error));
    if (b->weight->element == ULP_ELEMENT_STORED)
        ulp_mapped_give_back(b->weight->data, b->weight->count * b->weight->element_bytes);
    return status;
}

enum ulp_status ulp_call_contract_blocks(struct ulp_call *call,
                                         const struct ulp_contraction *problem)
{
    struct blocks b = {.weight = problem->b.tensor,
                       .lines_adjacent = problem->n > 1 && problem->b.line_offset[1] == 1,
                       .line_count = problem->n,
                       .k_count = problem->k};
    const size_t limit = ulp_budget_limit(call->budget),
                 share = limit / ULP_TUNE_LOWERED_SHARE / sizeof(float),
                 elements = ulp_size_min(share, ULP_TUNE_BLOCK_ELEMENTS),
                 most = elements / b.k_count < LINES_MIN ? LINES_MIN : elements / b.k_count;
    const size_t block_count = (b.line_count + most - 1) / most;
    const size_t room = b.line_count / block_count + 1;
    ULP_TRY(begin(call, &b, room));
    ULP_CALL_TAKE(int64_t, lines, call, room);
    ULP_CALL_TAKE(int64_t, k, call, b.k_count);
    if (b.weight->element == ULP_ELEMENT_STORED)
        ulp_mapped_fetch(b.weight->data, b.weight->count * b.weight->element_bytes);
    for (size_t i = 0; i < block_count; i++) {
        b.first = b.line_count * i / block_count;
        b.count = b.line_count * (i + 1) / block_count - b.first;
        ULP_TRY(contract_block(call, problem, &b, lines, k));
    }
    return ULP_OK;
}
