/* Tiles: many rows at a time. A strip holds a few positions of up to ULP_STRIP rows, the rows of a
 * position side by side; a fold is then a primitive on that many partial results, the first
 * position's values combined with each next one's in order, which is what a sequential fold does in
 * every row. Rows whose windows have unlike positions are separated into classes. Where rows are
 * short enough, values that a later phase needs are kept instead of computed again. */
#include "formula/evaluate.h"

#include <string.h>

struct tile {
    struct ulp_tape_worker *worker;
    const struct ulp_tape_plan *plan;
    struct ulp_row_address *addresses; /* by instruction, then by output */
    /* rows first_row .. first_row + row_count - 1, or those of indices */
    size_t first_row, row_count;
    const size_t *indices; /* NULL: consecutive */
    size_t position_count;
    const int32_t *positions; /* NULL: all */
    size_t span_count;        /* positions in a strip */
};

/* Positions [first, first + count) of a tile: one strip. */
struct span {
    size_t first, count;
};

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

static struct ulp_row_address address_rows(const struct tile *tile,
                                           const struct ulp_operand *operand, int64_t *gathered)
{
    const int64_t *offsets = operand->row_offset ? operand->row_offset + tile->first_row : NULL;
    if (tile->indices) {
        for (size_t i = 0; i < tile->row_count; i++)
            gathered[i] = ulp_row_base(operand, tile->indices[i]);
        offsets = gathered;
    }
    if (!offsets)
        return (struct ulp_row_address){.base = (int64_t)tile->first_row * operand->row_stride,
                                        .stride = operand->row_stride};
    if (is_progression(offsets, tile->row_count))
        return (struct ulp_row_address){.base = offsets[0],
                                        .stride =
                                            tile->row_count > 1 ? offsets[1] - offsets[0] : 0};
    return (struct ulp_row_address){.offsets = offsets};
}

static void address_tile(struct tile *tile)
{
    const struct ulp_tape_plan *plan = tile->plan;
    int64_t *gathered = ulp_slot_of(tile->worker, plan->gathered_slot);
    tile->addresses = ulp_slot_of(tile->worker, plan->addresses_slot);
    for (int i = 0; i < plan->step_count + plan->output_count; i++) {
        const struct ulp_operand *operand = i < plan->step_count
                                                ? plan->steps[i].operand
                                                : plan->outputs[i - plan->step_count].operand;
        if (operand && operand->tensor)
            tile->addresses[i] =
                address_rows(tile, operand, gathered + (size_t)i * plan->tile_rows);
    }
}

static int64_t position_base(const struct tile *tile, const struct ulp_operand *operand,
                             size_t number)
{
    const size_t position = tile->positions ? (size_t)tile->positions[number] : number;
    return operand->position_offset ? operand->position_offset[position]
                                    : (int64_t)position * operand->position_stride;
}

/* Offsets of all elements of a span from the address's base. */
static const int64_t *find_offsets(const struct tile *tile, const struct ulp_operand *operand,
                                   const struct ulp_row_address *address, struct span span)
{
    int64_t *offsets = ulp_slot_of(tile->worker, tile->plan->offsets_slot), *out = offsets;
    for (size_t t = 0; t < span.count; t++, out += tile->row_count) {
        const int64_t base = position_base(tile, operand, span.first + t);
        for (size_t r = 0; r < tile->row_count; r++)
            out[r] = base + (address->offsets ? address->offsets[r] : (int64_t)r * address->stride);
    }
    return offsets;
}

