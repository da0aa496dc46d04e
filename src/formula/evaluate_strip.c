/* What one instruction does: on the rows of a tile, and on a strip of their elements. */
#include "formula/evaluate.h"

#include <stdalign.h>
#include <string.h>

/* Streams of different instructions and nodes must not meet: a bijective mixer (splitmix64's).
 * Only stochastic rounding draws. number: of an instruction, or the instructions' count and an
 * output's. */
static struct ulp_strip_place place_of(const struct ulp_tape_worker *worker, int number,
                                       size_t position)
{
    if (worker->plan->numbers.rule.rounding != ULP_ROUND_STOCHASTIC)
        return (struct ulp_strip_place){.stream = 0};
    uint64_t z =
        worker->job->call->node_key + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(number + 1);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    const size_t row = worker->tile.first_row + worker->row;
    return (struct ulp_strip_place){.stream = z ^ (z >> 31),
                                    .first = (uint64_t)row * worker->job->call->rows->row_length +
                                             position};
}

/* ---- where elements lie ---- */

/* Row tables are often progressions for a while (the columns of an image): strides are faster than
 * offsets. */
static bool is_progression(const int64_t *offsets, size_t n)
{
    const int64_t stride = n > 1 ? offsets[1] - offsets[0] : 0;
    int64_t different = 0;
    for (size_t i = 1; i < n; i++)
        different |= (offsets[i] - offsets[i - 1]) ^ stride;
    return different == 0;
}

static struct ulp_tape_address address_rows(const struct ulp_tape_worker *worker, int tensor)
{
    const struct ulp_tape_tile *tile = &worker->tile;
    const struct ulp_operand *operand = ulp_evaluate_tensor(worker, tensor);
    const size_t first = tile->first_row, n = tile->row_count;
    const int64_t *offsets = operand->row_offset ? operand->row_offset + first : NULL;
    if (tile->indices) {
        const struct ulp_tape_plan *plan = worker->plan;
        int64_t *gathered = ulp_evaluate_slot(worker, plan->slots.gathered);
        gathered += (size_t)tensor * plan->cut.tile_rows;
        for (size_t i = 0; i < n; i++)
            gathered[i] = ulp_operand_row(operand, tile->indices[i]);
        offsets = gathered;
    }
    if (!offsets)
        return (struct ulp_tape_address){.base = (int64_t)first * operand->row_stride,
                                         .stride = operand->row_stride};
    if (is_progression(offsets, n))
        return (struct ulp_tape_address){.base = offsets[0],
                                         .stride = n > 1 ? offsets[1] - offsets[0] : 0};
    return (struct ulp_tape_address){.offsets = offsets};
}

void ulp_evaluate_address(struct ulp_tape_worker *worker, const struct ulp_tape_list *tensors)
{
    for (int i = 0; i < tensors->count; i++)
        worker->addresses[tensors->items[i]] = address_rows(worker, tensors->items[i]);
}

static int64_t position_base(const struct ulp_tape_worker *worker,
                             const struct ulp_operand *operand, size_t number)
{
    const int32_t *positions = worker->tile.positions;
    return ulp_operand_position(operand, positions ? (size_t)positions[number] : number);
}

/* Where the elements of a strip lie. */
static struct ulp_tape_address address_span(const struct ulp_tape_worker *worker, int tensor,
                                            struct ulp_tape_span span)
{
    const struct ulp_operand *operand = ulp_evaluate_tensor(worker, tensor);
    int64_t *offsets = ulp_evaluate_slot(worker, worker->plan->slots.offsets);
    struct ulp_tape_address at = {.base = 0};
    if (worker->lanes == 1) {
        at.base = ulp_operand_row(operand, worker->tile.first_row + worker->row);
        at.stride = operand->position_stride;
        if (worker->tile.positions) {
            for (size_t i = 0; i < span.count; i++)
                offsets[i] = position_base(worker, operand, span.first + i);
            at.offsets = offsets;
        } else if (operand->position_offset) {
            at.offsets = operand->position_offset + span.first;
        } else {
            at.base += (int64_t)span.first * operand->position_stride;
        }
        return at;
    }
    at = worker->addresses[tensor];
    if (span.count == 1) {
        at.base += position_base(worker, operand, span.first);
        return at;
    }
    for (size_t i = 0; i < span.count; i++, offsets += worker->lanes) {
        const int64_t base = position_base(worker, operand, span.first + i);
        for (size_t r = 0; r < worker->lanes; r++)
            offsets[r] = base + (at.offsets ? at.offsets[r] : (int64_t)r * at.stride);
    }
    at.offsets = offsets - span.count * worker->lanes;
    return at;
}

/* ---- between tensors and strips ---- */

/* Elements that are the same bytes in both: a position's rows if they are neighbours, else row
 * after row RUN positions that are, so that a cache line of the tensor is used while it is there.
 */
