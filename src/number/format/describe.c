/* An arithmetic in sentences: what is stored how, what an operator does inside, how products are
 * summed. */
#include <ulpscope/target.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/machine/environment.h"
#include "number/format/gpu.h"
#include "number/format/scaling.h"
#include "number/round/round.h"

enum { COLUMNS = 96, INDENT = 14 };

static const char *const rounding_texts[] = {
    [ULP_ROUND_NEAREST_EVEN] = "to nearest, ties to even",
    [ULP_ROUND_NEAREST_AWAY] = "to nearest, ties away from zero",
    [ULP_ROUND_TOWARD_ZERO] = "toward zero (truncated)",
    [ULP_ROUND_UP] = "up, toward +infinity",
    [ULP_ROUND_DOWN] = "down, toward -infinity",
    [ULP_ROUND_STOCHASTIC] = "stochastically (up with probability equal to the fraction cut off)",
};

/* Text of a bounded size; `length` counts what does not fit, too. */
struct page {
    char *buffer;
    size_t size, length;
};

static void put_character(struct page *page, char c)
{
    if (page->length + 1 < page->size)
        page->buffer[page->length] = c;
    page->length++;
}

static void put_text(struct page *page, const char *text)
{
    while (*text)
        put_character(page, *text++);
}

/* A paragraph under a label at the left, words wrapped at COLUMNS. */
static void say(struct page *page, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct page *page, const char *label, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    int column = 2 + (int)strlen(label);
    put_text(page, "  ");
    put_text(page, label);
    for (; column < INDENT; column++)
        put_character(page, ' ');
    bool first = true;
    for (const char *word = text; *word;) {
        const int length = (int)strcspn(word, " ");
        if (!first && column + 1 + length > COLUMNS) {
            put_character(page, '\n');
            for (column = 0; column < INDENT; column++)
                put_character(page, ' ');
            first = true;
        }
        if (!first)
            put_character(page, ' ');
        column += length + !first;
        for (int i = 0; i < length; i++)
            put_character(page, word[i]);
        first = false;
        word += length + (word[length] == ' ');
    }
    put_character(page, '\n');
}

/* "FP16": names of users' formats are spelled in capitals, patterns as they are. */
static const char *spell(char text[24], const struct ulp_format *format)
{
    snprintf(text, 24, "%s", format->name);
    if (format->carrier == ULP_CARRIER_MPFR)
        snprintf(text, 24, format->pairs ? "pairs of doubles" : "MPFR at %d bits",
                 format->precision);
    else if (text[0] != 'e')
        for (char *p = text; *p; p++)
            *p = (char)toupper((unsigned char)*p);
    return text;
}

static const char *tell_overflow(const struct ulp_format *format)
{
    return format->overflow == ULP_OVERFLOW_INFINITY ? "becomes infinite"
           : format->overflow == ULP_OVERFLOW_NAN    ? "becomes NaN"
                                                     : "becomes that largest number";
}

static void describe_storage(struct page *page, const struct ulp_arithmetic *a)
{
    char name[24];
    const struct ulp_format *f = &a->storage;
    if (f->pairs) {
        say(page, "storage",
            "Every floating-point tensor holds sums of two doubles (106 bits), and where one of "
            "its values is none of 2^-900 to 2^900, MPFR numbers of %d bits.",
            f->precision);
        return;
    }
    if (f->carrier == ULP_CARRIER_MPFR) {
        say(page, "storage",
            "Every floating-point tensor holds %d-bit significands; exponents are practically "
            "unbounded.",
            f->precision);
        return;
    }
    say(page, "storage",
        "Every floating-point tensor is %s: %d significant bits, largest number %.9g, beyond which "
        "a result %s; normal numbers down to %.3g%s.",
        spell(name, f), f->precision, f->max_finite, tell_overflow(f),
        ulp_format_ulp(f, 0) * (double)(1ULL << (f->precision - 1)),
        f->subnormals ? ", subnormals below are kept" : ", smaller results are flushed to zero");
}

