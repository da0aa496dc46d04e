/* The library in one small program: audit a model in one arithmetic and print one layer's error.
 *
 *   layer_error MODEL.onnx INPUTS.npz ARITHMETIC NODE
 *   layer_error digits/model.onnx digits/inputs.npz fp16 block/norm1/Sum
 *
 *   cc layer_error.c $(pkg-config --cflags --libs ulpscope) -o layer_error */
#include <stdio.h>
#include <string.h>

#include <ulpscope.h>

static void print_view(const char *name, const struct ulp_metrics *m)
{
    printf("  %-11s rms %-10.3g max abs %-10.3g max ulp %-10.3g not finite %zu\n", name, m->rms,
           m->max_abs, m->max_ulp, m->nonfinite);
}

static int print_node(const struct ulp_audit *audit, const char *name)
{
    const struct ulp_audit_lane *lane = &audit->lanes[0];
    for (size_t n = 0; n < lane->node_count; n++) {
        if (strcmp(lane->nodes[n].name, name) != 0)
            continue;
        const struct ulp_audit_output *output = &lane->nodes[n].outputs[0];
        printf("%s (%s) in %s against %s\n", name, lane->nodes[n].op, lane->arithmetic.name,
               audit->reference);
        print_view("single", &output->single);
        print_view("introduced", &output->introduced);
        print_view("carried", &output->carried);
        print_view("entire", &output->entire);
        printf("  %.1f bits to the largest %s\n", output->range.headroom_bits,
               lane->arithmetic.storage.name);
        return 0;
    }
    fprintf(stderr, "there is no node '%s'\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s MODEL.onnx INPUTS.npz ARITHMETIC NODE\n", argv[0]);
        return 2;
    }
    struct ulp_error error;
    struct ulp_arithmetic lanes[2]; /* the reference, and what is compared with it */
    struct ulp_model *model = NULL;
    struct ulp_tensor_set inputs = {0};
    struct ulp_audit audit = {0};
    const struct ulp_sample sample = {.name = argv[2], .inputs = &inputs};
    const struct ulp_samples samples = {.count = 1, .items = &sample};
    const struct ulp_audit_options options = {ULP_OPTIONS(ulp_audit_options)};

    enum ulp_status status = ulp_arithmetic_find("pair", &lanes[0], &error);
    if (status == ULP_OK)
        status = ulp_arithmetic_find(argv[3], &lanes[1], &error);
    if (status == ULP_OK)
        status = ulp_model_load(argv[1], NULL, &model, &error);
    if (status == ULP_OK)
        status = ulp_tensor_set_read(argv[2], NULL, &inputs, &error);
    if (status == ULP_OK)
        status = ulp_audit_run(model, lanes, 2, &samples, &options, &audit, &error);

    int code = status == ULP_OK ? print_node(&audit, argv[4]) : (int)status;
    if (status != ULP_OK)
        fprintf(stderr, "%s\n", error.message);
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    return code;
}