#define RUN 8
static inline __attribute__((always_inline)) void move_block(char *strip, char *tensor,
                                                             const struct ulp_tape_address *rows,
                                                             size_t row_count,
                                                             const int64_t *positions, size_t count,
                                                             const int64_t bytes, const bool in)
{
    const int64_t length = (int64_t)row_count * bytes;
    const bool adjacent = !rows->offsets && rows->stride == 1;
    for (size_t first = 0, n; first < count; first += n, strip += (int64_t)n * length) {
        const int64_t at = positions[first];
        if (adjacent) {
            memcpy(in ? strip : tensor + at * bytes, in ? tensor + at * bytes : strip,
                   (size_t)length);
            n = 1;
            continue;
        }
        for (n = 1; n < RUN && first + n < count && positions[first + n] == at + (int64_t)n;)
            n++;
        n = n == RUN ? RUN : 1;
        for (size_t r = 0; r < row_count; r++) {
            const int64_t row = rows->offsets ? rows->offsets[r] : (int64_t)r * rows->stride;
            char *value = strip + (int64_t)r * bytes, *place = tensor + (at + row) * bytes;
            for (int64_t t = 0; t < (n == RUN ? RUN : 1); t++)
                memcpy(in ? value + t * length : place + t * bytes,
                       in ? place + t * bytes : value + t * length, (size_t)bytes);
        }
    }
}

/* A strip of several rows whose elements are only copied. */
static void move_span(const struct ulp_tape_worker *worker, int tensor, char *strip,
                      struct ulp_tape_span span, bool in)
{
    const struct ulp_operand *operand = ulp_evaluate_tensor(worker, tensor);
    const struct ulp_tape_address *rows = &worker->addresses[tensor];
    int64_t *positions = ulp_evaluate_slot(worker, worker->plan->slots.offsets);
    const int64_t bytes = (int64_t)worker->plan->numbers.bytes;
    const size_t n = worker->lanes;
    char *data = operand->tensor->data;
    for (size_t t = 0; t < span.count; t++)
        positions[t] = rows->base + position_base(worker, operand, span.first + t);
    if (bytes == 4 && in)
        move_block(strip, data, rows, n, positions, span.count, 4, true);
    else if (bytes == 4)
        move_block(strip, data, rows, n, positions, span.count, 4, false);
    else if (bytes == 8 && in)
        move_block(strip, data, rows, n, positions, span.count, 8, true);
    else
        move_block(strip, data, rows, n, positions, span.count, bytes, in);
}

static void load_element(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                         char *out, struct ulp_tape_span span)
{
    const struct ulp_tape_numbers *numbers = &worker->plan->numbers;
    if (step->native && span.count > 1 && worker->lanes > 1) {
        move_span(worker, step->operand, out, span, true);
        return;
    }
    const struct ulp_tape_address at = address_span(worker, step->operand, span);
    numbers->table->load(&numbers->rule, out, worker->job->call->operands[step->operand].tensor,
                         at.base, at.offsets, at.stride, worker->lanes * span.count);
}

static void store_values(const struct ulp_tape_worker *worker, const struct ulp_tape_output *output,
                         const struct ulp_tape_address *at, const void *values, size_t n,
                         struct ulp_strip_place place)
{
    const struct ulp_tape_numbers *numbers = &worker->plan->numbers;
    const struct ulp_operand *operand = &worker->job->call->outputs[output->number];
    numbers->table->store(&numbers->rule, output->rounds ? &output->storage : NULL,
                          (struct ulp_tensor *)(uintptr_t)operand->tensor, at->base, at->offsets,
                          at->stride, values, n, place);
}

void ulp_evaluate_store(const struct ulp_tape_worker *worker, int number, struct ulp_tape_span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_output *output = &plan->outputs[number];
    const int tensor = plan->operand_count + output->number;
    const struct ulp_strip_place place =
        place_of(worker, plan->step_count + output->number, span.first);
    char *values = (char *)(uintptr_t)worker->values[output->step];
    if (output->native && !output->rounds && span.count > 1 && worker->lanes > 1) {
        move_span(worker, tensor, values, span, false);
        return;
    }
    const struct ulp_tape_address at = address_span(worker, tensor, span);
    store_values(worker, output, &at, values, worker->lanes * span.count, place);
}

void ulp_evaluate_store_rows(const struct ulp_tape_worker *worker, int number)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_output *output = &plan->outputs[number];
    struct ulp_tape_address at = worker->addresses[plan->operand_count + output->number];
    /* A row is the worker's that has its first strip. */
    const size_t first = worker->tile.begin > 0;
    at.base += (int64_t)first * at.stride;
    at.offsets = at.offsets ? at.offsets + first : NULL;
    store_values(worker, output, &at,
                 (char *)ulp_evaluate_slot(worker, plan->steps[output->step].one) +
                     first * plan->numbers.bytes,
                 worker->tile.row_count - first,
                 place_of(worker, plan->step_count + output->number, 0));
}

