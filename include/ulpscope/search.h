/* Searching for the cheapest allocation: a format for each layer with which the outputs meet a
 * tolerance. `ulpscope plan` asks which nodes to keep in a wider arithmetic (two formats, every
 * node a layer); `ulpscope quantise` which format of a list the factors of each product get.
 *
 * What error a format makes is measured with the layer alone in it; to first order the powers of
 * all layers add up.
 *
 * That only says what to try. Every allocation is judged by emulating it, the one given meets the
 * tolerance in every sample, and in the end every layer was given a cheaper format by itself, in
 * vain. No search can promise that no other allocation is cheaper. */
#ifndef ULPSCOPE_SEARCH_H
#define ULPSCOPE_SEARCH_H

#include <ulpscope/audit.h>
#include <ulpscope/mixed.h>
#include <ulpscope/written.h>

/* What allocations are counted by: "nodes" (of a plan those in the wider format; else the bits of a
 * value, every node alike), "bits" (every layer alike), "macs" (times multiply-adds and element
 * operations), "bytes" (of constants and results), "weights" (bits of float constants),
 * "nodes+macs" (each a part of all nodes and of all multiply-adds, which together are 100, half of
 * each). NULL beyond. Static storage. */
ULP_API const char *ulp_search_cost_name(size_t cost);

/* What a plan meets where nothing is asked: an error of 1 % of each output's rms, which verdicts
 * call fine of outputs that are for nothing known. */
#define ULP_SEARCH_FINE "sqnr_db=40"
/* The share of draws that must hold where nothing is asked. */
#define ULP_SEARCH_CONFIDENCE 0.99

struct ulp_search_options {
    size_t size; /* ULP_OPTIONS */
    struct ulp_arithmetic reference;
    /* Of a plan two arithmetics, the wider one first. Else formats with scales ("nvfp4",
     * doc/scales.md), one of which the factors of each MatMul, Gemm and Conv of the main graph get,
     * and one other ("bf16", which is added where there is none) in which all else is computed.
     * Factors are scaled back and multiplied there, as fake quantisation does */
    const char *const *formats;
    size_t format_count;
    /* A plan: every node is a layer. NULL for the wider format: what each target makes of FP32,
     * TF32 where that is its default, and FP32 with TF32 forbidden where the plan needs it or costs
     * a fifth less */
    bool by_node;
    /* One of ulp_search_cost_name (doc/plan.md). NULL: "nodes+macs" for a plan, "nodes" with a
     * budget, else "weights" */
    const char *cost;
    /* "METRIC=VALUE" or "OUTPUT:METRIC=VALUE", figures of the whole error as ulp_audit_check takes
     * them, of every sample. All must be met; besides, outputs must be finite where the reference
     * is, and integers equal. Outputs are judged that some tolerance is of: one without "OUTPUT:"
     * is of all. None, of a plan: ULP_SEARCH_FINE */
    const char *const *tolerances;
    size_t tolerance_count;
    /* patterns (struct ulp_keep): nodes in the widest format whatever happens, and in the narrowest
     * of a list */
    const char *const *always, *const *never;
    size_t always_count, never_count;
    /* Of a plan: the most that may be paid besides `always`, by `cost`; 0: as much as the tolerance
     * needs. Of formats with scales: the mean bits of a factor's value, scales included, weighted
     * by `cost`; the least error for these is found, and a tolerance need not be given */
    double budget;
    /* Of a plan: targets ("trt10@a100"), or arithmetics, in each of which it must hold, with what
     * they fuse; none: the narrower format. Of a model that declares FP16 or BF16 values a target
     * that obeys declared types has nodes in its own arithmetic where they are declared so
     * (types=declared). It is searched node by node in the one where all nodes' error is largest.
     * Of formats with scales, one: what quantised.onnx is judged in */
    const char *const *targets;
    size_t target_count;
    /* Of a plan: so much of 50 draws must hold, and no more are expected to fail. A draw is a
     * problem close by a sample, in which every rounding falls anew, with another legal schedule of
     * sums. 0: ULP_SEARCH_CONFIDENCE */
    double confidence;
    /* Also write mixed.onnx into this folder, which is there (ulp_mixed_write), or of formats with
     * scales quantised.onnx (doc/scales.md); NULL: do not */
    const char *mixed_folder;
    bool lower_io; /* of mixed.onnx: struct ulp_mixed_options */
    /* Not 0: the model's error, as if the layers' errors did not know each other, is also at most
     * so many times what is allowed. With few samples an allocation else fits their roundings */
    double expected;
    /* After so many seconds nothing more is tried, and the result is the best so far; 0: no limit.
     * Only then a result may differ from run to run */
    double seconds;
    bool allow_nonfinite_inputs; /* else NaN or infinity in a sample: ULP_ERROR_LIMIT */
    int thread_count;
    const struct ulp_observer *progress; /* `cancelled` is asked before each run; may be NULL */
    /* Of formats with scales: for TensorRT, which takes nvfp4, mxfp8 with scales rounded up and
     * fp8-tensor along the last axis of what is multiplied with weights. quantised.onnx then has
     * its operators, and scales of tensors that are constants, of the samples */
    bool tensorrt;
    /* of integers in quantised.onnx: signed codes as unsigned ones with a zero point in the middle,
     * the same numbers, whose sums ONNX Runtime does not saturate on any processor, and whose
     * graphs its optimiser keeps loadable (lint's qdq-passed) */
    bool unsigned_codes;
    /* A budget below the fewest bits that the products can have is these; else it is refused */
    bool budget_yields;
    enum ulp_task task; /* of float outputs; ULP_TASK_UNKNOWN: each is recognised */
    const struct ulp_factor_ranges *ranges; /* of arithmetics with scales=static; else NULL */
    /* what the model was made of: where a constant is not its, nothing is searched; NULL: they are
     * not compared */
    const struct ulp_model *original;
    /* judges every sample, besides the tolerances; NULL: there is none */
    const struct ulp_scorer *scorer;
};

