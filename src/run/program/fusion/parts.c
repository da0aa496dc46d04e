/* Parts of the steps of a block, and which of their results stay in memory. */
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "number/round/round.h"
#include "run/idiom/idiom_read.h"
#include "run/program/fusion/fusion.h"

/* A value that several read is kept rather than computed again when it reads more tensors or takes
 * more operations than these; one that reads more than READS_MAX is kept in any case. Inductor's
 * realize_reads_threshold, realize_opcount_threshold and realize_acc_reads_threshold. */
enum { READS_REUSED = 4, OPERATIONS_REUSED = 30, READS_MAX = 8 };
enum { JOINED_MAX = 8 }; /* inputs of a Concat: its MAX_COMPLEX_POINTWISE_CAT */
/* Its num_splits, on a GPU with 132 multiprocessors: rows that are long, few, and too few for the
 * device. */
enum { ROW_LONG = 8192, ROWS_FEW = 2 * 132, DEVICE_FULL = 32 * 132 * 2048 };
enum { ROW_UNROLLED = 8 }; /* its unroll_reductions_threshold: such rows are elementwise work */

/* What computing an inlined step again costs. */
struct price {
    int reads[READS_MAX + 1]; /* tensors in memory, by slot; other numbers are elements of a pool */
    int read_count, operations;
};

struct pricing {
    struct ulp_kernels *kernels;
    struct price *prices; /* by step */
};

static size_t count_elements(const struct ulp_block *block, int slot)
{
    return slot >= 0 && block->slots[slot].shape.type != ULP_TYPE_UNDEFINED
               ? block->slots[slot].shape.count
               : 0;
}

/* Elements of a row that the step reduces, as far as they are known from its shapes. */
static size_t count_row(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_tape *tape = step->bound.tape;
    const size_t read = count_elements(block, step->inputs[0]),
                 made = count_elements(block, step->outputs[0]);
    if (made && tape->outputs[0] >= 0 && tape->instructions[tape->outputs[0]].per_row)
        return read / made;
    const struct ulp_tensor *shape = &block->slots[step->outputs[0]].shape;
    for (size_t a = 0; a < step->bound.attribute_count; a++)
        if (strcmp(step->bound.attribute_slots[a].name, "axis") == 0) {
            const int64_t given = step->bound.attributes[a].i,
                          axis = given < 0 ? given + shape->rank : given;
            return axis >= 0 && axis < shape->rank ? (size_t)shape->dims[axis] : SIZE_MAX;
        }
    return SIZE_MAX;
}

/* Few long rows are shared by more threads than a block has, and so are rows that do not lie along
 * the innermost axis: in two kernels, of which the first reads memory. */
static bool is_split(const struct ulp_block *block, const struct ulp_step *step, size_t total,
                     size_t rows)
{
    const struct ulp_tensor *in = &block->slots[step->inputs[0]].shape,
                            *out = &block->slots[step->outputs[0]].shape;
    const bool inner = in->rank && in->dims[in->rank - 1] > 1 &&
                       (out->rank == 0 || out->dims[out->rank - 1] != in->dims[in->rank - 1]);
    return inner ? rows < ROWS_FEW && total / rows > ROW_LONG : total < DEVICE_FULL;
}

/* Does it read its rows more than once? */
static bool reads_again(const struct ulp_step *step)
{
    const struct ulp_tape *tape = step->bound.tape;
    return tape && ulp_tape_reduces(tape) && tape->outputs[0] >= 0 &&
           !tape->instructions[tape->outputs[0]].per_row;
}

/* Does the caller say that a library does all of a contraction's group, its bias included? */
static bool is_all_library(const struct ulp_kernels *kernels, const struct ulp_step *step)
{
    return kernels->grouping && ulp_grouping_count(kernels->grouping, step->number) == 1;
}

/* Is it a product by a constant matrix? */
static bool is_weighted(const struct ulp_block *block, const struct ulp_step *step)
{
    return (ulp_step_is(step, "MatMul") || ulp_step_is(step, "Gemm")) && step->inputs[0] >= 0 &&
           ulp_slot_known(block, step->inputs[1]);
}

