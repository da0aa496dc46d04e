/* split-k=auto: in how many slices a library cut k, found from operands and results. The oracle of
 * recorded products is the kernels' launch: the third number of its grid. */
#include "analysis/schedule/slices.h"
#include "pictures.h"
#include "tests/support/test.h"

#define ACC16 "fp16,acc=fp16,split-k=auto"

static const struct ulp_tensor *member(const struct ulp_tensor_set *set, const char *shape,
                                       const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", shape, part);
    const struct ulp_tensor *found = ulp_tensor_set_find(set, name);
    ck_assert_msg(found, "%s", name);
    return found;
}

/* ---- matrices ---- */

static void expect_slices(const struct ulp_tensor *a, const struct ulp_tensor *b,
                          const struct ulp_tensor *d, int wanted, const char *what)
{
    const struct ulp_arithmetic open = test_arithmetic(ACC16);
    const size_t k = (size_t)a->dims[1];
    int found = 0;
    for (size_t i = 0; ulp_slices_tried(i); i++) {
        /* slices are whole blocks of 16: another count of the same length is the same sum */
        const size_t count = (size_t)ulp_slices_tried(i), cut = (size_t)wanted;
        const size_t length = ((k + count - 1) / count + 15) / 16,
                     recorded = ((k + cut - 1) / cut + 15) / 16;
        struct ulp_arithmetic arithmetic;
        scoped_tensor product = {0};
        ck_ok(ulp_slices_arithmetic(&arithmetic, &open, ulp_slices_tried(i), &why));
        ck_ok(ulp_array_matmul(&product, &arithmetic, a, b, 2, &why));
        const size_t equal = ulp_equal_elements(&product, d);
        ck_assert_msg((equal == d->count) == (length == recorded),
                      "%s: %zu of %zu elements equal with %zu slices", what, equal, d->count,
                      count);
        if (!found && equal == d->count)
            found = ulp_slices_tried(i);
    }
    ck_assert_msg(found == wanted, "%s: %d slices, recorded %d", what, found, wanted);
}

TEST(sampled_products)
{
    scoped_tensor_set set = {0};
    size_t products = 0;
    ck_ok(ulp_tensor_set_read(test_data("unit/h200_gemm16.npz"), NULL, &set, &why));
    for (size_t i = 0; i < set.count; i++) {
        const char *dot = strrchr(set.items[i].name, '.');
        char shape[64];
        if (strcmp(dot, ".A") != 0)
            continue;
        snprintf(shape, sizeof shape, "%.*s", (int)(dot - set.items[i].name), set.items[i].name);
        expect_slices(member(&set, shape, "A"), member(&set, shape, "B"), member(&set, shape, "D"),
                      (int)ulp_tensor_get_int(member(&set, shape, "slices"), 0), shape);
        products++;
    }
    ck_assert_uint_eq(products, 7);
}

/* FP16 stored as bare patterns. */
static struct ulp_tensor as_half(const struct ulp_tensor *bits)
{
    struct ulp_tensor out;
    ck_assert_uint_eq(bits->element_bytes, 2);
    ck_ok(ulp_tensor_create(&out, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, bits->rank, bits->dims,
                            &why));
    for (size_t i = 0; i < bits->count; i++) {
        const unsigned pattern = (unsigned)ulp_tensor_get_int(bits, i) & 0xffff;
        const int exponent = (int)(pattern >> 10 & 31);
        const double fraction = (pattern & 1023) / 1024.0;
        ck_assert_int_lt(exponent, 31);
        const double value =
            exponent ? (1 + fraction) * (double)(1 << exponent) / 32768 : fraction / 16384;
        ((float *)out.data)[i] = (float)(pattern & 0x8000 ? -value : value);
    }
    return out;
}

/* The whole recorded products: K = 512 in 8 slices, K = 2048 in 16, all 4096 elements. */
TEST(recorded_products)
{
    static const struct {
        const char *shape;
        int slices;
    } products[] = {{"gemm.512", 8}, {"gemm.2048", 16}};
    const char *path = test_shared("gpu/h200_gemm_acc16.npz");
    scoped_tensor_set set = {0};
    if (!path)
        return;
    ck_ok(ulp_tensor_set_read(path, NULL, &set, &why));
    for (size_t p = 0; p < 2; p++) {
        scoped_tensor a = as_half(member(&set, products[p].shape, "A"));
        scoped_tensor b = as_half(member(&set, products[p].shape, "B"));
        scoped_tensor d = as_half(member(&set, products[p].shape, "f16.acc16"));
        ck_assert_uint_eq(d.count, 4096);
        expect_slices(&a, &b, &d, products[p].slices, products[p].shape);
    }
}

/* ---- in a comparison ---- */

static enum ulp_status copy_outputs(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    (void)error;
    for (size_t o = 0; o < event->output_count; o++)
        picture_add(context, event->output_names[o], event->values[o].entire);
    return ULP_OK;
}

/* Every value of the network, with the products in other counts of slices, and its Gelu in an
 * arithmetic whose bits no lane of the comparison has. */
