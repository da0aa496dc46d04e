/* Rows of number/format/steps.def. */
#include "ops/steps.h"

#include <string.h>

#include "ops/call.h"
#include "ops/product/recurrent_cell.h"
#include "ops/spatial/window.h"

enum ulp_steps_rule {
    STRICT,      /* every step, also of sums, is rounded to storage, as in NAME-strict */
    SUMMED,      /* the same, but rows are added as elsewhere (find_blocks), their sums stored */
    SUMMED_FP16, /* the same where that is FP16; else as elsewhere */
    SUMMED_BF16,
    MATRIX,  /* as SUMMED where the axes that go are the first or the last; else as elsewhere */
    HALVED,  /* the same; products are added on the matrix unit, into storage */
    THREADS, /* the same, rows by 64 threads, then by halves of these */
    VECTORS, /* the same, by 64 threads with four sums each */
    POOLED, /* the same, by 128 threads where there are no more rows, and these as long; else one */
    NHWC,   /* the same, a Conv in the order of channels-last data */
    DOTS,   /* the same, where transB is 1 products added by fours, and these to the sum */
    FUSED,  /* the epilogue is added to the sum before its rounding */
    SLICED, /* products are added in slices of k, whose sums are stored */
    PANELS, /* products are added in blocks of k as MLAS cuts it, and these one after the other */
    CELLS,  /* the same of constant weights, which are packed */
    IMAGES, /* the same of a Conv, of images in blocks of channels */
    ELSEWHERE,      /* in another provider's kernel, in FP32 between two Casts */
    ELSEWHERE_FP32, /* the same in a graph of FP32; else as elsewhere */
    APART,        /* every step and row is FP32, sums of products aside, where a kernel's are not */
    ADDED,        /* rows are added in storage, by halves; other steps are as elsewhere */
    IN_FOURS,     /* rows are added in four partial sums, of images in blocks of channels in turn */
    IN_SIXTEENS,  /* rows are added in sixteen partial sums, the formula may be another */
    ONE_BY_ONE,   /* in increasing index */
    IN_ORDER,     /* the same, by functions of one rounding */
    WRITTEN,      /* the formula alone is another */
    IN_LONG_ROWS, /* the same of long rows, others are as elsewhere by it */
    IN_BATCHES,   /* the same of several images, one alone is as elsewhere */
    IN_CORNERS,   /* as ops/image/resize.c has it */
    BY_SHAPE,     /* as ops/microsoft/bits.c has it */
    STORED,       /* what is stored inside: ops/attention/scores.h */
    INSIDE,
    MASKED, /* the same, of attention with a mask */
    SIZED   /* the same, whose errors have the size of the runtime's */
};