/* Those of one value are one product for TensorRT's compiler, which stores its sums. */
static enum ulp_status count_products(struct ulp_kernels *kernels, struct ulp_error *error)
{
    const struct ulp_block *block = kernels->block;
    if (!ulp_kernels_compiled(kernels))
        return ULP_OK;
    ULP_TAKE(kernels->products, kernels->memory, block->slot_count + 1, error);
    for (size_t s = 0; s < block->step_count; s++)
        if (!block->steps[s].folded && is_weighted(block, &block->steps[s]))
            kernels->products[block->steps[s].inputs[0]]++;
    return ULP_OK;
}

static enum ulp_kernel_part find_contraction(const struct ulp_kernels *kernels,
                                             const struct ulp_step *step)
{
    const struct ulp_operator *op = step->bound.op;
    const struct ulp_arithmetic *arithmetic = ulp_mix_arithmetic(kernels->mix, step->number);
    const bool biased = op->epilogue && step->own_input_count > 2 && step->inputs[2] >= 0;
    if (op->formulas || op->integer_sums) /* attention, recurrent cells; integers */
        return ULP_PART_LIBRARY;
    if (kernels->products && is_weighted(kernels->block, step) &&
        kernels->products[step->inputs[0]] > 1)
        return ULP_PART_LIBRARY;
    return !arithmetic->schedule.epilogue_rounded || is_all_library(kernels, step)
               ? ULP_PART_CONTRACTION
           : biased ? ULP_PART_MEMORY
                    : ULP_PART_LIBRARY;
}

bool ulp_kernels_cross(const struct ulp_kernels *kernels, size_t one, size_t other)
{
    const struct ulp_fused_arithmetic *items = kernels->mix->fusion->items;
    const struct ulp_format *a = &items[one].inner.storage, *b = &items[other].inner.storage;
    return one != other && kernels->mix->items->inner_casts && a->carrier == b->carrier &&
           ulp_format_holds(a, b) && ulp_format_holds(b, a);
}

/* A node that the lane computes otherwise: a kernel of its own, unless Casts are a kernel's steps
 * like others and values inside are the same; a library's work is anyway. */
static bool is_apart(const struct ulp_kernels *kernels, const struct ulp_step *step)
{
    const size_t item = ulp_mix_index(kernels->mix, step->number);
    return item != 0 && kernels->mix->items[item].fuse != ULP_FUSE_OPENVINO &&
           (step->bound.op->work == ULP_WORK_CONTRACTION || !ulp_kernels_cross(kernels, item, 0));
}

/* Who reads whom. A step inside a body that captures a value counts as its owner. */
static enum ulp_status list_readers(struct ulp_kernels *kernels, struct ulp_error *error)
{
    const struct ulp_block *block = kernels->block;
    const struct ulp_reading *all;
    size_t count = 0;
    ULP_TAKE(kernels->first_reader, kernels->memory, block->step_count + 1, error);
    ULP_TAKE(kernels->readers, kernels->memory, block->readers.first[block->readers.slot_count] + 1,
             error);
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        for (size_t o = 0; o < step->output_count && !step->folded; o++) {
            const size_t readings = ulp_block_readings(block, step->outputs[o], &all);
            for (size_t r = 0; r < readings && all[r].step >= 0; r++)
                if (!block->steps[all[r].step].folded)
                    kernels->readers[count++] = all[r].step;
        }
        kernels->first_reader[s + 1] = count;
    }
    return ULP_OK;
}

bool ulp_kernel_biases(const struct ulp_kernels *kernels, const struct ulp_step *step)
{
    const struct ulp_block *block = kernels->block;
    const bool norm = step->norm != NULL,
               turned = !norm && step->inputs[0] >= 0 && block->slots[step->inputs[0]].constant;
    if (!norm && (strcmp(step->bound.op->name, "Add") != 0 || step->inputs[!turned] < 0 ||
                  !block->slots[step->inputs[!turned]].constant))
        return false;
    const struct ulp_step *from = ulp_block_producer(block, step->inputs[turned]);
    const size_t p = from ? (size_t)(from - block->steps) : 0;
    return from && !from->folded && kernels->first_reader[p + 1] - kernels->first_reader[p] == 1 &&
           (kernels->steps[p].part == ULP_PART_CONTRACTION ||
            (kernels->taken && ulp_step_multiplier(block, from) >= 0) ||
            (kernels->steps[p].part == ULP_PART_ELEMENTWISE &&
             kernels->mix->items->fuse == ULP_FUSE_BIAS));
}