/* ---- values of rows ---- */

/* A strip seen as a tensor: converting between carriers is loading. */
static struct ulp_tensor view_strip(const struct ulp_strip_rule *rule, const void *strip, size_t n)
{
    static const struct {
        enum ulp_type type;
        enum ulp_element element;
    } kinds[ULP_STRIP_CARRIER_COUNT] = {
        [ULP_STRIP_FLOAT] = {ULP_TYPE_FLOAT, ULP_ELEMENT_F32},
        [ULP_STRIP_DOUBLE] = {ULP_TYPE_DOUBLE, ULP_ELEMENT_F64},
        [ULP_STRIP_MPFR] = {ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE},
        [ULP_STRIP_INT64] = {ULP_TYPE_INT64, ULP_ELEMENT_I64},
        [ULP_STRIP_UINT64] = {ULP_TYPE_UINT64, ULP_ELEMENT_U64},
    };
    return (struct ulp_tensor){.type = kinds[rule->carrier].type,
                               .element = kinds[rule->carrier].element,
                               .precision = rule->carrier == ULP_STRIP_MPFR ? rule->precision : 0,
                               .rank = 1,
                               .dims = {(int64_t)n},
                               .count = n,
                               .element_bytes =
                                   ulp_strip_element_bytes(rule->carrier, rule->precision),
                               .data = (void *)(uintptr_t)strip};
}

/* n copies of the row's size. */
static void fill_row_size(const struct ulp_tape_worker *worker, void *out, size_t n,
                          struct ulp_strip_place place)
{
    const struct ulp_tape_numbers *numbers = &worker->plan->numbers;
    const struct ulp_strip_rule *rule = &numbers->rule;
    const int64_t length = (int64_t)worker->tile.position_count;
    const struct ulp_tensor size = {.type = ULP_TYPE_INT64,
                                    .element = ULP_ELEMENT_I64,
                                    .count = 1,
                                    .element_bytes = sizeof length,
                                    .data = (void *)(uintptr_t)&length};
    numbers->table->load(rule, out, &size, 0, NULL, 0, 1);
    /* An integer that the carrier holds is loaded as it is; the product with 1 rounds it to the
     * format. */
    if (rule->each_step) {
        void *unit = ulp_evaluate_slot(worker, worker->plan->slots.size);
        numbers->table->constant(rule, unit, "1", 1);
        numbers->table->primitive[ULP_PRIMITIVE_MUL](rule, out, out, unit, NULL, 1, place);
    }
    if (n > 1)
        numbers->table->spread(rule, out, out, 0, n);
}

void ulp_evaluate_scale(const struct ulp_strip_rule *rule, void *out, const void *a, const void *b,
                        const void *c, size_t n, struct ulp_strip_place place)
{
    alignas(64) unsigned char factor[ULP_STRIP * sizeof(double)], one[ULP_STRIP * sizeof(double)];
    const struct ulp_strip_table *table = ulp_strip_tables[rule->carrier];
    table->constant(rule, one, "1", n);
    table->primitive[ULP_PRIMITIVE_DIV](rule, factor, one, b, c, n,
                                        (struct ulp_strip_place){~place.stream, place.first});
    table->primitive[ULP_PRIMITIVE_MUL](rule, out, a, factor, c, n, place);
}

void ulp_evaluate_value(struct ulp_tape_worker *worker, int index)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_operand *operand =
        step->operand >= 0 ? &worker->job->call->operands[step->operand] : NULL;
    const struct ulp_strip_place place = place_of(worker, index, 0);
    const size_t n = worker->tile.row_count;
    const void *arguments[3] = {NULL, NULL, NULL};
    void *out = ulp_evaluate_slot(worker, step->one);
    if (operand && operand->tensor) {
        const struct ulp_tape_address *at = &worker->addresses[step->operand];
        numbers->table->load(&numbers->rule, out, operand->tensor, at->base, at->offsets,
                             at->stride, n);
    } else if (operand || step->kind == ULP_TAPE_CONSTANT) {
        numbers->table->constant(&numbers->rule, out, operand ? operand->constant : step->constant,
                                 n);
    } else if (step->kind == ULP_TAPE_ROW_SIZE) {
        fill_row_size(worker, out, n, place);
    } else {
        for (int k = 0; k < 3; k++)
            if (step->arguments[k] >= 0)
                arguments[k] = ulp_evaluate_slot(worker, plan->steps[step->arguments[k]].one);
        step->function(&numbers->rule, out, arguments[0], arguments[1], arguments[2], n, place);
    }
}

