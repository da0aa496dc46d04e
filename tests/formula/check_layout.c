/* Layouts against naive index loops over random shapes, in plain C float arithmetic: a walk over
 * the whole multi-index, nothing collapsed. */
#include "formula_test.h"

static const char *const names[] = {"x", "y", "z", "s"};
#define OPERANDS 4

/* Element of a tensor that broadcasts from the right to a full shape, at that shape's index. */
static float at(const struct ulp_tensor *tensor, int rank, const int64_t *index)
{
    int64_t offset = 0;
    for (int i = 0; i < tensor->rank; i++) {
        const int64_t k = tensor->dims[i] == 1 ? 0 : index[rank - tensor->rank + i];
        offset = offset * tensor->dims[i] + k;
    }
    return ((float *)tensor->data)[offset];
}

/* Step a row-major multi-index; false after the last. */
static bool next_index(int64_t *index, int rank, const int64_t *dims)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < dims[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static struct ulp_tensor random_tensor(struct source *source, int rank, const int64_t *dims)
{
    const struct ulp_arithmetic fp32 = test_arithmetic("fp32");
    struct ulp_tensor tensor = make_tensor(&fp32, rank, dims, NULL);
    for (size_t i = 0; i < tensor.count; i++)
        ((float *)tensor.data)[i] = (float)draw_value(source, &fp32.storage, false);
    return tensor;
}

/* A shape that broadcasts to dims: some leading axes dropped, some axes 1. */
static struct ulp_tensor random_operand(struct source *source, int rank, const int64_t *dims)
{
    const int dropped = draw(source, 2) ? (int)draw(source, (size_t)rank + 1) : 0;
    int64_t own[ULP_RANK_MAX];
    for (int i = dropped; i < rank; i++)
        own[i - dropped] = draw(source, 3) ? dims[i] : 1;
    return random_tensor(source, rank - dropped, own);
}

static void random_shape(struct source *source, int *rank, int64_t *dims)
{
    static const int64_t limits[] = {2, 4, 9, 40, 700};
    int64_t count = 1;
    *rank = (int)draw(source, draw(source, 8) ? 6 : ULP_RANK_MAX + 1);
    for (int i = 0; i < *rank; i++) {
        dims[i] = 1 + (int64_t)draw(source, (size_t)limits[draw(source, 5)]);
        if (count * dims[i] > 6000)
            dims[i] = 1 + (int64_t)draw(source, 2);
        if (count * dims[i] > 12000)
            dims[i] = 1;
        count *= dims[i];
    }
}

static const char *text_of(int rank, const int64_t *dims)
{
    static char text[400];
    size_t used = 0;
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", i ? "," : "",
                                 (long long)dims[i]);
    text[used] = 0;
    return text;
}

struct problem {
    struct ulp_rows rows;
    struct ulp_tensor tensors[OPERANDS], out, reduced;
    struct ulp_operand operands[OPERANDS], outputs[2];
    struct ulp_arena *arena;
    struct ulp_layout layout;
};

static void open_problem(struct problem *problem, struct source *source, int rank,
                         const int64_t *dims)
{
    *problem = (struct problem){.rows = {0}};
    ck_ok(ulp_arena_create(&problem->arena, NULL, &why));
    for (int i = 0; i < OPERANDS; i++) {
        problem->tensors[i] = i == 0 ? random_tensor(source, rank, dims)
                                     : random_operand(source, i == 3 ? 0 : rank, dims);
        problem->operands[i] =
            (struct ulp_operand){.tensor = &problem->tensors[i], .row_stride = 77};
    }
    problem->layout = (struct ulp_layout){.rows = &problem->rows,
                                          .operands = problem->operands,
                                          .operand_count = OPERANDS,
                                          .outputs = problem->outputs,
                                          .arena = problem->arena};
}