static void describe_steps(struct page *page, const struct ulp_arithmetic *a)
{
    char storage[24], compute[24];
    spell(storage, &a->storage);
    spell(compute, &a->compute);
    if (a->storage.pairs)
        say(page, "inside",
            "Every step of an operator errs by at most 2^-102 of its result, a function by little "
            "more than 2^-90, and a bound of the error goes with each value. A node in which a "
            "decision hangs on that bound, or fewer than 30 bits are certain, is computed by MPFR "
            "at %d bits.",
            a->storage.precision);
    else if (a->place == ULP_ROUND_EACH_STEP)
        say(page, "inside",
            "Every step of an operator (each add, multiply, exp, ...) is rounded to %s: nothing "
            "inside an operator is more precise than what is stored.",
            storage);
    else
        say(page, "inside",
            "An operator reads %s, computes its steps in %s and rounds once to %s when it stores "
            "its result, as a GPU kernel does.%s",
            storage, compute, storage,
            a->fuse == ULP_FUSE_NONE ? " A chain of operators rounds at every tensor." : "");
    if (a->rounding == ULP_ROUND_STOCHASTIC)
        say(page, "rounding",
            "Results are rounded stochastically: up with probability equal to the fraction cut "
            "off. The random stream (seed %llu) is the same for any number of threads.",
            (unsigned long long)a->seed);
    else
        say(page, "rounding", "Results are rounded %s.", rounding_texts[a->rounding]);
}

static void describe_fusion(struct page *page, const struct ulp_arithmetic *a)
{
    static const char *const groups[] = {
        [ULP_FUSE_POINTWISE] = "Chains and trees of elementwise operators are one kernel",
        [ULP_FUSE_REDUCE] = "Elementwise operators and the reductions of rows between them "
                            "(LayerNormalization, Softmax, ...) are one kernel",
        [ULP_FUSE_GROUPS] = "The groups of nodes that a plan is given are one kernel each",
        [ULP_FUSE_BIAS] =
            "Adds of constants and BatchNormalizations behind a product are one kernel",
        [ULP_FUSE_TENSORRT] = "Elementwise operators, the reductions of rows between them and "
                              "attention are one kernel, as TensorRT's compiler groups them",
        [ULP_FUSE_ORT] =
            "What ONNX Runtime's optimiser makes one operator of is one kernel, and a "
            "BatchNormalization behind a Conv is folded into its weights, step by step "
            "in the type that these have",
        [ULP_FUSE_OPENVINO] = "Trees of elementwise operators are one kernel, and so are a product "
                              "and what goes on with its result alone, as OpenVINO's CPU plugin "
                              "groups them",
    };
    char storage[24], inner[24];
    if (a->fuse == ULP_FUSE_NONE)
        return;
    spell(storage, &a->storage);
    spell(inner, &a->inner);
    say(page, "fusion",
        "%s%s. Values inside a kernel are %s and every step there is rounded to it; what leaves it "
        "is rounded once to %s, and a value that is used inside and outside is rounded for the "
        "outside only. Constants that it reads are lowered to %s. %s",
        groups[a->fuse],
        a->schedule.epilogue_rounded ? "; a library's sums are stored"
                                     : ", also with the MatMul, Gemm or Conv before them",
        inner, storage, a->inner_constants ? inner : storage,
        a->inner_casts ? "Casts before and behind a kept node are part of its kernel."
                       : "A kept node is a kernel of its own.");
}

static void describe_constants(struct page *page, const struct ulp_arithmetic *a)
{
    static const char *const rules[] = {
        [ULP_CONSTANTS_SATURATED] =
            "Finite constants of the model beyond the largest finite value become that value.",
        [ULP_CONSTANTS_IEEE] =
            "Constants of the model are rounded like any value: beyond the largest they overflow.",
        [ULP_CONSTANTS_TENSORRT] =
            "Finite constants of the model beyond the largest finite value become that value, and "
            "those below the least subnormal, zero apart, become that, as TensorRT's warnings say.",
        [ULP_CONSTANTS_ONNXCONVERTER] =
            "Finite constants of the model, zero apart, are put between 1e-7 and 1e4 in magnitude, "
            "as onnxconverter-common's convert_float_to_float16 does, and rounded.",
    };
    say(page, "constants", "%s%s%s", rules[a->constants],
        a->batchnorm_folded
            ? " A BatchNormalization's parameters are folded before, in FP32: scale / "
              "sqrt(variance + epsilon) and bias - mean times that are what is lowered."
            : "",
        a->scales_lowered
            ? " Scales of QuantizeLinear and DequantizeLinear are lowered, too."
            : " Scales of QuantizeLinear and DequantizeLinear stay as they are declared.");
}

