/* Speed of contractions on one core, each beside OpenBLAS sgemm of 1024 x 1024 x 1024 in the same
 * run.
 *
 *   bench_contract [--threads N] [WORD]     rows whose name contains WORD, as JSON
 *
 * A case is a row of the table below: an arithmetic by name and a problem. Time is the best of
 * several runs, and processor time when one thread is used, so that other work on the machine
 * counts least. An own harness of this size: the figures are whole contractions of milliseconds,
 * for which a benchmark library has nothing to add. */
#define _GNU_SOURCE
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_CBLAS
#include <cblas.h>
#endif

#include "base/machine/cpu.h"
#include "base/random.h"
#include "bench.h"
#include "kernels/contract.h"

enum kind {
    MATRIX, /* a(m, k) * b(k, n), all row-major */
    LINEAR, /* a(m, k) * b(n, k): b's k is contiguous */
    /* a convolution: batch images of `channels`, output m = side * side, n filters, k = channels *
     * kernel^2 */
    IMAGE,
    PEER_SGEMM,
    PEER_DGEMM,
};

static const struct row {
    const char *name, *arithmetic;
    enum kind kind;
    size_t batch, m, n, k;
    size_t side, kernel, stride; /* of IMAGE */
} rows[] = {
    {"sgemm 1024", "", PEER_SGEMM, 1, 1024, 1024, 1024, 0, 0, 0},
    {"dgemm 1024", "", PEER_DGEMM, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp32", "fp32", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp32 b transposed", "fp32", LINEAR, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp32,nofma", "fp32,nofma", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp32,split-k=8", "fp32,split-k=8", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp32,order=blocked:16", "fp32,order=blocked:16", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp32,order=pairwise", "fp32,order=pairwise", MATRIX, 1, 512, 512, 512, 0, 0, 0},
    {"fp64", "fp64", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp16-strict", "fp16-strict", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp16-strict,fma", "fp16-strict,fma", MATRIX, 1, 512, 512, 512, 0, 0, 0},
    {"bf16-strict", "bf16-strict", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"tf32-strict", "tf32-strict", MATRIX, 1, 512, 512, 512, 0, 0, 0},
    {"e5m7-strict,round=rz", "e5m7,round=rz", MATRIX, 1, 512, 512, 512, 0, 0, 0},
    {"fp16-strict,round=sr", "fp16-strict,round=sr", MATRIX, 1, 256, 256, 256, 0, 0, 0},
    {"fp64,round=rz", "fp64,round=rz", MATRIX, 1, 64, 64, 64, 0, 0, 0},
    {"fp16,unit=none", "fp16,unit=none", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"tf32,unit=none", "tf32,unit=none", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp16@h200", "fp16", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"tf32@h200", "tf32", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"bf16@h200", "bf16", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp8-e4m3@h200", "fp8-e4m3", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp16@h200,acc=fp16", "fp16,acc=fp16", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"tf32@h200,split-k=8", "tf32,split-k=8", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp8-e4m3@h200,unit=mma", "fp8-e4m3,unit=mma", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp16@a100", "fp16@a100", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp16@v100", "fp16@v100", MATRIX, 1, 1024, 1024, 1024, 0, 0, 0},
    {"fp32 64x64x32 batch 96", "fp32", LINEAR, 96, 64, 64, 32, 0, 0, 0},
    {"fp32 64x32x64 batch 96", "fp32", MATRIX, 96, 64, 32, 64, 0, 0, 0},
    {"fp32 vector x matrix", "fp32", MATRIX, 1, 1, 1000, 2048, 0, 0, 0},
    {"fp32 vector x transposed", "fp32", LINEAR, 1, 1, 1000, 2048, 0, 0, 0},
    {"fp32 conv 7x7/2 3->64 112", "fp32", IMAGE, 1, 12544, 64, 147, 112, 7, 2},
    {"fp32 conv 1x1 64->256 56", "fp32", IMAGE, 1, 3136, 256, 64, 56, 1, 1},
    {"fp32 conv 3x3 64->64 56", "fp32", IMAGE, 1, 3136, 64, 576, 56, 3, 1},
    {"fp32 conv 3x3 256->256 14", "fp32", IMAGE, 1, 196, 256, 2304, 14, 3, 1},
    {"fp32 conv 3x3 512->512 7", "fp32", IMAGE, 1, 49, 512, 4608, 7, 3, 1},
    {"fp32 conv 1x1 2048->512 7", "fp32", IMAGE, 1, 49, 512, 2048, 7, 1, 1},
    {"fp32 depthwise 3x3 96 56", "fp32", IMAGE, 96, 3136, 1, 9, 56, 3, 1},
    {"fp32 depthwise 3x3/2 96 56", "fp32", IMAGE, 96, 3136, 1, 9, 56, 3, 2},
    {"fp16@h200 conv 3x3 64->64 56", "fp16", IMAGE, 1, 3136, 64, 576, 56, 3, 1},
    {"fp16@h200 conv 1x1 64->256 56", "fp16", IMAGE, 1, 3136, 256, 64, 56, 1, 1},
    {"fp16@h200 depthwise 3x3 96 112", "fp16", IMAGE, 96, 12544, 1, 9, 112, 3, 1},
    {"fp16@h200 depthwise 3x3 96 56", "fp16", IMAGE, 96, 3136, 1, 9, 56, 3, 1},
    {"fp16@h200 depthwise 3x3/2 96 56", "fp16", IMAGE, 96, 3136, 1, 9, 56, 3, 2},
    {"fp16@h200 depthwise 3x3 576 14", "fp16", IMAGE, 576, 196, 1, 9, 14, 3, 1},
    {"fp16@h200 depthwise 5x5 240 28", "fp16", IMAGE, 240, 784, 1, 25, 28, 5, 1},
    {"tf32@h200 depthwise 3x3 96 56", "tf32", IMAGE, 96, 3136, 1, 9, 56, 3, 1},
    {"fp8-e4m3@h200 depthwise 3x3 96", "fp8-e4m3", IMAGE, 96, 3136, 1, 9, 56, 3, 1},
    {"fp16@h200 grouped 3x3 32 x 4->4", "fp16", IMAGE, 32, 3136, 4, 36, 56, 3, 1},
    {"fp16@h200 vector x matrix", "fp16", MATRIX, 1, 1, 1000, 2048, 0, 0, 0},
    {"fp16@h200 vector x transposed", "fp16", LINEAR, 1, 1, 1000, 2048, 0, 0, 0},
    {"fp16-strict depthwise 3x3 96 56", "fp16-strict", IMAGE, 96, 3136, 1, 9, 56, 3, 1},
    {"fp16-strict conv 3x3 64->64", "fp16-strict", IMAGE, 1, 3136, 64, 576, 56, 3, 1},
    {"pair", "pair", MATRIX, 1, 256, 256, 256, 0, 0, 0},
};

