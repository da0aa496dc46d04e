/* What an inference runtime built from a model: the layers of its engine, which nodes each
 * computes, in which types, with which accumulator, and whether a wish was obeyed.
 *
 * The description is the runtime's own: TensorRT's layer information (trtexec --exportLayerInfo,
 * --profilingVerbosity=detailed; getEngineInformation), the model that
 * ONNX Runtime optimised (optimized_model_filepath). It is read (ulp_engine_read), its layers are
 * mapped to the nodes of a compiled model (ulp_engine_map_make), and the mapping gives the
 * arithmetic of every node, so that a lane of a run computes what was built (ulp_engine_map_keeps).
 * doc/engine.md states what is documented, what was observed in real engines and what is inferred.
 */
#ifndef ULPSCOPE_ENGINE_H
#define ULPSCOPE_ENGINE_H

#include <ulpscope/audit.h>
#include <ulpscope/written.h>

/* ---- what the description says ---- */

/* Its form. */
enum ulp_engine_form {
    ULP_ENGINE_JSON, /* TensorRT's layer information, of any version */
    ULP_ENGINE_ONNX, /* ONNX Runtime's optimised model */
};

/* A tensor of a layer. A name may occur several times in a layer, with other dimensions. */
struct ulp_engine_tensor {
    const char *name;
    const char *format; /* as it is written: "Row major linear FP16 format"; "" when it is not */
    enum ulp_type type; /* UNDEFINED: not told ("N/A due to dynamic shapes") */
    int rank;           /* -1: not told */
    int64_t dims[ULP_RANK_MAX]; /* -1: dynamic */
};
struct ulp_engine_layer {
    const char *name;
    const char *kind;     /* LayerType: "CaskConvolution"; "" where only names are told */
    const char *kernel;   /* TacticName; "" when not told */
    const char *metadata; /* "[ONNX Layer: A]\x1e[ONNX Layer: B]"; "" when there is none */
    const char *origin;   /* of a Reformat: "REFORMAT", "QDQ"; else "" */
    const char *activation;
    size_t input_count, output_count; /* [apart] */
    /* inputs: constants behind the others [apart] */
    const struct ulp_engine_tensor *inputs, *outputs;
    enum ulp_type weights, bias; /* UNDEFINED: none, or not told */
    int profile; /* of several optimisation profiles; 0: the first, or the only one */
};
struct ulp_engine {
    const char *path;
    enum ulp_engine_form form; /* [apart] */
    bool names_only;     /* built with profilingVerbosity=layer_names_only: no type can be read */
    const char *version; /* what the fields tell */
    size_t layer_count, binding_count, profile_count; /* [apart] */
    /* in the order of the file, which is that of execution [apart] */
    const struct ulp_engine_layer *layers;
    const char *const *bindings;
    struct ulp_arena *memory; /* private: holds the rest */
};
/* Read a description. Charged to budget (may be NULL). ULP_ERROR_INPUT: nothing in the file is one,
 * or it is malformed. Free with ulp_engine_free. */
ULP_API enum ulp_status ulp_engine_read(const char *path, struct ulp_budget *budget,
                                        struct ulp_engine *out, struct ulp_error *error);
ULP_API void ulp_engine_free(struct ulp_engine *engine);

/* ---- what a kernel's name says ---- */

/* How sure that is. */
enum ulp_certainty {
    ULP_CERTAINTY_UNKNOWN,  /* the name does not tell */
    ULP_CERTAINTY_INFERRED, /* from other names, or from the machine code of a kernel so called */
    /* equal to what the layer information says beside it, in every file; or results of kernels so
     * called were recorded, and are these bits */
    ULP_CERTAINTY_OBSERVED,
    ULP_CERTAINTY_DOCUMENTED, /* by those who wrote the kernel */
};
/* "unknown", "inferred", "observed", "documented". */
ULP_API const char *ulp_certainty_name(enum ulp_certainty certainty);

struct ulp_kernel_name {
    /* names of formats ("fp16", "tf32", "int8", "int32"); "" when the name does not tell */
    const char *multiply, *accumulator, *epilogue, *output;
    enum ulp_certainty certainty; /* of multiply and accumulator */
    bool matrix;                  /* a kernel of products: of a convolution, a MatMul, attention */
    bool unit;                    /* on tensor cores; false: by scalar steps, or not told */
    bool winograd;                /* another algorithm with a larger error, which is not emulated */
    int slices;       /* a sum is cut into (split-k, sliced1x2); 1: it is not; 0: not told */
    int architecture; /* 80 of "sm80": the oldest on which the kernel runs; 0: not told */
    const char *pattern, *source; /* the row of the table that says so, and what that stands on */
};
/* Read the name. Of a name that is no kernel of products `matrix` is false. out->* are static. */
ULP_API void ulp_kernel_name_read(const char *name, struct ulp_kernel_name *out);
/* The rows of the table, in the order in which they are tried: index 0, 1, ... until NULL; pattern,
 * and in *source and *certainty what it stands on. */