static void describe_functions(struct page *page, const struct ulp_arithmetic *a)
{
    if (a->storage.pairs)
        ;
    else if (a->cuda_functions)
        say(page, "functions",
            "erf, exp, sigmoid and tanh are CUDA's: one to three FP32 ulps off, fitted to what an "
            "H200 returned (equal bits for all that was recorded). The other functions are "
            "correctly rounded to FP32.");
    else
        say(page, "functions", "exp, log, erf, ... are correctly rounded.");
    if (a->plain_exponentials)
        say(page, "",
            "Softplus and Mish are 0 where twice exp(x) overflows, ReduceLogSumExp where the sum "
            "of exp(x) does; LogSoftmax is the logarithm of a stored probability.");
}

static void put_scaling(struct page *page, const char *label, const char *what,
                        const struct ulp_scaling *s)
{
    char block[80] = "all values of a tensor";
    if (s->k)
        snprintf(block, sizeof block, "%d values along k%s", s->k,
                 s->lines == 128 ? " of 128 lines" : "");
    else if (s->lines)
        snprintf(block, sizeof block, "the values of a token or channel");
    if (s->fixed > 0) {
        say(page, label,
            "%s are divided by %g and rounded to %s, whose largest is %g: values beyond %g are "
            "clipped.",
            what, (double)s->fixed, s->element.name, s->element.max_finite,
            (double)s->fixed * s->element.max_finite);
        return;
    }
    say(page, label,
        "%s are rounded to %s: %s share a scale in %s%s, by which they are divided and rounded to "
        "%s, whose largest is %g. The scale is %s.",
        what, s->name, block, s->scale.name,
        s->tensor_scale ? " and one in FP32 for the tensor"
        : s->zero_point ? " and a zero point"
                        : "",
        s->element.name, s->element.max_finite,
        s->zero_point ? "the block's largest value less its least, 0 among them, over the "
                        "element's largest"
                      : ulp_scale_rule_meaning(s->rule));
}

static void put_scaled_factors(struct page *page, const struct ulp_arithmetic *a)
{
    const bool mixed = strcmp(a->scaling[0].name, a->scaling[1].name) != 0,
               integers = ulp_scaling_is_integer(&a->scaling[0]);
    put_scaling(page, "products",
                !mixed     ? "Factors of MatMul, Gemm and Conv"
                : integers ? "Factors of MatMul, Gemm and Conv that are no weights"
                           : "First factors of MatMul, Gemm and Conv",
                &a->scaling[0]);
    if (mixed)
        put_scaling(page, "", integers ? "Weights" : "Second factors, or those that are weights,",
                    &a->scaling[1]);
    if (ulp_scaling_is_fake(a))
        say(page, "",
            "They are multiplied by their scales again and rounded to %s, and such values are "
            "multiplied, as fake quantisation does.",
            a->storage.name);
    else if (ulp_scaling_is_inside(&a->scaling[0]))
        say(page, "", "The matrix unit multiplies elements and reads their scales%s.",
            a->scaling[0].tensor_scale ? "; sums are multiplied by the tensors' in FP32" : "");
    else
        say(page, "",
            "The matrix unit multiplies elements; sums are multiplied by the scales in FP32, as an "
            "H200's libraries were recorded to do.");
}