/* Elements between a tensor and a strip where both are the same bytes. */
#define MOVE(TYPE)                                                               \
    static void move_in_##TYPE(TYPE *restrict strip, const TYPE *restrict from,  \
                               const struct ulp_row_address *address, size_t n)  \
    {                                                                            \
        if (address->offsets)                                                    \
            for (size_t r = 0; r < n; r++)                                       \
                strip[r] = from[address->offsets[r]];                            \
        else if (address->stride == 1)                                           \
            memcpy(strip, from, n * sizeof *strip);                              \
        else                                                                     \
            for (size_t r = 0; r < n; r++)                                       \
                strip[r] = from[(int64_t)r * address->stride];                   \
    }                                                                            \
    static void move_out_##TYPE(const TYPE *restrict strip, TYPE *restrict to,   \
                                const struct ulp_row_address *address, size_t n) \
    {                                                                            \
        if (address->offsets)                                                    \
            for (size_t r = 0; r < n; r++)                                       \
                to[address->offsets[r]] = strip[r];                              \
        else                                                                     \
            for (size_t r = 0; r < n; r++)                                       \
                to[(int64_t)r * address->stride] = strip[r];                     \
    }
MOVE(uint32_t)
MOVE(uint64_t)

static void load_span(const struct tile *tile, int index, void *out, struct span span)
{
    const struct ulp_tape_plan *plan = tile->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_operand *operand = step->operand;
    const struct ulp_row_address *address = &tile->addresses[index];
    const size_t n = tile->row_count;
    if (!step->native || plan->element_bytes > sizeof(uint64_t)) {
        const bool strided = span.count == 1 && !address->offsets;
        const int64_t *offsets = strided ? NULL : find_offsets(tile, operand, address, span);
        plan->table->load(&plan->rule, out, operand->tensor,
                          address->base + (strided ? position_base(tile, operand, span.first) : 0),
                          offsets, address->stride, n * span.count);
        return;
    }
    for (size_t t = 0; t < span.count; t++) {
        const int64_t base = address->base + position_base(tile, operand, span.first + t);
        if (plan->element_bytes == sizeof(uint32_t))
            move_in_uint32_t((uint32_t *)out + t * n,
                             (const uint32_t *)operand->tensor->data + base, address, n);
        else
            move_in_uint64_t((uint64_t *)out + t * n,
                             (const uint64_t *)operand->tensor->data + base, address, n);
    }
}

static void store_span(const struct tile *tile, int number, const void *values, struct span span)
{
    const struct ulp_tape_plan *plan = tile->plan;
    const struct ulp_tape_output *output = &plan->outputs[number];
    const struct ulp_operand *operand = output->operand;
    const struct ulp_row_address *address = &tile->addresses[plan->step_count + number];
    const size_t n = tile->row_count;
    struct ulp_tensor tensor = output->tensor;
    if (!output->native || output->storage || plan->element_bytes > sizeof(uint64_t)) {
        const bool strided = span.count == 1 && !address->offsets;
        const int64_t *offsets = strided ? NULL : find_offsets(tile, operand, address, span);
        plan->table->store(&plan->rule, output->storage, &tensor,
                           address->base + (strided ? position_base(tile, operand, span.first) : 0),
                           offsets, address->stride, values, n * span.count,
                           (struct ulp_strip_place){.stream = output->stream});
        return;
    }
    for (size_t t = 0; t < span.count; t++) {
        const int64_t base = address->base + position_base(tile, operand, span.first + t);
        if (plan->element_bytes == sizeof(uint32_t))
            move_out_uint32_t((const uint32_t *)values + t * n, (uint32_t *)tensor.data + base,
                              address, n);
        else
            move_out_uint64_t((const uint64_t *)values + t * n, (uint64_t *)tensor.data + base,
                              address, n);
    }
}

