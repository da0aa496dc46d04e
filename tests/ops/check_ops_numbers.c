/* Operators against naive loops on random shapes. Elements are small integers, so that sums are
 * exact in every arithmetic used and results are compared without tolerance. */
#include "number/mpfr_record.h"
#include "ops/call.h"
#include "tests/support/test.h"

#define ROUNDS 60
#define ATTRIBUTES 8

static const char *const lanes[] = {"fp32", "mpfr:64", "fp32,nofma"};

/* ---- a small harness: one node, run by hand ---- */

static uint64_t counter;

static int64_t pick(int64_t low, int64_t high)
{
    return low + (int64_t)(ulp_random_bits(7, counter++) % (uint64_t)(high - low + 1));
}

struct node {
    const char *op;
    int64_t opset;
    size_t attribute_count;
    struct ulp_attribute attributes[ATTRIBUTES];
    size_t input_count, output_count; /* 0 outputs: one */
    struct ulp_tensor inputs[4];
};

static void give_ints(struct node *node, const char *name, const int64_t *values, size_t count)
{
    node->attributes[node->attribute_count++] = (struct ulp_attribute){.name = name,
                                                                       .kind = ULP_ATTRIBUTE_INTS,
                                                                       .ints = values,
                                                                       .count = count};
}
static void give_int(struct node *node, const char *name, int64_t value)
{
    node->attributes[node->attribute_count++] =
        (struct ulp_attribute){.name = name, .kind = ULP_ATTRIBUTE_INT, .i = value};
}

/* A random input of integers from -9 to 9 in the lane's element. */
static struct ulp_tensor *give_input(struct node *node, const struct ulp_arithmetic *lane, int rank,
                                     const int64_t *dims)
{
    struct ulp_tensor *t = &node->inputs[node->input_count++];
    ck_ok(ulp_tensor_create(t, ULP_TYPE_FLOAT, ulp_storage_element(&lane->storage),
                            lane->storage.precision, rank, dims, &why));
    for (size_t i = 0; i < t->count; i++)
        ulp_tensor_set_int(t, i, pick(-9, 9));
    return t;
}

static enum ulp_status run_node(const struct node *node, const struct ulp_arithmetic *lane,
                                struct ulp_tensor *out, struct ulp_error *error)
{
    static const int numbers[] = {0, 1, 2, 3};
    const struct ulp_tensor *in[4];
    scoped_arena *arena = NULL;
    struct ulp_bound bound;
    const struct ulp_node graph_node = {
        .name = node->op,
        .op_type = node->op,
        .domain = "",
        .attribute_count = node->attribute_count,
        .attributes = node->attributes,
        .input_count = node->input_count,
        .inputs = numbers,
        .output_count = node->output_count ? node->output_count : 1,
        .outputs = numbers,
    };
    for (size_t i = 0; i < node->input_count; i++)
        in[i] = &node->inputs[i];
    memset(out, 0, graph_node.output_count * sizeof *out);
    ck_assert_int_eq(ulp_arena_create(&arena, NULL, error), ULP_OK);
    enum ulp_status status = ulp_bind(&bound, &graph_node, node->opset, arena, error);
    struct ulp_call call = {.bound = &bound,
                            .arithmetic = lane,
                            .input_count = node->input_count,
                            .output_count = graph_node.output_count,
                            .in = in,
                            .out = out,
                            .scratch = arena};
    if (status == ULP_OK)
        status = ulp_call_run(&call, error);
    ulp_unbind(&bound);
    return status;
}

static void free_node(struct node *node)
{
    for (size_t i = 0; i < node->input_count; i++)
        ulp_tensor_free(&node->inputs[i]);
}

static int64_t element(const struct ulp_tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < t->rank; d++)
        at = at * t->dims[d] + index[d];
    return (int64_t)ulp_tensor_get(t, (size_t)at);
}