static enum ulp_kernel_part find_part(const struct ulp_kernels *kernels,
                                      const struct ulp_step *step)
{
    const struct ulp_operator *op = step->bound.op;
    if (step->folded || step->constant || step->bound.blocks || step->output_count == 0 ||
        count_elements(kernels->block, step->outputs[0]) == 0 ||
        (!kernels->grouping && is_apart(kernels, step)) ||
        ulp_step_integer(kernels->mix, kernels->block, step))
        return ULP_PART_LIBRARY;
    if (op->work == ULP_WORK_MOVE && kernels->taken)
        return kernels->taken[step - kernels->block->steps] < 0 ? ULP_PART_LIBRARY : ULP_PART_VIEW;
    if (op->work == ULP_WORK_MOVE)
        return op->route == ULP_ROUTE_OTHER                                     ? ULP_PART_LIBRARY
               : op->route == ULP_ROUTE_JOINED || op->route == ULP_ROUTE_COPIED ? ULP_PART_COPY
                                                                                : ULP_PART_VIEW;
    if (op->work == ULP_WORK_CONTRACTION)
        return find_contraction(kernels, step);
    if (!op->formula ||
        (kernels->mix->items->fuse == ULP_FUSE_BIAS && !ulp_kernel_biases(kernels, step)))
        return ULP_PART_LIBRARY;
    if (!ulp_tape_reduces(step->bound.tape))
        return ULP_PART_ELEMENTWISE;
    if (ulp_kernels_plain(kernels))
        return ULP_PART_LIBRARY;
    if (ulp_bound_attribute(&step->bound, "kernel_shape"))
        return ulp_kernels_compiled(kernels) ? ULP_PART_LIBRARY : ULP_PART_MEMORY;
    if (!kernels->grouping && !ulp_kernels_compiled(kernels) &&
        count_row(kernels->block, step) < ROW_UNROLLED)
        return ULP_PART_COPY;
    return kernels->mix->items->fuse == ULP_FUSE_POINTWISE ? ULP_PART_LIBRARY : ULP_PART_REDUCTION;
}

static void describe_step(const struct ulp_kernels *kernels, int s)
{
    const struct ulp_step *step = &kernels->block->steps[s];
    struct ulp_kernel_step *out = &kernels->steps[s];
    const size_t made = count_elements(kernels->block, step->output_count ? step->outputs[0] : -1);
    *out = (struct ulp_kernel_step){.part = find_part(kernels, step),
                                    .indexed = step->bound.op->route == ULP_ROUTE_INDEXED &&
                                               !kernels->taken,
                                    .total = made,
                                    .kernel = s,
                                    .end = s,
                                    .next = -1,
                                    .tail = s};
    if (out->part == ULP_PART_VIEW) /* the views before it are described */
        out->source = ulp_kernel_source(kernels, s, 0, &out->indexed);
    out->contracts = out->part == ULP_PART_CONTRACTION;
    out->adds_bias = out->contracts && is_all_library(kernels, step) &&
                     kernels->mix->items->fuse != ULP_FUSE_ORT;
    out->reduces = out->part == ULP_PART_REDUCTION;
    const struct ulp_tape *tape = step->bound.tape;
    if (out->reduces && tape->outputs[0] >= 0 && tape->instructions[tape->outputs[0]].per_row) {
        out->rows = made;
        out->total = count_elements(kernels->block, step->inputs[0]);
        out->split = !kernels->grouping && !ulp_kernels_compiled(kernels) &&
                     is_split(kernels->block, step, out->total, out->rows);
    }
    if (out->split) {
        out->reduces = false;
        out->total = made;
    }
}