static void run_element(const struct tile *tile, int index, struct span span)
{
    const struct ulp_tape_plan *plan = tile->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const void *arguments[3] = {NULL, NULL, NULL};
    char *out = ulp_slot_of(tile->worker, step->strip);
    if (step->kept)
        out += span.first * tile->row_count * plan->element_bytes;
    if (step->native && !step->kept && span.count == 1 && tile->addresses[index].stride == 1) {
        tile->worker->values[index] =
            ulp_tape_element(step->operand->tensor,
                             tile->addresses[index].base +
                                 position_base(tile, step->operand, span.first));
        return;
    }
    tile->worker->values[index] = out;
    if (step->kind == ULP_TAPE_OPERAND) {
        load_span(tile, index, out, span);
        return;
    }
    for (int k = 0; k < 3; k++)
        if (step->arguments[k] >= 0)
            arguments[k] = tile->worker->values[step->arguments[k]];
    if (step->kind == ULP_TAPE_SCAN)
        ulp_evaluate_scan(tile->worker, step, out, arguments[0], tile->row_count, span.first,
                          span.count, (struct ulp_strip_place){.stream = step->stream});
    else if (step->chain)
        ulp_evaluate_chain(tile->worker, step, out, tile->row_count * span.count);
    else
        step->function(&plan->rule, out, arguments[0], arguments[1], arguments[2],
                       tile->row_count * span.count,
                       (struct ulp_strip_place){.stream = step->stream});
}

/* One value a row is there: repeat it for every position of a strip when strips of elements use
 * it. */
static void spread_rows(const struct tile *tile, const struct ulp_tape_step *step)
{
    const size_t bytes = tile->row_count * tile->plan->element_bytes;
    const char *one = ulp_slot_of(tile->worker, step->one);
    char *strip = ulp_slot_of(tile->worker, step->strip);
    for (size_t t = 0; step->spread && t < tile->span_count; t++)
        memcpy(strip + t * bytes, one, bytes);
}

static void run_row_value(const struct tile *tile, int index)
{
    const struct ulp_tape_plan *plan = tile->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const void *arguments[3] = {NULL, NULL, NULL};
    const struct ulp_strip_place place = {.stream = step->stream};
    void *out = ulp_slot_of(tile->worker, step->one);
    if (step->kind == ULP_TAPE_OPERAND) {
        const struct ulp_row_address *address = &tile->addresses[index];
        plan->table->load(&plan->rule, out, step->operand->tensor, address->base, address->offsets,
                          address->stride, tile->row_count);
    } else if (step->kind == ULP_TAPE_ROW_SIZE) {
        tile->worker->length = tile->position_count;
        ulp_evaluate_row_size(tile->worker, out, tile->row_count, place);
    } else {
        for (int k = 0; k < 3; k++)
            if (step->arguments[k] >= 0)
                arguments[k] = ulp_slot_of(tile->worker, plan->steps[step->arguments[k]].one);
        step->function(&plan->rule, out, arguments[0], arguments[1], arguments[2], tile->row_count,
                       place);
    }
    spread_rows(tile, step);
}

/* A sequential fold has one part. */
static void add_fold(const struct tile *tile, const struct ulp_tape_step *step, struct span span)
{
    const struct ulp_tape_plan *plan = tile->plan;
    const size_t n = tile->row_count;
    ulp_strip_fn *function = plan->sum_table->primitive[ulp_fold_rows[step->fold_kind].combine];
    const struct ulp_strip_place place = {.stream = step->stream};
    void *sums = ulp_slot_of(tile->worker, step->fold);
    const char *values =
        ulp_evaluate_widen(tile->worker, tile->worker->values[step->arguments[0]], n * span.count);
    const size_t parts = (size_t)plan->order.parts, bytes = n * plan->sum_bytes;
    for (size_t t = 0; t < span.count; t++, values += bytes) {
        void *sum = (char *)sums + (span.first + t) % parts * bytes;
        if (span.first + t < parts)
            memcpy(sum, values, bytes);
        else
            function(&plan->sum_rule, sum, sum, values, NULL, n, place);
    }
}