static void describe_products(struct page *page, const struct ulp_arithmetic *a)
{
    char storage[24], factor[24], accumulator[24], compute[24];
    spell(storage, &a->storage);
    spell(compute, &a->compute);
    spell(factor, &a->factor);
    spell(accumulator, &a->accumulator);
    const struct ulp_schedule *s = &a->schedule;
    if (a->weights.name[0])
        put_scaling(page, "weights", "Weights of products", &a->weights);
    static const char *const caches[] = {"Keys that attention reads",
                                         "Values that attention reads"};
    static const char *const shared[] = {[ULP_CACHED_CHANNEL] =
                                             "A row is a feature of all tokens in one head.",
                                         [ULP_CACHED_HEAD] = "A tensor is one head's."};
    for (int i = 0; i < 2; i++)
        if (a->caches[i].name[0])
            put_scaling(page, i ? "values" : "keys", caches[i], &a->caches[i]);
    if (a->cached)
        say(page, "cached", "%s", shared[a->cached]);
    if (a->scaled_modelopt)
        say(page, "scaled",
            "Only products that ModelOpt quantises for TensorRT have scales: in FP8 MatMul, Gemm "
            "and attention of more than one row and column, and Conv of more than 16 channels; in "
            "formats with blocks MatMul and Gemm of a weight.");
    if (a->scales_static)
        say(page, "scales",
            "The scale of a tensor that is no weight is of the largest magnitude that a file has "
            "of it, from samples, and values beyond are clipped.");
    if (a->scaling[0].name[0])
        put_scaled_factors(page, a);
    else if (ulp_format_holds(&a->factor, &a->storage) ||
             strcmp(a->factor.name, a->storage.name) == 0)
        say(page, "products", "MatMul, Gemm and Conv multiply the stored values as they are%s.",
            strcmp(a->factor.name, a->storage.name) == 0
                ? ""
                : ", which the products' format holds exactly");
    else
        say(page, "products",
            "MatMul, Gemm and Conv first round their operands from %s to %s (%d significant bits), "
            "%s; the products of these are formed exactly.",
            storage, factor, a->factor.precision, rounding_texts[s->operand_rounding]);
    if (a->storage.pairs)
        say(page, "sums",
            "Sums of products carry an error of at most 2^-91 times the sum of the products' "
            "magnitudes.");
    else if (a->storage.carrier == ULP_CARRIER_MPFR)
        say(page, "sums",
            "Sums of products carry an error of at most 2^-%d times the sum of the products' "
            "magnitudes.",
            a->storage.precision);
    else if (s->gpu[0]) {
        const struct ulp_gpu_row *gpu = ulp_gpu_find(s->gpu);
        say(page, "sums",
            "The products are summed by the matrix unit of the GPU \"%s\" (%s instructions) into "
            "%s, bit for bit: blocks of products aligned to the largest exponent, truncated, added "
            "exactly, in increasing k. The unit's own rounding applies there.",
            s->gpu, s->unit_class, accumulator);
        if (*gpu->known)
            say(page, "", "Taken for that of %s: %s; not measured itself.", gpu->unit, gpu->known);
    } else if (s->fused)
        say(page, "sums",
            "Products are summed in increasing k by a chain of fused multiply-adds in %s: one "
            "rounding per product.",
            accumulator);
    else
        say(page, "sums", "Every product is rounded to %s, then added in %s with another rounding.",
            compute, accumulator);
}

static void describe_sums(struct page *page, const char *title, const char *who,
                          const char *accumulator, enum ulp_order order, int block)
{
    if (order == ULP_ORDER_BLOCKED)
        say(page, title,
            "%s are added in %s in blocks of %d elements, each in index order; then the block sums "
            "in order.",
            who, accumulator, block);
    else if (order == ULP_ORDER_WARP)
        say(page, title,
            "%s are added in %s as the threads of a GPU's warp do: partial sums of every 32nd "
            "element (of every 128th in rows of 128 or more), then halves onto halves; a mean is "
            "the sum times the reciprocal of the count.",
            who, accumulator);
    else
        say(page, title, "%s are added in %s %s.", who, accumulator,
            order == ULP_ORDER_PAIRWISE ? "pairwise: neighbours level by level"
                                        : "in increasing index");
}