ULP_API const char *ulp_kernel_name_pattern(size_t index, const char **source,
                                            enum ulp_certainty *certainty);

/* ---- which nodes a layer computes ---- */

enum ulp_mapped_by {
    ULP_MAPPED_NOT,
    ULP_MAPPED_METADATA, /* "[ONNX Layer: ...]" */
    ULP_MAPPED_NAME,     /* the layer's own name */
    ULP_MAPPED_TENSORS,  /* between its tensors, or between nodes that are mapped */
    ULP_MAPPED_BOUND,    /* somewhere among these nodes: the inside of a ForeignNode */
};
/* "metadata", "name", ...; "not mapped". */
ULP_API const char *ulp_mapped_by_name(enum ulp_mapped_by by);

/* What became of a node. */
enum ulp_engine_map_kind {
    ULP_BUILT_MAPPED,   /* a layer computes it */
    ULP_BUILT_CONSTANT, /* known before the run: a Constant, or what only depends on such */
    ULP_BUILT_MOVED,    /* only moves elements: it needs no kernel */
    ULP_BUILT_TAKEN,    /* computed by the layer before or behind it, which does not name it */
    ULP_BUILT_INSIDE,   /* inside a ForeignNode, whose kernels are not told */
    ULP_BUILT_LOST,     /* nothing says what became of it */
};
ULP_API const char *ulp_engine_map_kind_name(enum ulp_engine_map_kind kind);

struct ulp_engine_map_layer {
    const struct ulp_engine_layer *layer;
    enum ulp_mapped_by by;
    bool helper;   /* the runtime's own: a copy, a change of layout, work on shapes */
    bool product;  /* it computes a MatMul, Conv, ... */
    bool converts; /* it changes the type of what it copies: FP32 to FP16, or back */
    size_t node_count;
    const size_t *nodes; /* as in ulp_program_node_name, ascending [node] */
    /* types at its borders; UNDEFINED: not told */
    enum ulp_type input, weights, output;
    struct ulp_kernel_name kernel;
    /* "fp16", ...: as the name says, or as the types leave no other choice (INT8, FP32 without
     * tensor cores); "" when unknown */
    const char *multiply, *accumulator;
    enum ulp_certainty certainty;
    /* the arithmetic that emulates it; "" when its nodes have that of their neighbours */
    const char *arithmetic;
    const char *assumed; /* what is emulated otherwise than it may be, in words; "" for nothing */
};
struct ulp_engine_map_node {
    const char *name, *op;
    enum ulp_engine_map_kind kind;
    ptrdiff_t layer;    /* that computes it, of several the last; -1: none */
    size_t layer_count; /* how many layers compute a part of it */
};
/* Initialise with zeros and set the wanted ones. */
struct ulp_engine_map_options {
    size_t size;                     /* ULP_OPTIONS */
    const char *unknown_accumulator; /* "fp16" or "fp32" (NULL), of kernels that do not tell */
    const char *gpu; /* whose matrix unit: "a100", ...; NULL: by the kernels' newest architecture */
};
struct ulp_engine_map {
    const char *model_path;
    const struct ulp_engine *engine;
    size_t layer_count, node_count;
    struct ulp_engine_map_layer *layers; /* those of the first profile */
    struct ulp_engine_map_node *nodes;   /* of the program */
    bool numbered;                    /* its names are "Conv_0": operator and index in the file */
    const char *gpu;                  /* whose units are emulated; "": none, it runs on a CPU */
    size_t kinds[ULP_BUILT_LOST + 1]; /* of nodes [by ulp_engine_map_kind] */
    /* products: by accumulator, and by the type that is multiplied */
    size_t products, fp16_accumulators, fp32_accumulators, int32_accumulators, unknown_accumulators;
    size_t fp32_products, tf32_products, fp16_products, bf16_products, int8_products, fp8_products,
        winograd, sliced;
    const struct ulp_program *program; /* private: whose nodes these are */
    struct ulp_arena *memory;          /* private: holds the rest */
};
/* Map the engine's layers to the program's nodes. engine and program must outlive *out.
 * ULP_ERROR_USAGE: an option is unknown, or the description has nothing to do with this model (no
 * layer names one of its nodes or values). Free with ulp_engine_map_free. */