static const struct row {
    enum ulp_steps runtime;
    enum ulp_behind behind;
    const char *name, *when;
    enum ulp_steps_rule rule;
    const char *formula;
} rows[] = {
#define STEPS(runtime, name, rule, ...) FORMULA(runtime, name, NULL, rule, NULL, )
#define FORMULA(runtime, name, when, rule, formula, ...) \
    {ULP_STEPS_##runtime, ULP_BEHIND_NONE, name, when, rule, formula},
#define BEHIND(runtime, what, name, when, formula, ...) \
    {ULP_STEPS_##runtime, ULP_BEHIND_##what, name, when, SIZED, formula},
#include "number/format/steps.def"
};

/* The same rows' formulas, whose values are held in BF16. */
static const char *const coarse[] = {
#define SPLITTER "65537"
#define STEPS(...) NULL,
#define FORMULA(runtime, name, when, rule, formula, ...) formula,
#define BEHIND(runtime, what, name, when, formula, ...) formula,
#include "number/format/steps.def"
};

/* An integer form between QuantizeLinear and DequantizeLinear has its operator's name, not its
 * operands: no row is its. */
static const struct row *find_row(enum ulp_steps runtime, enum ulp_behind behind,
                                  const struct ulp_operator *op)
{
    const bool alike = runtime == ULP_STEPS_ALIKE || op->integer_sums;
    for (size_t i = 0; !alike && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].runtime == runtime && rows[i].behind == behind &&
            strcmp(rows[i].name, op->name) == 0 &&
            (!rows[i].when || strcmp(rows[i].when, op->when ? op->when : "") == 0))
            return &rows[i];
    return NULL;
}

/* FP32's and TF32's lanes of the CUDA provider are told by its search. */
bool ulp_steps_elsewhere(const struct ulp_arithmetic *arithmetic, const struct ulp_call *call)
{
    const bool single = arithmetic->conv == ULP_CONV_SEARCHED;
    const struct row *row =
        find_row(single ? ULP_STEPS_ORT_CUDA : arithmetic->steps, ULP_BEHIND_NONE, call->bound->op);
    return row && (row->rule == ELSEWHERE || (single && row->rule == ELSEWHERE_FP32) ||
                   (row->rule == HALVED && !ulp_cell_is_cudnns(call)));
}

/* What is stored stays what it is. */
static void compute_elsewhere(struct ulp_arithmetic *out)
{
    ulp_format_find("fp32", &out->compute, NULL);
    out->factor = out->accumulator = out->rows = out->sum = out->compute;
    out->place = ULP_ROUND_RESULT;
    out->cuda_functions = false;
    out->order = out->reduce = ULP_ORDER_SEQUENTIAL;
    out->schedule = (struct ulp_schedule){.fused = true};
}

void ulp_steps_make_strict(struct ulp_arithmetic *out)
{
    out->factor = out->accumulator = out->compute = out->rows = out->sum = out->storage;
    out->place = ULP_ROUND_EACH_STEP;
    out->order = out->reduce = ULP_ORDER_SEQUENTIAL;
    out->cuda_functions = false;
    out->schedule = (struct ulp_schedule){.qdq_integer = out->schedule.qdq_integer,
                                          .requant = out->schedule.requant};
}

/* Which axes a reduction takes away; false: none are listed, or none are known. */
static bool find_reduced(const struct ulp_call *call, bool goes[ULP_RANK_MAX])
{
    const struct ulp_tensor *x = ulp_call_in(call, 0), *axes = ulp_call_input(call, "axes");
    const struct ulp_attribute_value *listed = ulp_call_attribute(call, "axes");
    const size_t count = !axes ? listed->count : axes->data ? axes->count : 0;
    for (int d = 0; d < x->rank; d++)
        goes[d] = count == 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t axis = axes ? ulp_tensor_get_int(axes, i) : listed->ints[i];
        if (axis >= -x->rank && axis < x->rank) /* others are refused by the call itself */
            goes[axis < 0 ? axis + x->rank : axis] = true;
    }
    return count > 0;
}

/* Are they its first or its last, but for those of 1 element? */
static bool is_matrix(const struct ulp_call *call)
{
    const struct ulp_tensor *x = ulp_call_in(call, 0);
    bool goes[ULP_RANK_MAX];
    int changes = 0, last = -1;
    find_reduced(call, goes);
    for (int d = 0; d < x->rank; d++)
        if (x->dims[d] != 1) {
            changes += last >= 0 && last != goes[d];
            last = goes[d];
        }
    return changes <= 1;
}

/* Sums over the first axes of FP16 or BF16 (core/providers/cuda/reduction/reduction_functions.cu,
 * reduce_matrix_rows): a block of threads adds its rows in FP32, in turns of so many, stores the
 * sum, and adds it to the result where that is. In which order is left to the GPU: the blocks'. */
static void find_blocks(const struct ulp_call *call, struct ulp_arithmetic *out)
{
    enum { THREADS_MAX = 512, BLOCKS_MAX = 512, WARP = 32, LOADS = 4 };
    bool goes[ULP_RANK_MAX];
    const struct ulp_tensor *x = ulp_call_in(call, 0);
    int64_t length = 1, columns = 1, across = 1, down = 1;
    if (!find_reduced(call, goes))
        return; /* all at once, in another kernel */
    for (int d = 0; d < x->rank; d++) {
        if (goes[d] && columns > 1)
            return; /* the last axes */
        *(goes[d] ? &length : &columns) *= x->dims[d];
    }
    while (across < columns && across < WARP)
        across *= 2;
    while (down < length / LOADS && down < THREADS_MAX / across)
        down *= 2;
    int64_t blocks = columns / across < 1 ? 1 : columns / across;
    blocks = blocks > BLOCKS_MAX ? 1 : BLOCKS_MAX / blocks;
    blocks = length / down / LOADS < blocks ? length / down / LOADS : blocks;
    if (blocks <= 1)
        return;
    out->reduce = ULP_ORDER_WARP;
    out->reduce_block = (int)(blocks * down);
    out->reduce_group = (int)down;
}