/* The fold of all rows of a tile, windows of the same positions side by side at once. */
static void fold_windows(const struct tile *tile, const struct ulp_tape_step *step)
{
    const struct ulp_tape_plan *plan = tile->plan;
    const struct ulp_rows *rows = plan->rows;
    const struct ulp_operand *operand = plan->steps[step->arguments[0]].operand;
    int32_t *positions = rows->window ? ulp_slot_of(tile->worker, plan->positions_slot) : NULL;
    int64_t *offsets = ulp_slot_of(tile->worker, plan->offsets_slot);
    char *sums = ulp_slot_of(tile->worker, step->fold);
    const size_t last = tile->first_row + tile->row_count;
    for (size_t row = tile->first_row, n; row < last; row += n, sums += n * plan->sum_bytes) {
        const size_t run = rows->window_run(rows->window_context, row);
        const size_t count =
            positions ? rows->window(rows->window_context, row, positions) : rows->row_length;
        const int64_t *bases = operand->row_offset + row;
        n = run < last - row ? run : last - row;
        for (size_t t = 0; t < count; t++)
            offsets[t] = operand->position_offset[positions ? positions[t] : (int32_t)t];
        if (count)
            plan->fold_windows(step->fold_kind, sums, ulp_tape_element(operand->tensor, bases[0]),
                               offsets, count, n > 1 ? (size_t)(bases[1] - bases[0]) : 0, n);
        else
            plan->sum_table->constant(&plan->sum_rule, sums, ulp_fold_rows[step->fold_kind].empty,
                                      n);
    }
}

static void end_fold(const struct tile *tile, const struct ulp_tape_step *step)
{
    const struct ulp_tape_plan *plan = tile->plan;
    void *sums = ulp_slot_of(tile->worker, step->fold);
    if (tile->position_count == 0)
        plan->sum_table->constant(&plan->sum_rule, sums, ulp_fold_rows[step->fold_kind].empty,
                                  tile->row_count);
    else if (plan->order.parts > 1)
        ulp_fold_join(&plan->sum_rule, step->fold_kind, plan->order, sums, tile->row_count,
                      tile->position_count, (struct ulp_strip_place){.stream = step->stream});
    ulp_evaluate_narrow(tile->worker, ulp_slot_of(tile->worker, step->one), sums, tile->row_count,
                        (struct ulp_strip_place){.stream = step->stream});
    spread_rows(tile, step);
}

static void run_phase(const struct tile *tile, int phase)
{
    const struct ulp_tape_plan *plan = tile->plan;
    const struct ulp_tape_steps *row = &plan->row_part[phase], *folds = &plan->fold_part[phase];
    const struct ulp_tape_steps *elements = &plan->element_part[phase];
    const bool stores = phase == plan->phase_count - 1;
    for (int i = 0; i < row->count; i++)
        run_row_value(tile, row->items[i]);
    struct span span = {.first = 0};
    const bool windows = plan->fold_windows && phase == 0;
    for (int i = 0; i < folds->count && windows; i++)
        fold_windows(tile, &plan->steps[folds->items[i]]);
    for (; !windows && span.first < tile->position_count && (elements->count || stores);
         span.first += span.count) {
        const size_t rest = tile->position_count - span.first;
        span.count = rest < tile->span_count ? rest : tile->span_count;
        if (phase) /* what an earlier phase kept */
            for (int i = 0; i < plan->step_count; i++)
                if (plan->steps[i].kept)
                    tile->worker->values[i] =
                        (char *)ulp_slot_of(tile->worker, plan->steps[i].strip) +
                        span.first * tile->row_count * plan->element_bytes;
        for (int i = 0; i < elements->count; i++) {
            const struct ulp_tape_step *step = &plan->steps[elements->items[i]];
            if (step->kind == ULP_TAPE_FOLD)
                add_fold(tile, step, span);
            else
                run_element(tile, elements->items[i], span);
        }
        for (int i = 0; i < plan->output_count && stores; i++)
            if (plan->outputs[i].per_position)
                store_span(tile, i, tile->worker->values[plan->outputs[i].step], span);
    }
    for (int i = 0; i < folds->count; i++)
        end_fold(tile, &plan->steps[folds->items[i]]);
}