ULP_API enum ulp_status ulp_engine_map_make(const struct ulp_engine *engine,
                                            const struct ulp_program *program,
                                            const struct ulp_engine_map_options *options,
                                            struct ulp_engine_map *out, struct ulp_error *error);
ULP_API void ulp_engine_map_free(struct ulp_engine_map *built);

/* ---- computing what was built ---- */

/* A lane of a run that computes what was built: every node in its layer's arithmetic, the nodes of
 * a layer as one kernel. A node in several layers is in the last one's arithmetic; one without a
 * layer in that of the node before it. Give the parts to ulp_program_create, for a program of the
 * same model. Free with ulp_engine_map_lane_free. */
struct ulp_engine_map_lane {
    const char *name; /* for ulp_program_options.names */
    struct ulp_arithmetic arithmetic;
    struct ulp_keeps keeps;
    struct ulp_groups groups;
    struct ulp_arena *memory; /* private: holds the rest */
};
/* name: of the lane, "engine". other: NULL, or what was built of the same model in another way, and
 * the nodes that are as there: of_other[node]. */
ULP_API enum ulp_status ulp_engine_map_lane_make(
    const struct ulp_engine_map *built, const char *name, const struct ulp_engine_map *other,
    const bool *of_other, struct ulp_engine_map_lane *out, struct ulp_error *error);
ULP_API void ulp_engine_map_lane_free(struct ulp_engine_map_lane *lane);

/* ---- was it obeyed? ---- */

enum ulp_wish_verdict {
    ULP_WISH_OBEYED,
    ULP_WISH_PARTLY, /* by some nodes, or by some of the layers that compute a node */
    ULP_WISH_DISOBEYED,
    ULP_WISH_NO_MATCH,   /* no node of the model is called so */
    ULP_WISH_UNKNOWABLE, /* names only, inside a ForeignNode, or no layer computes the nodes */
};
/* "obeyed", "partly obeyed", "not obeyed", "matches nothing", "unknowable". */
ULP_API const char *ulp_wish_verdict_name(enum ulp_wish_verdict verdict);

/* One constraint. FP32 is obeyed by TF32, too, as TensorRT means it. */
struct ulp_wish {
    const char *pattern, *type; /* "norm*", "fp32" */
    enum ulp_wish_verdict verdict;
    size_t node_count; /* that it names and that compute something */
    size_t obeyed, disobeyed, unknown;
    /* the first that does not obey; -1: none */
    ptrdiff_t node; /* [node] */
    ptrdiff_t layer;
    const char *ran;  /* what that one ran in; else what all ran in; "" when not known */
    const char *hint; /* of no match: names near it, or that it is a layer's; "" for none */
};
struct ulp_wishes {
    size_t count;
    size_t counts[ULP_WISH_UNKNOWABLE + 1]; /* [by ulp_wish_verdict] */
    struct ulp_wish *items;                 /* [count count] */
    struct ulp_arena *memory;               /* private: holds the rest */
};
/* Was each kept entry of the plan obeyed, or each entry of trtexec's --layerPrecisions
 * (doc/engine.md)? Either may be NULL. Free with ulp_wishes_free. */
ULP_API enum ulp_status ulp_engine_map_wishes(const struct ulp_engine_map *built,
                                              const struct ulp_precision_plan *plan,
                                              const char *layer_precisions, struct ulp_wishes *out,
                                              struct ulp_error *error);
ULP_API void ulp_wishes_free(struct ulp_wishes *wishes);

/* ---- in words ---- */

/* The verdict alone, a line. Free *out with free(). */
ULP_API enum ulp_status ulp_engine_map_verdict(const struct ulp_engine_map *built, char **out,
                                               struct ulp_error *error);

/* The verdict first, in a sentence; then what ran, layer by layer, and what became of the nodes.
 * wishes may be NULL. shown: rows of each table; 0: all. Free *out with free(). */
ULP_API enum ulp_status ulp_engine_map_text(const struct ulp_engine_map *built,
                                            const struct ulp_wishes *wishes, size_t shown,
                                            int width, bool colour, char **out,
                                            struct ulp_error *error);
/* Write engine.json (doc/fields.md). wishes may be NULL. */
ULP_API enum ulp_status ulp_engine_map_write(const struct ulp_engine_map *built,
                                             const struct ulp_wishes *wishes,
                                             enum ulp_output_kind as, const char *path,
                                             struct ulp_error *error);

#endif