static void describe_order(struct page *page, const struct ulp_arithmetic *a)
{
    char accumulator[24], rows[24];
    spell(accumulator, &a->accumulator);
    spell(rows, &a->rows);
    const struct ulp_schedule *s = &a->schedule;
    const bool alike = a->order == a->reduce && a->order_block == a->reduce_block &&
                       strcmp(accumulator, rows) == 0;
    if (!s->gpu[0] && !alike)
        describe_sums(page, "order", "Products", accumulator, a->order, a->order_block);
    describe_sums(page, alike || s->gpu[0] ? "order" : "",
                  !s->gpu[0] && alike ? "Sums, also of rows (ReduceSum, Softmax, normalisations),"
                                      : "Row sums (ReduceSum, Softmax, normalisations)",
                  rows, a->reduce, a->reduce_block);
    if (s->promote)
        say(page, "promotion",
            "After every %d products the chain's sum is added to a separate FP32 sum and the chain "
            "restarts at zero.",
            s->promote);
    if (s->split_k == ULP_SPLIT_CUBLAS) {
        char beside[64] = "";
        if (s->rows > 1)
            snprintf(beside, sizeof beside, ", here as if it had %d times its rows", s->rows);
        say(page, "split",
            "The k range of a MatMul or Gemm is cut into as many contiguous slices as cuBLAS was "
            "recorded to take for its shape on an H100%s; each is a chain from zero, and the "
            "slices' sums are added in order. %s",
            beside,
            strcmp(a->storage.name, "fp32") == 0
                ? "Where its kernel was one without a matrix unit the slices are chains in FP32."
                : "Exact for recorded shapes; of others three of four, and nine of ten within one "
                  "slice. Products of batches of matrices and Conv are not cut.");
    } else if (s->split_k)
        say(page, "split",
            "The k range is cut into %d contiguous slices; each is a chain from zero, and the "
            "slices' sums are added in order.",
            s->split_k);
    if (s->partials)
        say(page, "partials", "%s%s.",
            s->partials == ULP_PARTIALS_WORKSPACE
                ? "The sum of each slice is stored in a workspace, from which they are added in "
                  "FP32: each is rounded to "
            : s->partials == ULP_PARTIALS_SERIAL
                ? "One slice after the other is added in FP32 to what is stored: the sum is each "
                  "time rounded to "
                : "The sums of slices, and after each addition their sum, are rounded to ",
            spell(accumulator, &a->storage));
    if (s->vectors_scalar)
        say(page, "vectors",
            "A product that has one row or one column (a matrix times a vector, a depthwise Conv) "
            "gives a matrix unit nothing to do: it is a chain of fused multiply-adds in %s over "
            "the stored values.",
            accumulator);
    if (s->matmul_scalar)
        say(page, "matmul",
            "Only convolutions and recurrences are on the matrix unit: other products are chains "
            "of fused multiply-adds in %s over the stored values.",
            accumulator);
    if (s->epilogue_rounded)
        say(page, "epilogue",
            "Conv, ConvTranspose and Gemm round the sum to %s before they scale it or add a bias, "
            "as a library does that adds the bias in a kernel of its own.",
            spell(accumulator, &a->storage));
}

static void describe_integers(struct page *page, const struct ulp_schedule *s)
{
    if (s->qdq_integer)
        say(page, "Q/DQ",
            "MatMul, Gemm and Conv whose two factors come from DequantizeLinear are summed in "
            "INT32 over the quantised values and scaled once; with a QuantizeLinear after them (a "
            "Relu between is taken along), round(sum * (x_scale * w_scale / y_scale)) is one step, "
            "as an INT8 kernel does. In ort-cpu Add, Mul, Softmax and average pools between bytes "
            "are ONNX Runtime's QLinear operators, which add the zero point before they round.");
    if (s->requant)
        say(page, "requant",
            "Sums of integers are made quantised again without floats: x_scale * w_scale / y_scale "
            "is an integer of 31 bits and a shift. %s Sums of INT16 by INT8 have 64 bits%s. Of "
            "Q/DQ "
            "graphs Add and Mul between bytes are TensorFlow Lite's kernels, too.",
            s->requant == ULP_REQUANT_SINGLE
                ? "The product is shifted once, halves up."
                : "The product's upper 32 bits are rounded, halves up, then shifted and rounded "
                  "again, halves away from zero.",
            s->requant == ULP_REQUANT_SINGLE ? "" : ", and the integer 16");
    if (s->integers_saturate)
        say(page, "integers",
            "Sums of unsigned by signed bytes: the products of neighbours in k, 2 i and 2 i + 1, "
            "are added and saturated to -32768 .. 32767, these sums are added exactly; zero points "
            "are taken off afterwards. Conv has k by positions, in each the channels of a group, "
            "padding is the zero point; Conv of one channel in and out of a group, ConvInteger and "
            "other pairs of types are exact. Signed activations of Q/DQ graphs are unsigned ones "
            "with a zero point 128 higher.");
}