static struct ulp_recording record_sliced(const struct ulp_model *model,
                                          const struct ulp_tensor_set *inputs, const char *conv,
                                          const char *classes)
{
    static char name[] = "sliced";
    struct ulp_recording recording = {.name = name};
    const struct ulp_arithmetic lane = test_arithmetic("fp32");
    const struct ulp_keep items[] = {{.pattern = "op:Conv", .arithmetic = test_arithmetic(conv)},
                                     {.pattern = "op:MatMul",
                                      .arithmetic = test_arithmetic(classes)},
                                     {.pattern = "op:Gelu", .arithmetic = test_arithmetic("fp64")}};
    const struct ulp_keeps keeps = {3, items, NULL};
    const struct ulp_program_options options = {.inputs = inputs, .keeps = &keeps};
    const struct ulp_observer observer = {.context = &recording.tensors, .node_done = copy_outputs};
    scoped_program *program = NULL;
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, NULL, &observer, 1, NULL, NULL, &why));
    return recording;
}

static const struct ulp_compared_slices *find_op(const struct ulp_comparison *comparison,
                                                 const char *op)
{
    for (size_t i = 0; i < comparison->slice_count; i++)
        if (strcmp(comparison->slices[i].op, op) == 0)
            return &comparison->slices[i];
    ck_abort_msg("no %s among %zu", op, comparison->slice_count);
}

/* Two products with two counts, each computed from what was recorded before it. */
TEST(found_by_node)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording =
        record_sliced(model, &inputs, "fp32,split-k=3", "fp32,split-k=2");
    scoped_comparison comparison = picture_compare_one(&recording, "fp32,split-k=auto");
    SCOPED_MEMORY char *text = NULL;
    ck_assert_uint_eq(comparison.slice_count, 2);
    const struct ulp_compared_slices *conv = find_op(&comparison, "Conv"),
                                     *classes = find_op(&comparison, "MatMul");
    ck_assert(conv->found && classes->found);
    ck_assert_int_eq(conv->slices, 3);
    ck_assert_int_eq(classes->slices, 2);
    ck_assert_uint_gt(conv->elements, 100);
    ck_assert_uint_lt(conv->next, conv->elements);
    ck_assert_str_eq(comparison.arithmetics[0], "fp32,split-k=auto");
    ck_assert(comparison.files[0].explained);
    /* the comparison goes on in what was found: nothing is left of the product */
    for (size_t t = 0; t < comparison.tensor_count; t++)
        if (comparison.tensors[t].op && strcmp(comparison.tensors[t].op, "Conv") == 0)
            ck_assert(comparison.tensors[t].values[0].arithmetics[0].max_abs == 0);
    ck_ok(ulp_comparison_text(&comparison, 100, false, &text, &why));
    ck_assert_ptr_nonnull(strstr(text, "is cut in 3 slices"));
    ulp_tensor_set_free(&recording.tensors);
}

/* One count for all is said in the arithmetic's name. */
TEST(found_for_all)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording =
        record_sliced(model, &inputs, "fp32,split-k=3", "fp32,split-k=3");
    scoped_comparison comparison = picture_compare_one(&recording, "fp32,split-k=auto");
    ck_assert_str_eq(comparison.arithmetics[0], "fp32,split-k=3");
    ulp_tensor_set_free(&recording.tensors);
}

/* Only the outputs recorded: of the product inside nothing can be known, of the last nothing fits,
 * for what it read is not known; both are computed as one sum, and said so. */
TEST(not_recorded)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording all = record_sliced(model, &inputs, "fp32,split-k=3", "fp32,split-k=2"),
                         ends = {.name = all.name};
    picture_add(&ends.tensors, "y", ulp_tensor_set_find(&all.tensors, "y"));
    scoped_comparison comparison = picture_compare_one(&ends, "fp32,split-k=auto");
    const struct ulp_compared_slices *conv = find_op(&comparison, "Conv"),
                                     *classes = find_op(&comparison, "MatMul");
    ck_assert(!conv->found && conv->elements == 0 && !classes->found && classes->elements == 5);
    SCOPED_MEMORY char *text = NULL;
    ck_ok(ulp_comparison_text(&comparison, 100, false, &text, &why));
    ck_assert_ptr_nonnull(strstr(text, "its result was not recorded"));
    ck_assert_ptr_nonnull(strstr(text, "no count of slices"));
    ulp_tensor_set_free(&ends.tensors);
    ulp_tensor_set_free(&all.tensors);
}

/* ---- elsewhere ---- */

/* Without recordings nobody can find it; a kernel that stores no product hides it. */
TEST(refused_plans)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    const struct ulp_arithmetic lanes[] = {test_arithmetic("fp32"), test_arithmetic(ACC16)};
    const struct ulp_keep item = {.pattern = "op:Conv", .arithmetic = lanes[1]};
    const struct ulp_keeps keeps = {1, &item, NULL};
    const struct ulp_program_options options = {.inputs = &inputs, .keeps = &keeps};
    struct ulp_arithmetic none;
    struct ulp_program *program;
    struct ulp_error error;
    ck_assert_str_eq(lanes[1].name, ACC16);
    ck_fails(ULP_ERROR_USAGE, "ulpscope compare",
             ulp_program_create(model, &lanes[1], 1, NULL, &program, &why));
    ck_assert_int_eq(ulp_program_create(model, &lanes[0], 1, &options, &program, &error),
                     ULP_ERROR_USAGE);
    ck_assert_int_eq(ulp_arithmetic_find("fp16,split-k=auto,fuse=reduce", &none, &error),
                     ULP_ERROR_USAGE);
    ck_ok(ulp_arithmetic_find("torch-compile:fp16,fuse=none,split-k=auto", &none, &why));
}

TEST_SUITE("slices", 60)