void ulp_evaluate_spread(const struct ulp_tape_worker *worker, int index)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const size_t length = worker->tile.position_count,
                 count = length < worker->span_count ? length : worker->span_count,
                 bytes = worker->lanes * plan->numbers.bytes;
    const char *one = ulp_evaluate_row_value(worker, step);
    char *strip = ulp_evaluate_slot(worker, step->strip);
    if (worker->lanes == 1)
        plan->numbers.table->spread(&plan->numbers.rule, strip, one, 0, count);
    else
        for (size_t i = 0; i < count; i++)
            memcpy(strip + i * bytes, one, bytes);
}

/* ---- elements and folds ---- */

/* The strip's memory in a tensor along whose rows elements are neighbours. */
static void *find_along(const struct ulp_tape_worker *worker, const struct ulp_operand *operand,
                        struct ulp_tape_span span)
{
    const size_t row = worker->tile.first_row + worker->row;
    return ulp_operand_at(operand, ulp_operand_row(operand, row) + (int64_t)span.first);
}

/* An operand's strip, if it lies as such in the tensor; NULL: it does not. */
static void *find_in_place(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                           struct ulp_tape_span span)
{
    const struct ulp_operand *operand = &worker->job->call->operands[step->operand];
    const struct ulp_tape_address *rows = &worker->addresses[step->operand];
    if (step->in_place)
        return find_along(worker, operand, span);
    if (worker->lanes == 1 || span.count > 1 || step->kept || rows->offsets || rows->stride != 1)
        return NULL;
    return ulp_operand_at(operand, rows->base + position_base(worker, operand, span.first));
}

void ulp_evaluate_element(struct ulp_tape_worker *worker, int index, struct ulp_tape_span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    char *out = step->native ? find_in_place(worker, step, span) : NULL;
    if (out) {
        worker->values[index] = out;
        return;
    }
    const size_t n = worker->lanes * span.count;
    out = ulp_evaluate_slot(worker, step->strip);
    if (step->kept)
        out += span.first * worker->lanes * plan->numbers.bytes;
    if (step->output >= 0)
        out = find_along(worker, &worker->job->call->outputs[step->output], span);
    worker->values[index] = out;
    if (step->kind == ULP_TAPE_OPERAND) {
        load_element(worker, step, out, span);
    } else if (step->chain) {
        ulp_evaluate_chain(worker, step, out, n);
    } else {
        const void *arguments[3] = {NULL, NULL, NULL};
        for (int k = 0; k < 3; k++)
            if (step->arguments[k] >= 0)
                arguments[k] = worker->values[step->arguments[k]];
        step->function(&plan->numbers.rule, out, arguments[0], arguments[1], arguments[2], n,
                       place_of(worker, index, span.first));
    }
}

void ulp_evaluate_begin_fold(const struct ulp_tape_worker *worker, int index)
{
    const struct ulp_tape_numbers *numbers = &worker->plan->numbers;
    const struct ulp_tape_step *step = &worker->plan->steps[index];
    ulp_fold_begin(ulp_evaluate_slot(worker, step->fold), &numbers->sum_rule, step->fold_kind,
                   numbers->order, worker->tile.row_count);
}

void ulp_evaluate_add_fold(const struct ulp_tape_worker *worker, int index,
                           struct ulp_tape_span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    const struct ulp_tape_step *step = &plan->steps[index];
    const void *values = worker->values[step->arguments[0]];
    if (!numbers->same_carrier) {
        const size_t n = worker->lanes * span.count;
        const struct ulp_tensor view = view_strip(&numbers->rule, values, n);
        void *converted = ulp_evaluate_slot(worker, plan->slots.converted);
        numbers->sum_table->load(&numbers->sum_rule, converted, &view, 0, NULL, 1, n);
        values = converted;
    }
    ulp_fold_add(ulp_evaluate_slot(worker, step->fold), values, span.count,
                 place_of(worker, index, span.first));
}

void ulp_evaluate_end_fold(const struct ulp_tape_worker *worker, int index)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    const struct ulp_tape_step *step = &plan->steps[index];
    const size_t n = worker->tile.row_count;
    void *sums = ulp_evaluate_slot(worker, plan->slots.sums);
    if (!plan->fold_windows)
        ulp_fold_end(ulp_evaluate_slot(worker, step->fold), sums);
    if (numbers->narrow)
        numbers->sum_table->primitive[ULP_PRIMITIVE_MUL](
            &numbers->narrow_rule, sums, sums, ulp_evaluate_slot(worker, plan->slots.unit), NULL, n,
            (struct ulp_strip_place){.stream = ~place_of(worker, index, 0).stream,
                                     .first = worker->tile.first_row});
    const struct ulp_tensor view = view_strip(&numbers->sum_rule, sums, n);
    numbers->table->load(&numbers->rule, ulp_evaluate_slot(worker, step->one), &view, 0, NULL, 1,
                         n);
}