struct ulp_search_format {
    char *name, *arithmetic;        /* "bf16"; as --keep takes it */
    double bits;                    /* of a value: with the sign, and its part of the scale */
    size_t layer_count, node_count; /* that have it */
};

struct ulp_search_layer {
    size_t index; /* of its first node */
    char *name, *op;
    double weight, cost;
    size_t format; /* [in formats] */
    /* per value. Of TF32: 19 for products, which round their factors to it, else 32 */
    double bits;
    /* its part of the error's power, as the model has it: all add up to 1; NaN: the
     * time was over before products were run alone */
    double share;
    /* How many times too large the error is when this layer alone gets a cheaper format, by the
     * model and emulated, in the sample that showed it; NaN: not tried */
    double predicted, without;
    /* that format, of several the one with the least error; -1: none [in formats] */
    ptrdiff_t fewer;
    /* of formats with scales: the module of PyTorch, as of a node below */
    char *module;
};

struct ulp_search_node {
    size_t index;
    char *name, *op;
    size_t format;      /* [in formats] */
    bool always, never; /* as asked */
    double without;     /* of its layer */
    /* of a plan: the innermost module of PyTorch that it is of, as the exporter's metadata, its
     * weights or itself are named; NULL: they do not say, "": the model itself */
    char *module;
};

/* One sample: the output and tolerance that is worst. ratio: how many times too large the error is
 * (sqnr_db 6 dB below its tolerance: 2), 1 or less within the tolerance; +infinity: something is
 * not finite or diverges, and metric says which of the two. */
struct ulp_search_sample {
    char *name, *output, *metric;
    double value, ratio;
};

/* A plan in one of the arithmetics that it is for. Ratios as above. */
struct ulp_search_target {
    char *name;     /* the arithmetic, as asked for */
    char *rests_on; /* as ulp_judged_rests says; NULL: all is recorded or documented */
    size_t draw_count, held_count; /* draws, and those within the tolerance */
    char *output, *metric;         /* of the draw that is worst */
    double value, ratio;
    double median; /* the ratio that half of the draws have at most */
    double own;    /* the worst ratio of the samples themselves */
    /* nodes in kernels with others, with the plan and without */
    size_t fused_count, fused_before;
    /* the worst sample without the plan as the target fuses; before_samples are node by node */
    struct ulp_search_sample fused_sample;
    bool kept_apart; /* a kept node is a kernel of its own (fuse-casts=stored) */
    /* as many independent directions share the error as its spread over the draws says: below about
     * ten a single run says little */
    double freedom;
};

/* An output that is nothing but a decision, which the widest format everywhere takes otherwise than
 * the reference, too: nothing can be asked of it. What it is to those who use it, with the widest
 * format everywhere and with the allocation: "2 of 300 integers differ". */
struct ulp_search_decided {
    char *name, *widest, *found;
};

/* An input of the graph with free dimensions: the shapes of the samples, "1x3x224x224": the least
 * and the largest of each dimension, and the first sample's. */
struct ulp_search_input {
    char *name, *least, *first, *largest;
};

/* One format for all layers. */
struct ulp_search_uniform {
    size_t format; /* [in formats] */
    double bits, ratio;
    double emulated; /* the ratio of its run alone, without options.expected */
};