static bool next_index(const struct ulp_tensor *t, int64_t *index)
{
    for (int d = t->rank - 1; d >= 0; d--) {
        if (++index[d] < t->dims[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static void find_lane(int number, struct ulp_arithmetic *out)
{
    *out = test_arithmetic(lanes[number]);
}

/* ---- convolution ---- */

struct geometry {
    int rank;
    int64_t kernel[3], strides[3], dilations[3], pads[6], size[3];
};

static struct geometry pick_geometry(void)
{
    struct geometry g = {.rank = (int)pick(1, 3)};
    for (int d = 0; d < g.rank; d++) {
        g.kernel[d] = pick(1, 3);
        g.strides[d] = pick(1, 3);
        g.dilations[d] = pick(1, 2);
        g.pads[d] = pick(0, 2);
        g.pads[g.rank + d] = pick(0, 2);
        g.size[d] = pick((g.kernel[d] - 1) * g.dilations[d] + 1, 7);
    }
    return g;
}

static void give_geometry(struct node *node, const struct geometry *g)
{
    give_ints(node, "strides", g->strides, (size_t)g->rank);
    give_ints(node, "dilations", g->dilations, (size_t)g->rank);
    give_ints(node, "pads", g->pads, 2 * (size_t)g->rank);
}

/* Walks the kernel positions of one window; at[] gets the input position; false for those
 * outside. */
static bool place_of(const struct geometry *g, const int64_t *o, const int64_t *k, int64_t *at)
{
    bool inside = true;
    for (int d = 0; d < g->rank; d++) {
        at[d] = o[d] * g->strides[d] - g->pads[d] + k[d] * g->dilations[d];
        inside = inside && at[d] >= 0 && at[d] < g->size[d];
    }
    return inside;
}

TEST_LOOP(conv_is_its_definition, 0, sizeof lanes / sizeof *lanes)
{
    struct ulp_arithmetic lane;
    find_lane(_i, &lane);
    for (int round = 0; round < ROUNDS; round++) {
        const struct geometry g = pick_geometry();
        const int64_t groups = pick(1, 3), in = pick(1, 2), out = pick(1, 3), batch = pick(1, 2);
        int64_t x_dims[5] = {batch, groups * in}, w_dims[5] = {groups * out, in};
        memcpy(x_dims + 2, g.size, sizeof g.size);
        memcpy(w_dims + 2, g.kernel, sizeof g.kernel);
        struct node node = {.op = "Conv", .opset = 11};
        struct ulp_tensor y;
        give_geometry(&node, &g);
        give_int(&node, "group", groups);
        const struct ulp_tensor *x = give_input(&node, &lane, 2 + g.rank, x_dims),
                                *w = give_input(&node, &lane, 2 + g.rank, w_dims);
        const struct ulp_tensor *b = round % 2 ? give_input(&node, &lane, 1, w_dims) : NULL;
        ck_ok(run_node(&node, &lane, &y, &why));
        int64_t o[5] = {0};
        size_t number = 0;
        do {
            int64_t sum = b ? (int64_t)ulp_tensor_get(b, (size_t)o[1]) : 0, wi[5] = {o[1]},
                    xi[5] = {o[0]};
            do { /* over the weights of this output channel */
                if (wi[0] != o[1])
                    break;
                xi[1] = o[1] / out * in + wi[1];
                if (place_of(&g, o + 2, wi + 2, xi + 2))
                    sum += element(x, xi) * element(w, wi);
            } while (next_index(w, wi));
            ck_assert_msg((int64_t)ulp_tensor_get(&y, number) == sum,
                          "round %d, element %zu: %g, expected %lld", round, number,
                          ulp_tensor_get(&y, number), (long long)sum);
            number++;
        } while (next_index(&y, o));
        ck_assert_uint_eq(number, y.count);
        ulp_tensor_free(&y);
        free_node(&node);
    }
}

/* The definition scatters: every input element adds its products to the outputs under the
 * kernel. */
TEST_LOOP(conv_transpose_is_its_definition, 0, sizeof lanes / sizeof *lanes)
{
    struct ulp_arithmetic lane;
    find_lane(_i, &lane);
    for (int round = 0; round < ROUNDS; round++) {
        struct geometry g = pick_geometry();
        const int64_t groups = pick(1, 2), in = pick(1, 2), out = pick(1, 3), batch = pick(1, 2);
        int64_t x_dims[5] = {batch, groups * in}, w_dims[5] = {groups * in, out}, extra[3];
        for (int d = 0; d < g.rank; d++) {
            extra[d] = pick(0, g.strides[d] - 1);
            while ((g.size[d] - 1) * g.strides[d] + extra[d] + (g.kernel[d] - 1) * g.dilations[d] +
                       1 <=
                   g.pads[d] + g.pads[g.rank + d])
                g.size[d]++;
            x_dims[2 + d] = g.size[d];
            w_dims[2 + d] = g.kernel[d];
        }
        struct node node = {.op = "ConvTranspose", .opset = 11};
        struct ulp_tensor y;
        give_geometry(&node, &g);
        give_ints(&node, "output_padding", extra, (size_t)g.rank);
        give_int(&node, "group", groups);
        const struct ulp_tensor *x = give_input(&node, &lane, 2 + g.rank, x_dims),
                                *w = give_input(&node, &lane, 2 + g.rank, w_dims);
        ck_ok(run_node(&node, &lane, &y, &why));
        int64_t *sums = calloc(y.count, sizeof *sums), xi[5] = {0};
        do {
            int64_t wi[5] = {xi[1]};
            do {
                if (wi[0] != xi[1])
                    break;
                int64_t at = xi[0] * y.dims[1] + xi[1] / in * out + wi[1];
                bool inside = true;
                for (int d = 0; d < g.rank; d++) {
                    int64_t o = xi[2 + d] * g.strides[d] - g.pads[d] + wi[2 + d] * g.dilations[d];
                    inside = inside && o >= 0 && o < y.dims[2 + d];
                    at = at * y.dims[2 + d] + o;
                }
                if (inside)
                    sums[at] += element(x, xi) * element(w, wi);
            } while (next_index(w, wi));
        } while (next_index(x, xi));
        for (size_t i = 0; i < y.count; i++)
            ck_assert_msg((int64_t)ulp_tensor_get(&y, i) == sums[i],
                          "round %d, element %zu: %g, expected %lld", round, i,
                          ulp_tensor_get(&y, i), (long long)sums[i]);
        free(sums);
        ulp_tensor_free(&y);
        free_node(&node);
    }
}

TEST_LOOP(max_pool_is_its_definition, 0, sizeof lanes / sizeof *lanes)
{
    struct ulp_arithmetic lane;
    find_lane(_i, &lane);
    for (int round = 0; round < ROUNDS; round++) {
        struct geometry g = pick_geometry();
        int64_t dims[5] = {pick(1, 2), pick(1, 3)};
        for (int d = 0; d < g.rank; d++)
            for (int end = 0; end < 2; end++)
                g.pads[end * g.rank + d] %= g.kernel[d]; /* no window lies in the padding alone */
        memcpy(dims + 2, g.size, sizeof g.size);
        struct node node = {.op = "MaxPool", .opset = 12};
        struct ulp_tensor y;
        give_geometry(&node, &g);
        give_ints(&node, "kernel_shape", g.kernel, (size_t)g.rank);
        const struct ulp_tensor *x = give_input(&node, &lane, 2 + g.rank, dims);
        ck_ok(run_node(&node, &lane, &y, &why));
        struct ulp_tensor kernel = {.rank = g.rank};
        memcpy(kernel.dims, g.kernel, sizeof g.kernel);
        int64_t o[5] = {0};
        size_t number = 0;
        do {
            int64_t best = INT64_MIN, k[3] = {0}, at[5] = {o[0], o[1]};
            do {
                if (place_of(&g, o + 2, k, at + 2) && element(x, at) > best)
                    best = element(x, at);
            } while (next_index(&kernel, k));
            double got = ulp_tensor_get(&y, number++);
            ck_assert_msg(best == INT64_MIN || got == (double)best, "round %d: %g, expected %lld",
                          round, got, (long long)best);
        } while (next_index(&y, o));
        ulp_tensor_free(&y);
        free_node(&node);
    }
}

/* ---- products of matrices ---- */

TEST_LOOP(matmul_broadcasts_batches, 0, sizeof lanes / sizeof *lanes)
{
    struct ulp_arithmetic lane;
    find_lane(_i, &lane);
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t m = pick(1, 4), n = pick(1, 4), k = pick(0, 5), outer = pick(1, 3),
                      inner = pick(1, 3);
        const int64_t a_dims[4] = {pick(0, 1) ? outer : 1, pick(0, 1) ? inner : 1, m, k};
        const int64_t b_dims[4] = {outer, pick(0, 1) ? inner : 1, k, n};
        const int a_skip = (int)pick(0, 2), b_skip = (int)pick(0, 2);
        struct node node = {.op = "MatMul", .opset = 13};
        struct ulp_tensor y;
        const struct ulp_tensor *a = give_input(&node, &lane, 4 - a_skip, a_dims + a_skip);
        const struct ulp_tensor *b = give_input(&node, &lane, 4 - b_skip, b_dims + b_skip);
        ck_ok(run_node(&node, &lane, &y, &why));
        int64_t o[4] = {0};
        size_t number = 0;
        do {
            int64_t sum = 0;
            for (int64_t i = 0; i < k; i++) {
                int64_t ai[4], bi[4];
                for (int d = 0; d < a->rank; d++) {
                    int64_t at = d + y.rank - a->rank >= 0 ? o[d + y.rank - a->rank] : 0;
                    ai[d] = d == a->rank - 1 ? i : a->dims[d] == 1 ? 0 : at;
                }
                for (int d = 0; d < b->rank; d++) {
                    int64_t at = o[d + y.rank - b->rank];
                    bi[d] = d == b->rank - 2 ? i : b->dims[d] == 1 ? 0 : at;
                }
                sum += element(a, ai) * element(b, bi);
            }
            ck_assert_msg((int64_t)ulp_tensor_get(&y, number) == sum,
                          "round %d, element %zu: %g, expected %lld", round, number,
                          ulp_tensor_get(&y, number), (long long)sum);
            number++;
        } while (next_index(&y, o));
        ulp_tensor_free(&y);
        free_node(&node);
    }
}

/* ---- TopK: position i comes before j when its value is better, NaN being the largest, or equal
 * and i < j ---- */

static void set_nan(struct ulp_tensor *t, size_t i)
{
    if (t->element == ULP_ELEMENT_F32)
        ((float *)t->data)[i] = NAN;
    else
        ulp_record_at(t->data, i, t->precision)->kind = MPFR_NAN_KIND;
}

static bool comes_before(const double *values, int64_t i, int64_t j, int64_t largest)
{
    const double a = isnan(values[i]) ? INFINITY : values[i],
                 b = isnan(values[j]) ? INFINITY : values[j];
    return a == b ? i < j : largest ? a > b : a < b;
}

TEST_LOOP(top_k_is_its_definition, 0, sizeof lanes / sizeof *lanes)
{
    struct ulp_arithmetic lane;
    find_lane(_i, &lane);
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t outer = pick(1, 3), size = pick(1, 90), inner = pick(1, 3),
                      k = round % 3 ? pick(0, size) : size;
        const int64_t largest = pick(0, 1), dims[] = {outer, size, inner}, one = 1;
        struct node node = {.op = "TopK", .opset = 11, .output_count = 2};
        struct ulp_tensor out[2];
        struct ulp_tensor *x = give_input(&node, &lane, 3, dims),
                          *count = &node.inputs[node.input_count++];
        ck_ok(ulp_tensor_create(count, ULP_TYPE_INT64, ULP_ELEMENT_COUNT, 0, 1, &one, &why));
        ulp_tensor_set_int(count, 0, k);
        for (int64_t i = pick(0, 3); i-- > 0;)
            set_nan(x, (size_t)pick(0, (int64_t)x->count - 1));
        give_int(&node, "axis", 1);
        give_int(&node, "largest", largest);
        ck_ok(run_node(&node, &lane, out, &why));
        for (int64_t l = 0; l < outer * inner; l++) {
            double values[90];
            for (int64_t i = 0; i < size; i++)
                values[i] = ulp_tensor_get(x, (size_t)((l / inner * size + i) * inner + l % inner));
            for (int64_t i = 0; i < size; i++) {
                int64_t place = 0;
                for (int64_t j = 0; j < size; j++)
                    place += comes_before(values, j, i, largest);
                if (place >= k)
                    continue;
                const size_t at = (size_t)((l / inner * k + place) * inner + l % inner);
                const double got = ulp_tensor_get(&out[0], at);
                ck_assert_msg(ulp_tensor_get_int(&out[1], at) == i &&
                                  (got == values[i] || (isnan(got) && isnan(values[i]))),
                              "round %d, line %lld, place %lld: %g of %lld, expected %g of %lld",
                              round, (long long)l, (long long)place, got,
                              (long long)ulp_tensor_get_int(&out[1], at), values[i], (long long)i);
            }
        }
        ulp_tensor_free(&out[0]);
        ulp_tensor_free(&out[1]);
        free_node(&node);
    }
}

/* ---- refusals: each is one clear message that names the node ---- */

TEST(wrong_nodes_are_refused)
{
    struct ulp_arithmetic lane;
    find_lane(0, &lane);
    static const int64_t wide[] = {1, 3, 4, 4}, narrow[] = {2, 2, 3, 3}, matrix[] = {2, 3};
    static const struct {
        const char *op, *attribute;
        int64_t value;
        int ranks[2];
        const int64_t *dims[2];
        const char *message;
    } rows[] = {
        {"Conv", NULL, 0, {4, 4}, {wide, narrow}, "do not fit"},
        {"MatMul", NULL, 0, {2, 2}, {matrix, matrix}, "columns meet"},
        {"Concat", "axis", 7, {2, 2}, {matrix, matrix}, "outside a tensor of rank 2"},
        {"Concat", NULL, 0, {2, 2}, {matrix, matrix}, "attribute axis is missing"},
        {"Add", "axis", 1, {2, 2}, {matrix, matrix}, "attribute axis is not supported"},
        {"Add", NULL, 0, {2, 4}, {matrix, wide}, "does not broadcast"},
        {"Fantasy", NULL, 0, {2, 2}, {matrix, matrix}, "is not supported"},
        {"Softmax", NULL, 0, {2, 2}, {matrix, matrix}, "expected at most 1"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct node node = {.op = rows[r].op, .opset = 13};
        struct ulp_error error;
        struct ulp_tensor y;
        if (rows[r].attribute)
            give_int(&node, rows[r].attribute, rows[r].value);
        for (int i = 0; i < 2; i++)
            give_input(&node, &lane, rows[r].ranks[i], rows[r].dims[i]);
        ck_assert_msg(run_node(&node, &lane, &y, &error) != ULP_OK, "%s: accepted", rows[r].op);
        ck_assert_msg(strstr(error.message, rows[r].message) && strstr(error.message, rows[r].op),
                      "%s", error.message);
        ck_assert_ptr_null(y.data);
        free_node(&node);
    }
}

/* More rows than are turned together, and fewer. */
TEST(transpose_is_its_definition)
{
    static const int64_t perms[][3] = {{0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}, {1, 0, 2}};
    struct ulp_arithmetic lane = test_arithmetic("fp32");
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t *perm = perms[round % 5], dims[] = {pick(1, 3), pick(1, 40), pick(1, 40)};
        struct node node = {.op = "Transpose", .opset = 13};
        struct ulp_tensor out;
        struct ulp_tensor *in = give_input(&node, &lane, 3, dims);
        give_ints(&node, "perm", perm, 3);
        ck_ok(run_node(&node, &lane, &out, &why));
        int64_t to[3] = {0};
        do {
            int64_t from[3];
            for (int d = 0; d < 3; d++)
                from[perm[d]] = to[d];
            ck_expect(element(&out, to) == element(in, from), "round %d", round);
        } while (next_index(&out, to));
        ulp_tensor_free(&out);
        free_node(&node);
    }
}

/* ONNX's perm counts from the front alone. */
TEST(transpose_refuses_negative_perm)
{
    static const int64_t dims[] = {2, 3, 4}, wrong[][3] = {{0, -1, 1}, {0, 3, 1}, {0, 1, 1}};
    const struct ulp_arithmetic lane = test_arithmetic("fp32");
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        struct node node = {.op = "Transpose", .opset = 13};
        struct ulp_tensor out;
        struct ulp_tensor *in = give_input(&node, &lane, 3, dims);
        give_ints(&node, "perm", wrong[w], 3);
        ck_fails(ULP_ERROR_INPUT, "perm", run_node(&node, &lane, &out, &why));
        ulp_tensor_free(in);
    }
}

/* A limit that an arithmetic made NaN is told as such, whatever sign it has. */
TEST(range_refuses_nan)
{
    struct ulp_arithmetic lane = test_arithmetic("fp32");
    struct node node = {.op = "Range", .opset = 13};
    struct ulp_tensor out;
    for (int i = 0; i < 3; i++) {
        struct ulp_tensor *in = give_input(&node, &lane, 0, NULL);
        if (i == 1)
            set_nan(in, 0);
    }
    ck_fails(ULP_ERROR_INPUT, "its input 1 is NaN", run_node(&node, &lane, &out, &why));
    free_node(&node);
}

TEST_SUITE("ops_numbers", 60)