static void run_tile(struct tile *tile)
{
    const struct ulp_tape_plan *plan = tile->plan;
    tile->span_count = plan->width / tile->row_count;
    if (tile->span_count > tile->position_count)
        tile->span_count = tile->position_count;
    address_tile(tile);
    for (int phase = 0; phase < plan->phase_count; phase++)
        run_phase(tile, phase);
    for (int i = 0; i < plan->output_count; i++) {
        const struct ulp_tape_output *output = &plan->outputs[i];
        const struct ulp_row_address *address = &tile->addresses[plan->step_count + i];
        struct ulp_tensor tensor = output->tensor;
        if (!output->per_position)
            plan->table->store(&plan->rule, output->storage, &tensor, address->base,
                               address->offsets, address->stride,
                               ulp_slot_of(tile->worker, plan->steps[output->step].one),
                               tile->row_count, (struct ulp_strip_place){.stream = output->stream});
    }
}

/* Put each of `count` rows into the class of its window; returns the number of classes. members[i]
 * is the next row of row i's class. */
static int classify_rows(struct ulp_tape_worker *worker, size_t first, size_t count,
                         struct ulp_window_class *classes, int *members)
{
    const struct ulp_rows *rows = worker->plan->rows;
    uint64_t *ids = ulp_slot_of(worker, worker->plan->ids_slot);
    int class_count = 0, found = 0;
    rows->window_classes(rows->window_context, first, count, ids);
    for (size_t i = 0; i < count; i++) {
        if (class_count == 0 || classes[found].id != ids[i])
            for (found = class_count - 1; found >= 0 && classes[found].id != ids[i];)
                found--;
        members[i] = -1;
        if (found < 0) {
            found = class_count++;
            classes[found] =
                (struct ulp_window_class){.id = ids[i], .first_row = (int)i, .last_row = (int)i};
        } else {
            members[classes[found].last_row] = (int)i;
            classes[found].last_row = (int)i;
        }
    }
    return class_count;
}

static void run_classes(struct ulp_tape_worker *worker, size_t first, size_t count)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_rows *rows = plan->rows;
    struct ulp_window_class *classes = ulp_slot_of(worker, plan->classes_slot);
    int *members = ulp_slot_of(worker, plan->members_slot);
    size_t *indices = ulp_slot_of(worker, plan->indices_slot);
    int32_t *positions = ulp_slot_of(worker, plan->positions_slot);
    const int class_count = classify_rows(worker, first, count, classes, members);
    for (int k = 0; k < class_count; k++) {
        struct tile tile = {.worker = worker,
                            .plan = plan,
                            .first_row = first + (size_t)classes[k].first_row};
        for (int i = classes[k].first_row; i >= 0; i = members[i])
            indices[tile.row_count++] = first + (size_t)i;
        if (indices[tile.row_count - 1] - indices[0] + 1 != tile.row_count)
            tile.indices = indices;
        tile.position_count = rows->window(rows->window_context, indices[0], positions);
        tile.positions = tile.position_count < rows->row_length ? positions : NULL;
        run_tile(&tile);
    }
}

enum ulp_status ulp_evaluate_tiles(void *context, size_t first, size_t last, int number,
                                   struct ulp_error *error)
{
    const struct ulp_tape_plan *plan = context;
    struct ulp_tape_worker *worker;
    const enum ulp_status status = ulp_evaluate_worker(&worker, plan, number, error);
    if (status != ULP_OK)
        return status;
    for (size_t row = first; row < last; row += plan->tile_rows) {
        const size_t count = last - row < plan->tile_rows ? last - row : plan->tile_rows;
        struct tile tile = {.worker = worker,
                            .plan = plan,
                            .first_row = row,
                            .row_count = count,
                            .position_count = plan->rows->row_length};
        if (plan->rows->window && !plan->fold_windows)
            run_classes(worker, row, count);
        else
            run_tile(&tile);
    }
    return ULP_OK;
}