/* The cheapest allocation that was found. Strings and arrays belong to the result. */
struct ulp_search {
    char *model_path, *arguments, *reference, *cost;
    char *asked;   /* words of the command besides: products that have a format, costs */
    char *base;    /* the arithmetic that the entries are over, and of what belongs to no layer
                    * [apart] */
    bool by_node;  /* a plan */
    double budget; /* of formats with scales: the mean bits that were allowed; 0: any */
    char *target;  /* of formats with scales: what quantised.onnx is for; NULL: none was named */
    size_t tolerance_count;
    char **tolerances;
    bool by_default; /* none was asked for */
    bool scored;     /* options.scorer judged, too */
    /* nothing was searched, as a target refuses the model or it is not its original: what and
     * where, and what to do; NULL: none is known to */
    char *refused, *refused_why, *refused_fix;
    /* With the widest format everywhere, too, something is decided otherwise than by the reference
     * (scores that are nearly equal, say): all runs take the reference's decisions
     * (ulp_run_options.follow) */
    bool follows;
    size_t decided_count;
    struct ulp_search_decided
        *decided; /* outputs of which then nothing is asked [count decided_count] */
    /* Worst ratios: with the narrowest format in every layer (NaN: not run), with the widest; the
     * rest of these figures is of the allocation, NaN without one */
    double before, full;
    bool met; /* it holds for every sample */
    /* and not when any single layer gets a cheaper format: all was tried. With a budget of bits: no
     * single layer in another format, others giving way, has less error */
    bool minimal;
    bool timed_out;          /* the time was over */
    double ratio, predicted; /* emulated, and by the model */
    /* of the output that is worst by what it is for, in the samples with the allocation */
    enum ulp_grade grade;
    char *grade_text; /* "fine (classify by name: 0 of 3 first choices change)"; NULL: there is none
                       */
    double bits;      /* the mean over layers, weighted */
    double total_cost, total_weight;
    size_t format_count;
    struct ulp_search_format *formats; /* those that are used, by bits */
    size_t layer_count;
    struct ulp_search_layer *layers; /* in order of execution [apart] */
    size_t node_count; /* that have a format: of a plan all but constants, else those of floats */
    /* by index, with their formats; none without an allocation [count node_count] [apart] */
    struct ulp_search_node *nodes;
    size_t narrow; /* the narrowest format of a node [in formats] */
    size_t kept_count;
    struct ulp_search_node *kept; /* those of `nodes` in another one [count kept_count] */
    ptrdiff_t uniform;            /* of uniforms: the smallest that meets the tolerance; -1: none */
    size_t uniform_count;
    struct ulp_search_uniform *uniforms; /* that were run, by bits [apart] */
    /* of static scales: those of the arithmetic, which ulp_precision_plan_read takes from
     * plan.json */
    size_t range_count;
    struct ulp_search_range {
        char *node, *factor;
        double largest, least;
        char *value; /* whose scale it is, by name; NULL: its own */
    } * ranges;
    /* of ulp_quantise_run: ranges that few values stretch, as a mask's -65504, or one sample alone,
     * numbers first, then samples in the order of the graph: largest magnitudes, of all and of
     * those that are not far out */
    size_t stretched_count;
    struct ulp_search_stretched {
        char *node, *factor;
        char *sample; /* the only one that has them; NULL: several, or there is only one */
        double largest, rest;
        double part; /* of the values that are no zeros; NaN: not counted */
    } * stretched;
    /* of ulp_quantise_run: what was tried besides, and what the worst output has without and with
     * it, as a mean over the samples that judge; kept where that is better */
    size_t remedy_count;
    struct ulp_search_remedy {
        char *what;
        double without_db, with_db;
        bool kept;
    } * remedies;
    /* of formats with scales: MatMul, Gemm and Conv of the main graph that stay as they are,
     * whoever left them; named: the file has the node by that name, and no other */
    size_t left_count;
    struct ulp_search_left {
        char *name;
        bool named;
    } * left;
    /* products that no format is looked for: of functions, and of bodies and branches */
    size_t called_count, inner_count;
    bool many_outputs; /* a product's error need not be of the worst one */
    double confidence; /* of a plan, as asked */
    /* of a plan that keeps every node, as no fewer held in the draws: the smallest set of nodes
     * that met the tolerance in the samples, and in how many of the draws that it was tried in; 0:
     * none did */
    size_t nearly_kept, nearly_held, nearly_drawn;
    size_t target_count;
    struct ulp_search_target *targets;
    /* of a plan that keeps products in FP32: "allowed" (targets compute them in TF32, and that was
     * judged) or "forbidden" (it holds only without TF32); NULL: nothing depends on it. What
     * forbids it to the targets: "use_tf32=0", and the same as lines of Python; NULL: nothing need
     * be said, or no target was named */
    char *tf32, *tf32_forbidden_by, *tf32_python;
    size_t place_count;
    struct ulp_place *places; /* of each node of the plan, by index; without histograms */
    /* of a plan: what is kept, and of all nodes: multiply-adds and element operations; bytes of
     * constants and results, in the widest format */
    double kept_macs, macs, kept_bytes, bytes;
    size_t input_count; /* with free dimensions */
    struct ulp_search_input *inputs;
    size_t sample_count, before_count, validated_count;
    bool drawn;           /* inputs of a sample are random (ulp_model_random_inputs), not given */
    size_t validated_met; /* those of `validated` that meet the tolerance */
    struct ulp_search_sample *samples;        /* with the allocation */
    struct ulp_search_sample *before_samples; /* of a plan: without it [count before_count] */
    struct ulp_search_sample *validated;      /* samples held out, with the allocation */
    size_t entry_count;                       /* [apart] */
    /* the allocation as entries of struct ulp_keep over `base`: of several that name a node the
     * last applies [apart] */
    struct ulp_search_entry {
        char *pattern;
        const char *arithmetic;
    } * entries;
    /* borders (struct ulp_border): Casts, the elements they convert and the bytes they read and
     * write, as far as shapes are known before a run */
    size_t cast_count, cast_elements, cast_bytes;
    struct ulp_search_cast {
        char *value;
        size_t format; /* that it is read in [in formats] */
        size_t elements, reader_count;
    } * casts;
    struct ulp_mixed mixed; /* with options.mixed_folder; else zeros [apart] */
    /* the worst ratio with the allocation and what mixed.onnx has in FLOAT besides; NaN: there is
     * no such lane, because the widest format is another type than FLOAT */
    double mixed_ratio;
    /* of formats with scales: the worst ratio where factors are multiplied by the unit of this GPU
     * that takes their scales; NaN, and none: they are not */
    double unit_ratio;
    char *unit;
    /* of formats with scales, with options.mixed_folder: quantised.onnx, and the first opset it
     * needs; or why it is not there. Constants and values that it quantises. The worst ratio where
     * it runs in its declared types; NaN: it is not there */
    char *quantised, *quantised_reason;
    int64_t quantised_opset;
    bool tensorrt; /* its operators are TensorRT's */
    size_t quantised_constants, quantised_values;
    double declared_ratio;
    bool quantised_bits; /* that file was run and has the bits of the plan's runs */
    char *declared_in;   /* the arithmetic that it ran in: "model", or the target's */
    /* products whose values ONNX Runtime's CPU provider rounds to INT8 there, however the file
     * quantises them (lint's weights-coded) */
    size_t declared_coded;
    size_t runs,
        tried;   /* emulations of one sample; layers tried with a cheaper format in the end */
    double work; /* what they computed, in whole runs of one sample */
    double seconds;
    double audit_seconds;     /* of the first audit (all samples) [apart] */
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Search. Samples may have any shapes that leave the same nodes to compute (ULP_ERROR_INPUT:
 * others), those held out, too; bytes, macs and casts are counted in the first one's. held_out:
 * samples that are judged with the allocation found and were not used to find it. A tolerance that
 * even the widest format does not meet is no error: `met` is false then. Free *out with
 * ulp_search_free. */
ULP_API enum ulp_status ulp_search_run(const struct ulp_model *model,
                                       const struct ulp_search_options *options,
                                       const struct ulp_sample *samples, size_t sample_count,
                                       const struct ulp_sample *held_out, size_t held_count,
                                       struct ulp_search *out, struct ulp_error *error);
ULP_API void ulp_search_free(struct ulp_search *search);

/* The result as text, the verdict first; free *out with free(). width and colour as in
 * ulp_report_text. */
ULP_API enum ulp_status ulp_search_text(const struct ulp_search *search, int width, bool colour,
                                        char **out, struct ulp_error *error);
/* The files that ulp_search_write may make: index 0, 1, ... until NULL. Static storage. */
ULP_API const char *ulp_search_file_name(size_t index);
/* Write plan.json (doc/plan.md), which ulp_precision_plan_read takes; the
 * allocation as options and scripts for TensorRT's tools, where these have its formats
 * (trtexec.txt, npps.py, autocast.txt, strongly_typed.txt); the same nodes as other tools' options
 * take them (exclude.txt) beside it in a folder. Those of these files that an earlier result left
 * there, and this one has not, are removed, as ulp_search_run does with mixed.onnx and
 * quantised.onnx. */
ULP_API enum ulp_status ulp_search_write(const struct ulp_search *search, enum ulp_output_kind as,
                                         const char *path, struct ulp_error *error);

#endif