bool ulp_kernel_leaves(const struct ulp_kernels *kernels, int step)
{
    const struct ulp_step *from = &kernels->block->steps[step];
    for (size_t o = 0; o < from->output_count; o++)
        if (from->outputs[o] >= 0 && kernels->block->slots[from->outputs[o]].last_use == INT_MAX)
            return true;
    return false;
}

int ulp_kernel_source(const struct ulp_kernels *kernels, int step, size_t i, bool *indexed)
{
    const struct ulp_block *block = kernels->block;
    const int slot = block->steps[step].inputs[i];
    const struct ulp_step *from = ulp_block_producer(block, slot);
    if (slot >= 0 && block->slots[slot].constant)
        return ULP_SOURCE_CONSTANT;
    if (!from || from->folded)
        return ULP_SOURCE_OUTSIDE;
    const int s = (int)(from - block->steps);
    if (kernels->steps[s].part != ULP_PART_VIEW)
        return s;
    *indexed |= kernels->steps[s].indexed;
    return kernels->steps[s].source;
}

bool ulp_part_reads_memory(enum ulp_kernel_part part)
{
    return part == ULP_PART_LIBRARY || part == ULP_PART_CONTRACTION || part == ULP_PART_MEMORY;
}

static bool is_inlinable(enum ulp_kernel_part part)
{
    return part == ULP_PART_ELEMENTWISE || part == ULP_PART_MEMORY || part == ULP_PART_COPY;
}

/* Is a Concat computed in its readers' kernels, or in one of its own with what it reads? Else each
 * input is stored at its place. As Inductor's cat: few inputs, and either all are elementwise work
 * that nobody has stored, or one is and the readers are such work, too. */
static bool joins_elementwise(const struct ulp_kernels *kernels, int s)
{
    const struct ulp_step *step = &kernels->block->steps[s];
    size_t inlined = 0;
    for (size_t i = 0; i < step->own_input_count; i++) {
        bool indexed = false;
        const int from = ulp_kernel_source(kernels, s, i, &indexed);
        inlined += from >= 0 && is_inlinable(kernels->steps[from].part);
    }
    return step->own_input_count <= JOINED_MAX &&
           (inlined == step->own_input_count ||
            (inlined && !kernels->steps[s].read_from_memory && kernels->steps[s].reader_count));
}

/* A product of matrices and the Add of a bias behind it are one call of a library, unless what
 * reads the sum is elementwise work alone: Inductor's addmm. */
static void add_product(struct ulp_kernels *kernels, int s)
{
    const struct ulp_block *block = kernels->block;
    const struct ulp_step *step = &block->steps[s];
    if (kernels->steps[s].part != ULP_PART_ELEMENTWISE || kernels->steps[s].read_elementwise ||
        !kernels->mix->items->schedule.epilogue_rounded || strcmp(step->bound.op->name, "Add") != 0)
        return;
    for (size_t i = 0; i < 2; i++) {
        const int bias = step->inputs[1 - i];
        const struct ulp_step *product = ulp_block_producer(block, step->inputs[i]);
        const size_t p = product ? (size_t)(product - block->steps) : 0;
        if (!product || product->folded || product->bound.op->work != ULP_WORK_CONTRACTION ||
            product->bound.op->epilogue || product->bound.op->formulas || bias < 0 ||
            product->bound.op->integer_sums || !block->slots[bias].constant ||
            block->slots[step->inputs[i]].shape.rank != 2 ||
            kernels->first_reader[p + 1] - kernels->first_reader[p] != 1)
            continue;
        kernels->steps[p].part = ULP_PART_CONTRACTION;
        kernels->steps[p].contracts = true;
        kernels->steps[s].read_from_memory = true; /* the library stores the sum */
        kernels->steps[s].adds_bias = true;
    }
}

/* Are a Gemm's factors padded before a library multiplies them? Compilers do so where k is no
 * multiple of 16 bytes; the bias is then added behind the library. */