/* MLAS (core/mlas/lib/sgemm.cpp) goes through 128 k of a product on one thread, through more where
 * there are few columns. */
static int find_panel(int64_t columns, int64_t k)
{
    enum { K = 128, COLUMNS = 128, COLUMNS_LEAST = 16 };
    int block = K;
    for (int n = COLUMNS; columns < k && n > COLUMNS_LEAST && n / 2 >= columns; n /= 2)
        block *= 2;
    return block;
}

enum { PACKED = 256 };

/* Through 256 of a matrix of weights, which it has packed. A row alone by another is added four
 * products at a time, which are rounded. */
static void find_matrix_panel(const struct ulp_call *call, struct ulp_arithmetic *out)
{
    enum { ROW = 4 };
    const struct ulp_tensor *a = ulp_call_in(call, 0), *b = ulp_call_in(call, 1);
    const int turned = strcmp(call->bound->op->name, "MatMul") != 0 && ulp_call_int(call, "transB");
    const bool packed = b->rank < 2 || (b->rank == 2 && call->constants >> 1 & 1);
    out->order = ULP_ORDER_BLOCKED;
    out->order_block =
        packed ? PACKED : find_panel(b->dims[b->rank - 1 - turned], b->dims[b->rank - 2 + turned]);
    if (!packed && !turned && a->rank > 1 && a->dims[a->rank - 2] == 1) {
        out->order_block = ROW;
        out->schedule.fused = false;
    }
}

/* Images with constant weights are laid out in blocks of channels (core/mlas/lib/snchwc.cpp, 16
 * with AVX-512), and each block's sum is added to those before; so is each channel's of fewer. */
static void find_conv_panel(const struct ulp_call *call, struct ulp_arithmetic *out)
{
    enum { CHANNELS = 16, POINTWISE = 128 };
    const struct ulp_tensor *w = ulp_call_in(call, 1);
    struct ulp_windows windows;
    const int64_t groups = ulp_call_int(call, "group");
    /* where the windows do not fit the call fails, too */
    if (groups < 1 || ulp_windows_read(call, ulp_call_in(call, 0), w, &windows) != ULP_OK)
        return;
    const int64_t channels = w->dims[1], positions = ulp_product(windows.kernel, windows.rank);
    out->order = ULP_ORDER_BLOCKED;
    const bool whole =
        groups == 1 || (channels % CHANNELS == 0 && w->dims[0] / groups % CHANNELS == 0);
    if (w->rank != 4 || !(call->constants >> 1 & 1) || !whole) {
        out->order_block = find_panel(ulp_product(windows.out, windows.rank), channels * positions);
    } else if (channels < CHANNELS) {
        out->order_block = (int)positions;
    } else if (positions == 1) {
        out->order_block = POINTWISE;
    } else {
        out->order_block = (int)(CHANNELS * positions);
        out->conv = ULP_CONV_NCHWC;
    }
}

/* Is it an image whose channels fill blocks? */
static bool is_blocked(const struct ulp_call *call)
{
    enum { CHANNELS = 16 };
    const struct ulp_tensor *x = ulp_call_in(call, 0);
    return x->rank == 4 && x->dims[1] % CHANNELS == 0;
}