static int64_t *offsets(size_t count, int64_t step)
{
    int64_t *out = malloc((count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++)
        out[i] = (int64_t)i * step;
    return out ? out : (bench_stop("out of memory"), NULL);
}

/* Values near 1 that every storage format holds. */
static void fill(struct ulp_tensor *tensor, const struct ulp_arithmetic *arithmetic, size_t count)
{
    struct ulp_error error = {0};
    struct ulp_tensor plain;
    int64_t dim = (int64_t)count;
    enum ulp_element element = ulp_storage_element(&arithmetic->storage);
    if (ulp_tensor_create(&plain, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, &dim, &error) != ULP_OK ||
        ulp_tensor_create(tensor, ULP_TYPE_FLOAT, element, arithmetic->storage.precision, 1, &dim,
                          &error) != ULP_OK)
        bench_stop(error.message);
    for (size_t i = 0; i < count; i++)
        ((float *)plain.data)[i] = (float)(2 * ulp_random_uniform(1, i) - 1);
    if (ulp_tensor_convert(tensor, &plain, &arithmetic->storage, ULP_ROUND_NEAREST_EVEN, 0, NULL,
                           &error) != ULP_OK)
        bench_stop(error.message);
    ulp_tensor_free(&plain);
}

struct instance {
    struct ulp_contraction problem;
    struct ulp_tensor a, b, out;
};

static void lay_out_image(struct instance *instance, const struct row *row)
{
    size_t side = row->side, kernel = row->kernel, in_side = (side - 1) * row->stride + kernel;
    size_t channels = row->k / (kernel * kernel);
    int64_t *lines = offsets(row->m, 0), *ks = offsets(row->k, 0);
    for (size_t i = 0; i < row->m; i++)
        lines[i] = (int64_t)(i / side * row->stride * in_side + i % side * row->stride);
    for (size_t k = 0; k < row->k; k++)
        ks[k] = (int64_t)(k / (kernel * kernel) * in_side * in_side +
                          k / kernel % kernel * in_side + k % kernel);
    instance->problem.a =
        (struct ulp_factor){.tensor = &instance->a,
                            .line_offset = lines,
                            .k_offset = ks,
                            .batch_offset =
                                offsets(row->batch, (int64_t)(channels * in_side * in_side))};
}

static void instance_create(struct instance *instance, const struct row *row,
                            const struct ulp_arithmetic *arithmetic)
{
    size_t m = row->m, n = row->n, k = row->k, batch = row->batch;
    bool image = row->kind == IMAGE, linear = row->kind == LINEAR || image;
    *instance = (struct instance){
        .problem = {
            .batch_count = batch, .m = m, .n = n, .k = k, .out = &instance->out, .store = true}};
    struct ulp_contraction *problem = &instance->problem;
    problem->a = (struct ulp_factor){.tensor = &instance->a,
                                     .batch_offset = offsets(batch, (int64_t)(m * k)),
                                     .line_offset = offsets(m, (int64_t)k),
                                     .k_offset = offsets(k, 1)};
    problem->b = (struct ulp_factor){.tensor = &instance->b,
                                     .batch_offset = offsets(batch, (int64_t)(n * k)),
                                     .line_offset = offsets(n, linear ? (int64_t)k : 1),
                                     .k_offset = offsets(k, linear ? 1 : (int64_t)n)};
    size_t a_count = batch * m * k;
    if (image) {
        lay_out_image(instance, row);
        size_t in_side = (row->side - 1) * row->stride + row->kernel;
        a_count = batch * (k / (row->kernel * row->kernel)) * in_side * in_side;
    }
    problem->out_batch_offset = offsets(batch, (int64_t)(m * n));
    problem->out_row_offset = offsets(m, image ? 1 : (int64_t)n);
    problem->out_column_offset = offsets(n, image ? (int64_t)m : 1);
    fill(&instance->a, arithmetic, a_count);
    fill(&instance->b, arithmetic, batch * n * k);
    fill(&instance->out, arithmetic, batch * m * n);
}

static void instance_free(struct instance *instance)
{
    struct ulp_factor *factors[] = {&instance->problem.a, &instance->problem.b};
    for (int i = 0; i < 2; i++) {
        free((void *)(uintptr_t)factors[i]->batch_offset);
        free((void *)(uintptr_t)factors[i]->line_offset);
        free((void *)(uintptr_t)factors[i]->k_offset);
    }
    free((void *)(uintptr_t)instance->problem.out_batch_offset);
    free((void *)(uintptr_t)instance->problem.out_row_offset);
    free((void *)(uintptr_t)instance->problem.out_column_offset);
    ulp_tensor_free(&instance->a);
    ulp_tensor_free(&instance->b);
    ulp_tensor_free(&instance->out);
}

static void run_once(const struct row *row, const struct ulp_arithmetic *arithmetic,
                     struct instance *instance, struct ulp_pool *pool)
{
    struct ulp_error error = {0};
    int m = (int)row->m, n = (int)row->n, k = (int)row->k;
    (void)m, (void)n, (void)k;
#ifdef HAVE_CBLAS
    if (row->kind == PEER_SGEMM) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, instance->a.data, k,
                    instance->b.data, n, 0, instance->out.data, n);
        return;
    }
    if (row->kind == PEER_DGEMM) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, instance->a.data, k,
                    instance->b.data, n, 0, instance->out.data, n);
        return;
    }