static bool is_padded(const struct ulp_kernels *kernels, const struct ulp_step *step)
{
    const struct ulp_arithmetic *arithmetic = ulp_mix_arithmetic(kernels->mix, step->number);
    const struct ulp_tensor *a = &kernels->block->slots[step->inputs[0]].shape;
    const struct ulp_attribute_value *turned = ulp_bound_attribute(&step->bound, "transA");
    const int64_t k = a->rank == 2 ? a->dims[turned && turned->i ? 0 : 1] : 0;
    return k > 0 && k * arithmetic->storage.storage_bits % 128 != 0;
}

/* Of a step whose readers' parts are final. */
static void count_readers(struct ulp_kernels *kernels, int s)
{
    struct ulp_kernel_step *step = &kernels->steps[s];
    step->read_from_memory = ulp_kernel_leaves(kernels, s);
    step->read_elementwise = !step->read_from_memory;
    for (size_t r = kernels->first_reader[s]; r < kernels->first_reader[s + 1]; r++) {
        const struct ulp_kernel_step *reader = &kernels->steps[kernels->readers[r]];
        const bool view = reader->part == ULP_PART_VIEW;
        const size_t item = ulp_kernel_item(kernels, kernels->readers[r]);
        /* a Cast between them is elementwise work, whose result is what a library reads */
        const bool cast = ulp_kernels_cross(kernels, ulp_kernel_item(kernels, s), item);
        if (cast && item < 64 && ulp_part_reads_memory(reader->part))
            step->casts_stored |= UINT64_C(1) << item;
        step->read_from_memory |=
            !cast && (view ? reader->read_from_memory : ulp_part_reads_memory(reader->part));
        step->read_elementwise &=
            cast || (view ? reader->read_elementwise : reader->part == ULP_PART_ELEMENTWISE);
        step->reader_count += view ? reader->reader_count : 1;
        /* a row that is read twice, and a value that is spread over more elements */
        step->reader_count += !ulp_kernels_compiled(kernels) &&
                              (reads_again(&kernels->block->steps[kernels->readers[r]]) ||
                               reader->total > step->total);
    }
    if (kernels->block->steps[s].bound.op->route == ULP_ROUTE_JOINED &&
        step->part == ULP_PART_COPY && !joins_elementwise(kernels, s))
        step->part = ULP_PART_LIBRARY;
    if (step->part == ULP_PART_MEMORY && !step->read_elementwise &&
        ulp_bound_attribute(&kernels->block->steps[s].bound, "beta") &&
        !is_padded(kernels, &kernels->block->steps[s])) {
        step->part = ULP_PART_LIBRARY;
        step->adds_bias = true;
    }
    add_product(kernels, s);
}

static void add_read(struct price *price, int read)
{
    for (int i = 0; i < price->read_count; i++)
        if (price->reads[i] == read)
            return;
    if (price->read_count <= READS_MAX)
        price->reads[price->read_count++] = read;
}

static int count_operations(const struct ulp_tape *tape)
{
    int count = 0;
    for (int i = 0; tape && i < tape->instruction_count; i++)
        count += tape->instructions[i].kind == ULP_TAPE_PRIMITIVE;
    return count;
}

static int64_t find_window(const struct ulp_attribute_value *shape)
{
    int64_t elements = 1;
    for (size_t i = 0; i < shape->count && elements <= READS_MAX; i++)
        elements *= shape->ints[i] > READS_MAX ? READS_MAX + 1 : shape->ints[i];
    return elements;
}

/* Tensors that a part behind a library's work reads: the sum and its bias; of a pool the elements
 * of a window. */
static void price_memory(const struct pricing *pricing, int s)
{
    const struct ulp_block *block = pricing->kernels->block;
    const struct ulp_step *step = &block->steps[s];
    struct price *price = &pricing->prices[s];
    add_read(price, step->outputs[0]);
    if (step->bound.op->work == ULP_WORK_CONTRACTION) {
        add_read(price, step->inputs[2]);
        return;
    }
    for (size_t a = 0; a < step->bound.attribute_count; a++)
        if (strcmp(step->bound.attribute_slots[a].name, "kernel_shape") == 0)
            for (int n = 1; n < find_window(&step->bound.attributes[a]); n++)
                add_read(price, -n);
}