static void describe_kernels(struct page *page, const struct ulp_arithmetic *a)
{
    static const char *const kernels[] = {
        [ULP_ATTENTION_FLASH2] =
            "FlashAttention 2 as PyTorch has it: keys in tiles of 128 (64 where heads have more "
            "than 64 features) from the last one down, with a running largest score; few queries "
            "beside many keys in slices of the keys, as 132 multiprocessors share them.",
        [ULP_ATTENTION_CUDNN] =
            "cuDNN's: keys in tiles of 128 from the first one up, with a running largest score.",
        [ULP_ATTENTION_EFFICIENT] =
            "PyTorch's memory-efficient kernel: keys in tiles of 64 (128 where heads have more "
            "than 64 features) from the first one up, with a running largest score.",
        [ULP_ATTENTION_MATH] =
            "Attention is written out: query and key times the root of the scale, both products, "
            "the softmax between them, all in FP32, rounded once.",
    };
    if (a->attention != ULP_ATTENTION_WHOLE)
        say(page, "attention", "%s", kernels[a->attention]);
    if (a->attention_joined)
        say(page, "written",
            "Attention that the graph writes out as MatMul, scale, mask, Softmax and MatMul is "
            "computed as one Attention, where nothing else reads what is between.");
    if (a->conv == ULP_CONV_SEARCHED)
        say(page, "conv",
            "A Conv of one group is on the matrix unit where each result is a sum of 288 products "
            "or more; one of a single position from 12 input channels on, with a stride from 256 "
            "on; a ConvTranspose of a single position. Others are chains of fused multiply-adds in "
            "FP32 over the stored values.");
    if (ulp_convolves_as_cudnn(a))
        say(page, "conv",
            "A Conv of one channel a group, or of 1 to 3 channels, is a chain of fused "
            "multiply-adds in FP32, beside the matrix unit; the others add in the order of the "
            "kernel that cuDNN took for the nearest recorded shape, which in TF32 is often such a "
            "chain.%s",
            a->conv == ULP_CONV_TORCH
                ? " With one channel a group the chain begins with the bias; in FP16 with 32 "
                  "channels or more that is added to the rounded sum."
                : "");
    if (a->steps == ULP_STEPS_ORT_CPU)
        say(page, "steps",
            "Rows whose elements are neighbours in memory are added to eight partial sums, which "
            "join by halves (Eigen's and MLAS's order; with AVX-512 Softmax has sixteen), but for "
            "the operators of the rules. Sigmoid and tanh are MLAS's, with fused multiply-adds: "
            "sigmoid is off by up to 6e-8 absolutely, so that below 1e-4 little of it is right. "
            "BatchNormalization is x k + (bias - mean k), k = scale (1 / sqrt(variance + "
            "epsilon)).");
    else if (a->steps)
        say(page, "steps",
            "Some operators round otherwise, as that runtime's kernels: see the rules.");
    if (a->norms_torch)
        say(page, "norms",
            "BatchNormalization is fma(scale (x - mean), rsqrt(variance + epsilon), bias), "
            "LayerNormalization fma((x - mean) rsqrt(...), scale, bias), RMSNormalization x "
            "rsqrt(...) scale, the reciprocal root being the GPU's own.");
    if (a->recurrence_cudnn)
        say(page, "recurrence",
            "LSTM and GRU round where cuDNN's kernels store: sums over the input always, sums over "
            "the state and the state itself as the type and the sizes choose.");
}

static size_t end_page(struct page *page)
{
    if (page->size > 0)
        page->buffer[page->length < page->size ? page->length : page->size - 1] = 0;
    return page->length;
}

size_t ulp_arithmetic_describe(const struct ulp_arithmetic *arithmetic, char *buffer, size_t size)
{
    ULP_ENTER_ENVIRONMENT;
    struct page page = {.buffer = buffer, .size = size};
    put_text(&page, arithmetic->name);
    put_character(&page, '\n');
    if (arithmetic->half_as_float) {
        say(&page, "storage",
            "The types the model declares, as ONNX Runtime's CPU provider computes them: it has "
            "few kernels for FP16, computes other nodes of an FP16 graph in FP32, and removes the "
            "Casts between two of them.");
        say(&page, "inside",
            "FLOAT16 values are FP32 until a node with an FP16 kernel (Reshape, Concat, Gather, "
            "LayerNormalization, ...), an output of the graph, or a Cast that is followed by a "
            "Cast back rounds them to FP16. The sums of its FP32 kernels have another order.");
    } else if (arithmetic->as_declared) {
        say(&page, "storage",
            "Every tensor has exactly the type the model declares: FLOAT is FP32, FLOAT16 FP16, "
            "and so on.");
        say(&page, "inside",
            "A node computes in the arithmetic of its first float input's type (fp32, fp16, bf16, "
            "fp64: see there), QuantizeLinear from opset 23 on in that of its scale, or of its "
            "precision, rounded after each step; Cast rounds once to the type it names. Other "
            "arithmetics lower (or widen) all float types of a model to their own storage.");
    } else {
        char storage[24];
        describe_storage(&page, arithmetic);
        if (arithmetic->types_declared)
            say(&page, "types",
                "All this of nodes whose results the model declares in %s alone: others compute as "
                "in the arithmetic model, in the types that they declare%s%s.",
                spell(storage, &arithmetic->storage),
                arithmetic->floats ? ", those in FLOAT as in " : "",
                arithmetic->floats ? arithmetic->floats : "");
        describe_steps(&page, arithmetic);
        describe_fusion(&page, arithmetic);
        describe_functions(&page, arithmetic);
        describe_kernels(&page, arithmetic);
        describe_constants(&page, arithmetic);
        describe_products(&page, arithmetic);
        describe_order(&page, arithmetic);
    }
    describe_integers(&page, &arithmetic->schedule);
    return end_page(&page);
}