#endif
    if (ulp_contract(arithmetic, &instance->problem, pool, &error) != ULP_OK)
        bench_stop(error.message);
}

/* Multiply-adds a second, in 10^9. */
static double measure(const struct row *row, struct ulp_pool *pool)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error = {0};
    const char *name = row->kind == PEER_SGEMM   ? "fp32"
                       : row->kind == PEER_DGEMM ? "fp64"
                                                 : row->arithmetic;
    if (ulp_arithmetic_find(name, &arithmetic, &error) != ULP_OK)
        bench_stop(error.message);
    struct instance instance;
    instance_create(&instance, row, &arithmetic);
    struct bench_timer timer = {.run_max = 31,
                                .seconds = 0.5,
                                .batch_seconds = 0.01,
                                .wall = ulp_pool_thread_count(pool) != 1};
    while (bench_next(&timer))
        run_once(row, &arithmetic, &instance, pool);
    instance_free(&instance);
    return (double)row->batch * (double)row->m * (double)row->n * (double)row->k / timer.best *
           1e-9;
}

/* OpenBLAS takes a processor newer than itself for its oldest one, and reads the better name when
 * it is loaded. */
static void name_processor(char **argv)
{
    if (getenv("OPENBLAS_CORETYPE") || !(ulp_cpu_features() & ULP_CPU_AVX2))
        return;
    setenv("OPENBLAS_CORETYPE", ulp_cpu_features() & ULP_CPU_AVX512 ? "SkylakeX" : "Haswell", 1);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    name_processor(argv);
    const char *word = "";
    int thread_count = 1;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            thread_count = atoi(argv[++i]);
        else
            word = argv[i];
    struct ulp_error error = {0};
    struct ulp_pool *pool = NULL;
    if (ulp_pool_create(&pool, thread_count, &error) != ULP_OK)
        bench_stop(error.message);
#ifdef HAVE_OPENBLAS
    openblas_set_num_threads(thread_count);
#endif
    double peer = 0;
    printf("[");
    for (size_t i = 0, printed = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        bool is_peer = row->kind == PEER_SGEMM || row->kind == PEER_DGEMM;
#ifndef HAVE_CBLAS
        if (is_peer)
            continue;
#endif
        if (!is_peer && !strstr(row->name, word))
            continue;
        double speed = measure(row, pool);
        if (row->kind == PEER_SGEMM)
            peer = speed;
        printf("%s\n  {\"case\": \"%s\", \"batch\": %zu, \"m\": %zu, \"n\": %zu, \"k\": %zu, "
               "\"gmac_per_s\": %.4f, \"of_sgemm\": %.4f}",
               printed++ ? "," : "", row->name, row->batch, row->m, row->n, row->k, speed,
               peer > 0 ? speed / peer : 0);
        fflush(stdout);
    }
    printf("\n]\n");
    ulp_pool_free(pool);
    return 0;
}