static void find_price(const struct pricing *pricing, int s)
{
    const struct ulp_kernels *kernels = pricing->kernels;
    const struct ulp_block *block = kernels->block;
    const struct ulp_step *step = &block->steps[s];
    struct price *price = &pricing->prices[s];
    price->operations = count_operations(step->bound.tape);
    if (pricing->kernels->steps[s].part == ULP_PART_MEMORY) {
        price_memory(pricing, s);
        return;
    }
    for (size_t i = 0; i < step->own_input_count; i++) {
        bool indexed = false;
        const int slot = step->inputs[i];
        const int from = slot < 0 ? -1 : ulp_kernel_source(kernels, s, i, &indexed);
        if (from >= 0 && !kernels->steps[from].kept) {
            const struct price *inner = &pricing->prices[from];
            for (int r = 0; r < inner->read_count; r++)
                add_read(price, inner->reads[r]);
            price->operations += inner->operations;
        } else if (slot >= 0) {
            add_read(price, slot);
        }
    }
}

bool ulp_kernel_activates(const struct ulp_kernels *kernels, int s)
{
    static const char *const names[] = {"Relu", "Clip", "Sigmoid", "Tanh"};
    const struct ulp_block *block = kernels->block;
    const struct ulp_step *step = &block->steps[s];
    bool activation = false, indexed = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        activation |= ulp_step_is(step, names[i]);
    if (!ulp_kernels_compiled(kernels) || (!activation && !ulp_step_is(step, "Add")))
        return false;
    for (size_t i = 0; i < (activation ? 1 : 2); i++) {
        const int p = ulp_kernel_source(kernels, s, i, &indexed);
        const bool conv = p >= 0 && ulp_step_is(&block->steps[p], "Conv");
        if (conv && (activation || !ulp_slot_known(block, step->inputs[1 - i])))
            return true;
        if (activation && p >= 0 && ulp_step_is(&block->steps[p], "Add") &&
            ulp_kernel_activates(kernels, p))
            return true;
    }
    return false;
}

static void decide_kept(const struct pricing *pricing, int s)
{
    struct ulp_kernel_step *step = &pricing->kernels->steps[s];
    if (step->part == ULP_PART_VIEW)
        return;
    step->kept = !is_inlinable(step->part) || ulp_kernel_activates(pricing->kernels, s) ||
                 ulp_kernels_plain(pricing->kernels);
    if (step->kept)
        return;
    if (ulp_kernels_compiled(pricing->kernels)) { /* it computes nothing twice */
        step->kept = step->read_from_memory || step->reader_count > 1;
        return;
    }
    find_price(pricing, s);
    const struct price *price = &pricing->prices[s];
    step->kept = step->read_from_memory || price->read_count > READS_MAX ||
                 (step->reader_count > 1 &&
                  (price->read_count > READS_REUSED || price->operations > OPERATIONS_REUSED));
}

enum ulp_status ulp_kernels_describe(struct ulp_kernels *kernels, struct ulp_error *error)
{
    const size_t steps = kernels->block->step_count;
    ULP_TAKE(kernels->steps, kernels->memory, steps + 1, error);
    for (size_t s = 0; s < steps; s++)
        describe_step(kernels, (int)s);
    return ULP_OK;
}

enum ulp_status ulp_kernels_part(struct ulp_kernels *kernels, struct ulp_error *error)
{
    const size_t steps = kernels->block->step_count;
    const struct pricing pricing = {kernels, ulp_arena_take(kernels->memory, steps + 1,
                                                            sizeof *pricing.prices)};
    ULP_TRY(list_readers(kernels, error));
    ULP_TRY(count_products(kernels, error));
    ULP_TRY(pricing.prices ? ulp_kernels_describe(kernels, error) : ulp_out_of_memory(error));
    for (size_t s = steps; s-- > 0;)
        count_readers(kernels, (int)s);
    for (size_t s = 0; s < steps; s++)
        decide_kept(&pricing, (int)s);
    return ULP_OK;
}