/* "CumSum: every step is rounded": from the colon on; of another rule, all. */
static const char *tail_of(const struct ulp_rule *rule)
{
    const char *tail = strstr(rule->rule, ": ");
    return tail ? tail : rule->rule;
}

/* The same of an operator, or of two? */
static bool is_alike(const struct ulp_rule *a, const struct ulp_rule *b)
{
    return a->known == b->known && strcmp(tail_of(a), tail_of(b)) == 0 &&
           strcmp(a->by, b->by) == 0 && strcmp(a->on, b->on) == 0 &&
           strcmp(a->shown, b->shown) == 0;
}

/* Is the rule one of the arithmetic's, or of the target's (NULL: none) other arithmetics? */
static bool is_of(const struct ulp_rule *rule, const char *name, const char *target)
{
    const size_t length = target ? strlen(target) : 0;
    return ulp_rule_holds(rule, name) ||
           (length && strncmp(rule->of, target, length) == 0 && rule->of[length] == ':');
}

/* Rules that hold for the arithmetic, those alike together, but for those said before. */
static void put_rules(struct page *page, const char *name, const char *target)
{
    struct ulp_rule rule, other;
    for (size_t i = 0; ulp_target_rule(i, &rule); i++) {
        char names[512] = "";
        size_t used = 0;
        bool said = !ulp_rule_holds(&rule, name);
        for (size_t k = 0; k < i && !said && ulp_target_rule(k, &other); k++)
            said = is_of(&other, name, target) && is_alike(&rule, &other);
        for (size_t k = i; !said && used < sizeof names && ulp_target_rule(k, &other); k++) {
            const int length = (int)(tail_of(&other) - other.rule);
            if (!ulp_rule_holds(&other, name) || !is_alike(&rule, &other) ||
                (k > i && strcmp(rule.rule, other.rule) == 0))
                continue;
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", k > i ? ", " : "",
                                     length, other.rule);
        }
        if (!said)
            say(page, ulp_known_name(rule.known), "%s%s (%s%s%s)%s%s", names, tail_of(&rule),
                rule.by, *rule.on ? "; " : "", rule.on, *rule.shown ? ": " : "", rule.shown);
    }
}

size_t ulp_rules_describe(const char *name, char *buffer, size_t size)
{
    struct page page = {.buffer = buffer, .size = size};
    put_rules(&page, name, NULL);
    return end_page(&page);
}

size_t ulp_target_describe(const struct ulp_target *target, char *buffer, size_t size)
{
    struct page page = {.buffer = buffer, .size = size};
    const struct ulp_runtime *row;
    const size_t front = strlen(target->name);
    put_text(&page, target->name);
    put_character(&page, '\n');
    say(&page, "product", "%s%s%s.", target->product,
        target->alias ? "; the newest: also called " : "", target->alias ? target->alias : "");
    say(&page, "stores", "%s.", target->stores);
    say(&page, "accumulates", "%s.", target->accumulates);
    say(&page, "fuses", "%s.", target->fuses);
    say(&page, "constants", "%s.", target->constants);
    say(&page, "rules", "%s.", target->rules);
    say(&page, "files", "%s.", target->files);
    if (target->wider)
        say(&page, "in FP32", "%s: %s.",
            target->keeps == ULP_KEEPS_TYPES ? "no node of integer kernels"
                                             : "no node by the graph's types",
            target->wider);
    for (size_t i = 0; (row = ulp_arithmetic_runtime(i)); i++)
        if (strncmp(row->name, target->name, front) == 0 && row->name[front] == ':') {
            say(&page, row->name + front + 1, "%s stands for %s.", row->name, row->expansion);
            put_rules(&page, row->name, target->name);
        }
    if (!ulp_runtime_find(target->lowered))
        put_rules(&page, target->lowered, target->name);
    return end_page(&page);
}