static void run_problem(struct problem *problem, const char *formula, const char *arithmetic)
{
    const struct ulp_arithmetic found = test_arithmetic(arithmetic);
    scoped_tape *tape = make_tape(formula, names, OPERANDS, problem->layout.output_count);
    ck_ok(run_tape(tape, &found, &problem->rows, problem->operands, problem->outputs, &why));
}

static void close_problem(struct problem *problem)
{
    for (int i = 0; i < OPERANDS; i++)
        ulp_tensor_free(&problem->tensors[i]);
    ulp_tensor_free(&problem->out);
    ulp_tensor_free(&problem->reduced);
    ulp_arena_free(problem->arena);
}

TEST(test_elementwise)
{
    struct source source = {.key = 17};
    const int rounds = (int)test_count(1500, 20000);
    for (int round = 0; round < rounds; round++) {
        struct problem problem;
        int rank;
        int64_t dims[ULP_RANK_MAX], index[ULP_RANK_MAX] = {0};
        random_shape(&source, &rank, dims);
        open_problem(&problem, &source, rank, dims);
        problem.out = random_tensor(&source, rank, dims);
        problem.outputs[0].tensor = &problem.out;
        problem.layout.output_count = 1;
        ck_ok(ulp_layout_elementwise(&problem.layout, &why));
        ck_assert_uint_eq(problem.rows.row_count * problem.rows.row_length, problem.out.count);
        run_problem(&problem, "x * y + z / s", "fp32");
        size_t i = 0;
        do {
            const struct ulp_tensor *t = problem.tensors;
            const float expected = at(&t[0], rank, index) * at(&t[1], rank, index) +
                                   at(&t[2], rank, index) / at(&t[3], rank, index);
            ck_assert_msg(((float *)problem.out.data)[i] == expected, "round %d, [%s]: element %zu",
                          round, text_of(rank, dims), i);
            i++;
        } while (next_index(index, rank, dims));
        close_problem(&problem);
    }
}