static void apply(enum ulp_steps_rule rule, const struct ulp_call *call, struct ulp_arithmetic *out)
{
    static const int threads[] = {[THREADS] = 64, [VECTORS] = 256, [POOLED] = -128};
    if (rule == FUSED)
        out->schedule.epilogue_rounded = false;
    if (rule == IN_FOURS)
        out->reduce_block = is_blocked(call) ? ULP_ROW_IN_TURN : ULP_ROW_FOURS;
    if (rule == ONE_BY_ONE)
        out->reduce_block = ULP_ROW_IN_TURN;
    if (rule == IN_SIXTEENS)
        out->reduce_block = ULP_ROW_SIXTEENS;
    if ((rule == MATRIX && !is_matrix(call)) ||
        (rule == SUMMED_FP16 && out->storage.precision != 11) ||
        (rule == SUMMED_BF16 && out->storage.precision != 8) ||
        (rule == IN_BATCHES && ulp_call_in(call, 0)->dims[0] == 1)) {
        out->steps = ULP_STEPS_ALIKE;
        return;
    }
    if (rule == IN_ORDER)
        out->steps = ULP_STEPS_ALIKE;
    if (rule == SLICED)
        out->schedule.split_k = ULP_SPLIT_RKNN;
    if (rule == APART) {
        ulp_format_find("fp32", &out->compute, NULL);
        out->rows = out->compute;
    }
    if (rule == ADDED) {
        out->rows = out->storage;
        out->reduce = ULP_ORDER_PAIRWISE;
    }
    const struct ulp_arithmetic own = *out;
    if (rule <= DOTS)
        ulp_steps_make_strict(out);
    if (rule == HALVED)
        out->schedule = own.schedule;
    if (rule >= SUMMED && rule <= MATRIX) {
        out->rows = own.rows;
        out->reduce = own.reduce;
    }
    if (rule == SUMMED || rule == MATRIX)
        find_blocks(call, out);
    if (rule == NHWC)
        out->conv = ULP_CONV_NHWC;
    if (rule == DOTS && ulp_call_int(call, "transB") == 1) {
        out->order = ULP_ORDER_BLOCKED;
        out->order_block = 4;
    } else if (rule == PANELS) {
        find_matrix_panel(call, out);
    } else if (rule == CELLS) {
        out->order = ULP_ORDER_BLOCKED;
        out->order_block = PACKED;
    } else if (rule == IMAGES) {
        find_conv_panel(call, out);
    } else if (rule <= POOLED && threads[rule]) {
        out->reduce = ULP_ORDER_WARP;
        out->reduce_block = threads[rule];
    }
}

const struct ulp_arithmetic *ulp_steps_arithmetic(const struct ulp_arithmetic *arithmetic,
                                                  const struct ulp_call *call,
                                                  struct ulp_arithmetic *room)
{
    const struct row *row = find_row(arithmetic->steps, ULP_BEHIND_NONE, call->bound->op);
    *room = *arithmetic;
    if (ulp_steps_elsewhere(arithmetic, call))
        compute_elsewhere(room);
    else if (row)
        apply(row->rule, call, room);
    else
        return arithmetic;
    return room;
}

const char *ulp_steps_formula(const struct ulp_operator *op, enum ulp_variant variant)
{
    static const struct {
        enum ulp_steps runtime;
        enum ulp_behind behind;
    } asked[ULP_VARIANT_COUNT] = {
        [ULP_VARIANT_ORT_CUDA_BF16] = {ULP_STEPS_ORT_CUDA, ULP_BEHIND_NONE},
        [ULP_VARIANT_ORT_CUDA] = {ULP_STEPS_ORT_CUDA, ULP_BEHIND_NONE},
        [ULP_VARIANT_WEBGPU] = {ULP_STEPS_WEBGPU, ULP_BEHIND_NONE},
        [ULP_VARIANT_ORT_CPU] = {ULP_STEPS_ORT_CPU, ULP_BEHIND_NONE},
        [ULP_VARIANT_HTP_FEW] = {ULP_STEPS_HTP, ULP_BEHIND_FEW},
        [ULP_VARIANT_HTP_ODD] = {ULP_STEPS_HTP, ULP_BEHIND_ODD},
        [ULP_VARIANT_HTP_MANY] = {ULP_STEPS_HTP, ULP_BEHIND_MANY},
        [ULP_VARIANT_HTP] = {ULP_STEPS_HTP, ULP_BEHIND_NONE},
    };
    const struct row *row = find_row(asked[variant].runtime, asked[variant].behind, op);
    if (!row || !row->formula || variant != ULP_VARIANT_ORT_CUDA_BF16)
        return row ? row->formula : NULL;
    return strcmp(coarse[row - rows], row->formula) ? coarse[row - rows] : NULL;
}