/* Few long rows where the shapes allow: these figures are the layout's whole point. */
TEST(test_row_lengths)
{
    static const struct {
        int64_t x[4], y[4];
        size_t row_count, row_length;
    } cases[] = {
        {{1, 1, 1, 100000}, {1, 1, 1, 1}, 1, 100000},
        {{8, 64, 56, 56}, {8, 64, 56, 56}, 1, 8 * 64 * 56 * 56},
        {{8, 64, 56, 56}, {1, 64, 1, 1}, 8 * 64, 56 * 56},
        {{4, 8, 16, 768}, {1, 1, 1, 768}, 4 * 8 * 16, 768},
        {{1, 1, 100000, 3}, {1, 1, 1, 3}, 160, 1875}, /* 625 divides 100000 */
        {{1, 1, 99991, 3}, {1, 1, 1, 3}, 3, 99991},   /* a prime: rows along it */
        {{1, 1, 99991, 3}, {1, 1, 99991, 1}, 3, 99991},
        {{16, 8, 2, 2}, {1, 8, 1, 2}, 1, 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct source source = {.key = 3};
        scoped_tensor x = random_tensor(&source, 4, cases[i].x),
                      y = random_tensor(&source, 4, cases[i].y);
        struct ulp_rows rows;
        struct ulp_operand operands[] = {{.tensor = &x}, {.tensor = &y}}, output = {.tensor = &x};
        scoped_arena *arena = NULL;
        ck_ok(ulp_arena_create(&arena, NULL, &why));
        const struct ulp_layout layout = {&rows, operands, &output, 2, 1, arena};
        ck_ok(ulp_layout_elementwise(&layout, &why));
        ck_assert_uint_eq(rows.row_count, cases[i].row_count);
        ck_assert_uint_eq(rows.row_length, cases[i].row_length);
    }
}

/* Sum, maximum and a normalised value along random axes. The sequential sum in index order is one
 * loop. */
TEST(test_reduce)
{
    struct source source = {.key = 23};
    const int rounds = (int)test_count(1500, 20000);
    for (int round = 0; round < rounds; round++) {
        struct problem problem;
        int rank;
        bool reduced[ULP_RANK_MAX];
        int64_t dims[ULP_RANK_MAX], kept[ULP_RANK_MAX], index[ULP_RANK_MAX] = {0};
        random_shape(&source, &rank, dims);
        for (int i = 0; i < rank; i++) {
            reduced[i] = draw(&source, 2);
            kept[i] = reduced[i] ? 1 : dims[i];
        }
        open_problem(&problem, &source, rank, dims);
        problem.out = random_tensor(&source, rank, dims);
        problem.reduced = random_tensor(&source, rank, kept);
        problem.outputs[0].tensor = &problem.out;
        problem.outputs[1].tensor = &problem.reduced;
        problem.layout.output_count = 2;
        ck_ok(ulp_layout_reduce(&problem.layout, rank, dims, reduced, &why));
        ck_assert_uint_eq(problem.rows.row_count, problem.reduced.count);
        run_problem(&problem, "second = row_sum(x * y); (x - second) * z + s", "fp32");
        float *sums = calloc(problem.reduced.count, sizeof *sums);
        bool *begun = calloc(problem.reduced.count, sizeof *begun);
        for (int pass = 0; pass < 2; pass++) {
            size_t i = 0;
            do {
                const struct ulp_tensor *t = problem.tensors;
                size_t row = 0;
                for (int k = 0; k < rank; k++)
                    row = row * (size_t)kept[k] + (size_t)(reduced[k] ? 0 : index[k]);
                const float x = at(&t[0], rank, index), product = x * at(&t[1], rank, index);
                if (!pass) {
                    sums[row] = begun[row] ? sums[row] + product : product;
                    begun[row] = true;
                } else {
                    ck_assert_msg(((float *)problem.reduced.data)[row] == sums[row],
                                  "round %d, [%s]: row %zu", round, text_of(rank, dims), row);
                    ck_assert_msg(((float *)problem.out.data)[i] ==
                                      (x - sums[row]) * at(&t[2], rank, index) +
                                          at(&t[3], rank, index),
                                  "round %d, [%s]: element %zu", round, text_of(rank, dims), i);
                }
                i++;
            } while (next_index(index, rank, dims));
        }
        free(sums);
        free(begun);
        close_problem(&problem);
    }
}

/* The usual normalisations spelled as operators will: a LayerNorm's parameters along the row, a
 * GroupNorm's per channel through a view. */
TEST(test_group_norm)
{
    enum { N = 3, C = 6, GROUPS = 2, HW = 35 };
    struct source source = {.key = 29};
    scoped_tensor x = random_tensor(&source, 3, (int64_t[]){N, C, HW}),
                  out = random_tensor(&source, 3, x.dims);
    scoped_tensor scale = random_tensor(&source, 1, (int64_t[]){C});
    scoped_arena *arena = NULL;
    struct ulp_rows rows;
    const int64_t dims[] = {N, GROUPS, C / GROUPS, HW};
    const bool reduced[] = {false, false, true, true};
    ck_ok(ulp_arena_create(&arena, NULL, &why));
    const struct ulp_tensor *view = ulp_layout_view(arena, &x, 4, dims);
    const struct ulp_tensor *channels =
        ulp_layout_view(arena, &scale, 4, (int64_t[]){1, GROUPS, C / GROUPS, 1});
    ck_assert_ptr_null(ulp_layout_view(arena, &scale, 2, (int64_t[]){2, 2}));
    struct ulp_operand operands[] = {{.tensor = view}, {.tensor = channels}},
                       output = {.tensor = &out};
    ck_ok(ulp_layout_reduce(&(struct ulp_layout){&rows, operands, &output, 2, 1, arena}, 4, dims,
                            reduced, &why));
    scoped_tape *tape = make_tape("(x - row_mean(x)) * y", names, 2, 1);
    const struct ulp_arithmetic fp32 = test_arithmetic("fp32");
    ck_ok(run_tape(tape, &fp32, &rows, operands, &output, &why));
    const float *in = x.data;
    for (int g = 0; g < N * GROUPS; g++) {
        const int first = g * (C / GROUPS) * HW, count = (C / GROUPS) * HW;
        float sum = in[first];
        for (int i = 1; i < count; i++)
            sum += in[first + i];
        for (int i = 0; i < count; i++)
            ck_assert(((float *)out.data)[first + i] ==
                      (in[first + i] - sum / (float)count) *
                          ((float *)scale.data)[(first + i) / HW % C]);
    }
}

/* Windows of random shapes in one to three dimensions: the maximum, the mean over what exists, and
 * the mean over what exists or is padding, by loops over every kernel element with its
 * coordinates. */
static void check_window(struct source *source, int round)
{
    struct ulp_window_shape shape = {.spatial_rank = 1 + (int)draw(source, 3),
                                     .outer_count = (int64_t)draw(source, 5)};
    const int rank = shape.spatial_rank;
    int64_t in_dims[4] = {shape.outer_count}, out_dims[4] = {shape.outer_count}, ends[3];
    for (int d = 0; d < rank; d++) {
        shape.in[d] = 1 + (int64_t)draw(source, rank == 1 ? 600 : rank == 2 ? 20 : 7);
        shape.kernel[d] = 1 + (int64_t)draw(source, rank == 1 && draw(source, 6) == 0 ? 700 : 4);
        shape.strides[d] = 1 + (int64_t)draw(source, 3);
        shape.dilations[d] = 1 + (int64_t)draw(source, 3);
        shape.pads[d] = (int64_t)draw(source, 4);
        ends[d] = (int64_t)draw(source, 4);
        const int64_t span =
            shape.in[d] + shape.pads[d] + ends[d] - (shape.kernel[d] - 1) * shape.dilations[d] - 1;
        shape.out[d] = span < 0 ? 0 : span / shape.strides[d] + 1 + (int64_t)draw(source, 2);
        in_dims[d + 1] = shape.in[d];
        out_dims[d + 1] = shape.out[d];
    }
    scoped_tensor x = random_tensor(source, rank + 1, in_dims),
                  out = random_tensor(source, rank + 1, out_dims);
    scoped_tensor most = random_tensor(source, rank + 1, out_dims);
    scoped_tensor padded = random_tensor(source, rank + 1, out_dims);
    struct ulp_tensor counts, biases = random_tensor(source, rank + 1, out_dims);
    scoped_arena *arena = NULL;
    struct ulp_rows rows;
    ck_ok(ulp_arena_create(&arena, NULL, &why));
    ck_ok(ulp_layout_window_counts(&counts, &shape, ends, arena, &why));
    struct ulp_operand operands[] = {{.tensor = &x},
                                     {.tensor = &counts},
                                     {.tensor = &biases},
                                     {.constant = "2"}};
    struct ulp_operand outputs[] = {{.tensor = &out}, {.tensor = &most}, {.tensor = &padded}};
    ck_ok(ulp_layout_window(&(struct ulp_layout){&rows, operands, outputs, 4, 3, arena}, &shape,
                            &why));
    scoped_tape *tape = make_tape(
        "sum = row_sum(x * s); second = row_max(x); third = sum / y; sum / row_size() + z", names,
        4, 3);
    const struct ulp_arithmetic fp32 = test_arithmetic("fp32");
    ck_ok(run_tape(tape, &fp32, &rows, operands, outputs, &why));
    int64_t o[4] = {0};
    for (size_t row = 0; row < out.count; row++) {
        float sum = 0, largest = -INFINITY;
        int existing = 0, inside = 0;
        int64_t k[3] = {0};
        do {
            int64_t offset = o[0];
            bool exists = true, in_padding = true;
            for (int d = 0; d < rank; d++) {
                const int64_t i =
                    o[d + 1] * shape.strides[d] - shape.pads[d] + k[d] * shape.dilations[d];
                exists = exists && i >= 0 && i < shape.in[d];
                in_padding = in_padding && i < shape.in[d] + ends[d];
                offset = offset * shape.in[d] + i;
            }
            inside += in_padding;
            if (!exists)
                continue;
            const float value = ((float *)x.data)[offset];
            sum = existing++ ? sum + value * 2 : value * 2;
            largest = fmaxf(largest, value);
        } while (next_index(k, rank, shape.kernel));
        const float mean = sum / (float)existing + ((float *)biases.data)[row],
                    other = sum / (float)inside;
        const float got = ((float *)out.data)[row], third = ((float *)padded.data)[row];
        ck_assert_msg(got == mean || (mean != mean && got != got),
                      "round %d, row %zu: %a, expected %a", round, row, (double)got, (double)mean);
        ck_assert_msg(((float *)most.data)[row] == largest, "round %d, row %zu", round, row);
        ck_assert_msg(third == other || (third != third && other != other),
                      "round %d, row %zu: %a, expected %a", round, row, (double)third,
                      (double)other);
        next_index(o, rank + 1, out_dims);
    }
    ulp_tensor_free(&biases);
}

TEST(test_window)
{
    struct source source = {.key = 31};
    for (int round = 0; round < (int)test_count(1000, 20000); round++)
        check_window(&source, round);
}

TEST(test_refusals)
{
    struct source source = {.key = 37};
    struct ulp_error error = {.status = ULP_OK};
    scoped_tensor x = random_tensor(&source, 2, (int64_t[]){4, 6});
    scoped_tensor y = random_tensor(&source, 2, (int64_t[]){4, 5});
    scoped_arena *arena = NULL;
    struct ulp_rows rows;
    ck_ok(ulp_arena_create(&arena, NULL, &why));
    struct ulp_operand operands[] = {{.tensor = &x}, {.tensor = &y}}, output = {.tensor = &x};
    const struct ulp_layout layout = {&rows, operands, &output, 2, 1, arena};
    ck_assert_int_eq(ulp_layout_elementwise(&layout, &error), ULP_ERROR_INPUT);
    ck_assert_str_eq(error.message,
                     "operand 1, FLOAT[4,5], does not broadcast to the shape computed");
    operands[1].tensor = &x;
    output.tensor = &y;
    ck_assert_int_eq(ulp_layout_reduce(&layout, 2, x.dims, (bool[]){true, false}, &error),
                     ULP_ERROR_INPUT);
    ck_assert_str_eq(error.message, "output 0 has 20 elements, expected 24 or 6");
    struct ulp_window_shape shape = {.spatial_rank = 1,
                                     .outer_count = 4,
                                     .in = {6},
                                     .out = {5},
                                     .kernel = {2},
                                     .strides = {1},
                                     .dilations = {0}};
    ck_assert_int_eq(ulp_layout_window(&layout, &shape, &error), ULP_ERROR_INPUT);
    shape.dilations[0] = 1;
    shape.strides[0] = INT64_MAX;
    ck_assert_int_eq(ulp_layout_window(&layout, &shape, &error), ULP_ERROR_INPUT);
    shape.strides[0] = 1;
    shape.kernel[0] = 0;
    ck_assert_int_eq(ulp_layout_window(&layout, &shape, &error), ULP_ERROR_INPUT);
    shape.kernel[0] = 2;
    shape.out[0] = INT64_MAX / 2;
    ck_assert_int_eq(ulp_layout_window(&layout, &shape, &error), ULP_ERROR_INPUT);
    shape.out[0] = 6;
    operands[1].tensor = &y;
    output.tensor = &x;
    ck_assert_int_eq(ulp_layout_window(&layout, &shape, &error), ULP_ERROR_INPUT);
    ck_assert_str_eq(error.message, "pooling operand 1 has 20 elements, expected 24");
}
