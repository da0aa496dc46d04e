/* One operator = one row. A row reads like the operator's text in the ONNX specification;
 * everything else (coverage tables, planning, every arithmetic) follows from it. Exactly one of
 * formula and run is set.
 *
 * A family's file ends in `const struct ulp_operator ulp_ops_FAMILY[]`, closed by a row whose name
 * is NULL; registry.c lists the families. Several rows of one name: the newest `since` <= the
 * model's opset counts; of several with that `since`, the first whose `when` holds for the node's
 * attributes. */
#pragma once

#include "formula/layout.h"
#include "graph/graph.h"
#include "kernels/contract.h"
#include "ops/prepared.h"

struct ulp_operator;
struct ulp_block;
struct ulp_call;
struct ulp_lane;
struct ulp_trace;
struct ulp_probe;

/* Runs a compiled body of If, Loop or Scan in the lane of the call (run/block.c). */
struct ulp_host {
    /* block: bound->blocks[attribute's index]. inputs: the body's inputs; captured outer values are
     * the call's inputs after the node's own. outputs[i] are described, allocated and filled; the
     * caller frees them with ulp_tensor_free. */
    enum ulp_status (*run)(const struct ulp_call *call, const struct ulp_block *block,
                           size_t input_count, const struct ulp_tensor *const *inputs,
                           size_t output_count, struct ulp_tensor *outputs,
                           struct ulp_error *error);
    const struct ulp_lane *lane; /* of the call */
};

/* An attribute's value for one node: given or default. Index order is that of the row's attribute
 * text. */
struct ulp_attribute_value {
    bool present; /* given by the node or by a default */
    int64_t i;
    float f;
    const char *s;
    size_t count;
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    const struct ulp_tensor *tensor;
    const struct ulp_graph *graph;
};

#define ULP_ATTRIBUTES_MAX 24

/* One name of a row's inputs, outputs, attributes or derived text. */
struct ulp_slot {
    const char *name;
    char kind; /* inputs: the letter of types after ':', 0 when there is none */
    bool optional, variadic;
    /* inputs: the letters of how run takes it */
    bool mixed, number, compared, table, packed, in_blocks;
    const char *text; /* of the default, NULL when there is none */
};

/* A formula that a run function evaluates over rows of its own, by address (ulp_call_formula). */
struct ulp_formula {
    const char *operands, *outputs; /* names in order; the last expression is the first output */
    const char *text;
};
#define ULP_FORMULAS(...)               \
    (const struct ulp_formula *const[]) \
    {                                   \
        __VA_ARGS__, NULL               \
    }

/* Formulas beside the row's own, which an arithmetic may ask for. */
enum ulp_variant {
    ULP_VARIANT_PLAIN,         /* op->plain */
    ULP_VARIANT_TORCH,         /* op->torch */
    ULP_VARIANT_ORT_CUDA_BF16, /* those of steps.def, where they differ in BF16 */
    ULP_VARIANT_ORT_CUDA,
    ULP_VARIANT_WEBGPU,
    ULP_VARIANT_ORT_CPU,
    ULP_VARIANT_HTP_FEW, /* behind ULP_BEHIND_FEW, and so on: the first that fits */
    ULP_VARIANT_HTP_ODD,
    ULP_VARIANT_HTP_MANY,
    ULP_VARIANT_HTP,
    ULP_VARIANT_COUNT
};

/* Which product by constant weights a step follows so that a runtime may compute it in the same
 * kernel (run/program/behind_product.c). */
enum ulp_behind {
    ULP_BEHIND_NONE,
    ULP_BEHIND_MANY, /* of more than 64 rows (a Conv: places of its only dimension) */
    ULP_BEHIND_ODD,  /* the same, no multiple of 8 */
    ULP_BEHIND_FEW   /* of fewer rows, or of rows in more dimensions */
};

/* A row bound to a node by the compiler of programs: immutable, shared by lanes and threads. */
struct ulp_bound {
    const struct ulp_operator *op;
    const struct ulp_node *node;
    int64_t opset; /* of the node's domain */
    size_t input_slot_count, attribute_count, derived_count;
    /* of the row's outputs so many come first that run writes without asking whether they are
     * wanted */
    size_t required_output_count;
    /* a variadic last one is repeated as often as the node gives it: x0, x1, ... */
    const struct ulp_slot *inputs;
    uint32_t weights; /* bit i: op->weights names input i */
    /* some input is read as numbers, so that derivatives stop there; the order of one's elements
     * decides */
    bool stops, compares;
    const struct ulp_slot *attribute_slots;
    const struct ulp_slot *derived;
    const struct ulp_attribute_value *attributes; /* parallel to attribute_slots */
    /* of op->formula, or of op->epilogue; operands: [acc], inputs, attributes, derived */
    struct ulp_tape *tape;
    struct ulp_tape *variants[ULP_VARIANT_COUNT]; /* NULL: none */
    struct ulp_tape **formulas;                   /* parallel to op->formulas */
    struct ulp_prepared *prepared;
    bool shares_tapes; /* another's, with what is prepared of them, which is freed with that one */
    uint64_t key;      /* of the node's stochastic stream */
    /* planned bodies of graph attributes, in attribute order; NULL when there are none */
    struct ulp_block *const *blocks;
};

/* call/arguments.c. NULL: the row has no attribute of that name. */
const struct ulp_attribute_value *ulp_bound_attribute(const struct ulp_bound *bound,
                                                      const char *name);
/* Input i of a contraction is one of op->weights. */
static inline bool ulp_is_weight(const struct ulp_bound *bound, size_t i)
{
    return i < 32 && bound->weights >> i & 1;
}

/* One evaluation: a node, one lane, actual inputs. */
struct ulp_call {
    const struct ulp_bound *bound;
    const char *name; /* of the node in the program */
    const struct ulp_arithmetic *arithmetic;
    size_t input_count, output_count;
    /* NULL: omitted. While planning, data may be NULL (only the shape is known) */
    const struct ulp_tensor *const *in;
    /* out[i] described by infer, allocated by the caller before run; type UNDEFINED: not wanted. A
     * required output that the node leaves out is memory of the call's own */
    struct ulp_tensor *out;
    struct ulp_arena *scratch; /* freed after the call */
    struct ulp_error *error;   /* where failures are told; set by ulp_call_run and its like */
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    uint32_t constants;     /* bit i: in[i] is a constant of the model */
    enum ulp_behind behind; /* what the step follows */
    /* of a Conv whose weights have a BatchNormalization's multiplier: what takes it out of the sums
     * again, by channel; NULL: of others */
    const struct ulp_tensor *unscale;
    const struct ulp_host *host; /* runs subgraphs for If, Loop, Scan; NULL while compiling */
    /* list of ulp_call_temporary, shared by copies of the call; set by ulp_call_run */
    struct ulp_temporary **temporaries;
    uint64_t draws; /* stochastic streams taken so far (call/formula.c) */
    /* of an operator with a table, or with a weight in blocks: a constant as the model has it, to
     * be lowered as this arithmetic does. NULL: it is as the lane holds it */
    const struct ulp_arithmetic *lowering;
    /* records what the call computes, for its derivatives (ops/trace/trace.h): the lane is fp64
     * then, and floats are names. NULL: none */
    struct ulp_trace *trace;
    struct ulp_probe *probe; /* is told what the call holds inside (ops/probe.h); NULL: none */
    /* what decides in place of in[], of an operator that decides inside; NULL: in[] does */
    const struct ulp_tensor *const *followed;
};

/* Describe out[0 .. output_count) with ulp_call_describe from inputs' types and shapes and from the
 * values of inputs whose data is not NULL. Returns ULP_OK with out[i].type UNDEFINED when a needed
 * value is not known yet (only while compiling). */
typedef enum ulp_status ulp_infer_fn(struct ulp_call *call);
/* Compute out[]; not called when all of them are empty. */
typedef enum ulp_status ulp_run_fn(struct ulp_call *call);
/* Lay the tape's operands over rows: fill the layout's rows, operands and outputs (tables from
 * call->scratch). Operand order: the row's inputs, its attributes, its derived ones. Tensors and
 * constants of inputs and attributes are set already. */
typedef enum ulp_status ulp_rows_fn(struct ulp_call *call, const struct ulp_layout *layout);

/* What an operator does with its elements. */
enum ulp_work {
    ULP_WORK_FORMULA,     /* formulas: its own, or those that its run function makes */
    ULP_WORK_MOVE,        /* elements are chosen, moved or made, and converted at most */
    ULP_WORK_CONTRACTION, /* sums of products through ulp_contract, whatever comes before and after
                           */
    ULP_WORK_CONTROL,     /* bodies are run */
};

/* Where an operator that moves elements takes those of its outputs from: of input 0 unless it says
 * otherwise, by places that depend on shapes and on other inputs alone. */
enum ulp_route {
    ULP_ROUTE_OTHER,   /* not so: by values (TopK), or made */
    ULP_ROUTE_SAME,    /* element i from element i (Reshape, Cast) */
    ULP_ROUTE_INDEXED, /* by strides (Transpose, Slice, Expand): a view of the memory */
    ULP_ROUTE_COPIED,  /* from elsewhere, by indices or beside what is filled in (Gather, Pad) */
    ULP_ROUTE_JOINED,  /* of all inputs, each element of one of them (Concat) */
};

struct ulp_operator {
    const char *name, *domain; /* domain NULL: ai.onnx */
    int since, until;          /* opset versions; until 0: still valid */
    /* "attribute=value": the row is for nodes whose attribute has that value; "outputs=N" or
     * "inputs=N", with N outputs or inputs. NULL: for all. */
    const char *when;
    /* Names in order: "x scale:f bias:m?=-0 rest*". After ':' a letter of types: i integers, b
     * BOOL, f floats of any type, p floats that configure the operator (Resize's scales: constant
     * ones are never rounded to the lane's storage), * any type; all inputs without one have one
     * type. Then letters of how run takes it:
     *   m  in another float element than the others (an F32 bias beside WIDE activations); formulas
     *      and weights take all so
     *   n  as numbers, by itself ("grid"), so that derivatives stop there
     *   c  compared: the order of its elements decides what is taken
     *   t  a table: where it is a constant, as the model has it; what was chosen of it is lowered
     *      (ulp_call.lowering), so that a lane needs no copy of an embedding
     *   u  packed, where it is a constant of less than 8 bits (tensor/stored.h)
     *   k  in blocks: a weight of one matrix that is given to ulp_call_contract alone; a large one
     *      is taken as the model has it, and a block of its lines is lowered at a time
     * '?' optional; "=TEXT" the number an absent one stands for in the formula (-0 is the exact
     * neutral element of addition); '*' the last may repeat: "f(x, ...)" in a formula stands for
     * f(f(x0, x1), x2) over all of them, and "#x" for their number. */
    const char *inputs;
    const char *outputs; /* "y mean? inv_std_dev?": run asks for the latter with ulp_call_wants */
    /* "name:kind[=default]; ..." kind: int float string ints floats strings tensor graph; a '!'
     * before the kind: required. Attributes not listed are refused at compiling. Floats take their
     * exact FP32 value. Listed ones can be named in the formula. */
    const char *attributes;
    /* further operands of the formula, which `rows` computes: "taps position" */
    const char *derived;
    ulp_infer_fn *infer;
    ulp_rows_fn *rows; /* with formula; NULL: elementwise with broadcasting */
    const char *formula;
    const char *torch; /* the formula under norms=torch; NULL: none */
    const char *plain; /* the formula under exponentials=plain, of the same outputs; NULL: none */
    ulp_run_fn *run;
    const char *epilogue; /* with run = a contraction: formula over "acc", inputs and attributes */
    /* with run: formulas that it evaluates, closed by NULL, parsed when the row is bound. Those
     * whose text depends on shapes are not among them (ulp_call_text) */
    const struct ulp_formula *const *formulas;
    enum ulp_work work;
    enum ulp_route route;
    /* of a contraction: the inputs that are its second factors and nothing else, "w r". Where they
     * are constants they are its weights. NULL: both factors are activations */
    const char *weights;
    bool integer_sums; /* of a contraction: INT32 sums over quantised values */
    /* of those: which sums integers=saturating16 saturates, by the types of the factors */
    enum ulp_pair_kind {
        ULP_PAIRS_NONE,
        ULP_PAIRS_UNSIGNED, /* UINT8 by INT8 */
        ULP_PAIRS_ANY       /* any byte by INT8: signed ones become unsigned ones */
    } pairs;
    /* run describes and allocates the outputs itself (control flow: their shapes are known
     * afterwards) */
    bool allocates;
    /* run reads only the shapes of its inputs (Shape, Size): its result is known as soon as they
     * are */
    bool shape_only;
    /* optional: refuses attribute values this version does not compute (ULP_ERROR_UNSUPPORTED);
     * inputs may be unknown */
    ulp_infer_fn *check;
    /* its integer outputs are amounts in steps of a scale: a step of difference is an error to
     * measure, not another decision */
    bool quantizes;
    /* integers that run makes of floats go to its outputs alone: its floats do not depend on them
     */
    bool hands_integers;
    /* "attention" or "recurrence": the part of an arithmetic's name that chooses how it computes */
    const char *kernel;
    /* 0, or the input whose type, unless the attribute `precision` names one, is what the standard
     * rounds each step to: so do lanes of declared types */
    int steps_as;
    int parameter; /* for infer, rows and run functions that serve several rows */
};

/* How an INT8 kernel computes `op_type` ("MatMul", "Gemm", "Conv") between DequantizeLinear and
 * what follows: an operator that is in no model, so in no table. Its inputs: see integer.c. NULL:
 * there is none. */
enum ulp_integer_end { ULP_INTEGER_FLOAT, ULP_INTEGER_QUANTIZED, ULP_INTEGER_RELU };
const struct ulp_operator *ulp_operator_integer(const char *op_type, enum ulp_integer_end end);

/* An attention that a graph writes out, which is in no table either: q, k, v and operands m0, m1,
 * ..., laid and taken as attributes say (run/program/written.h). */
extern const struct ulp_operator ulp_operator_written_attention;

/* The row for (domain, name) at that opset, or NULL. */
const struct ulp_operator *ulp_operator_find(const char *domain, const char *name, int64_t opset);
/* Of those with the newest `since`, the one whose `when` holds for the node; NULL: none. */
const struct ulp_operator *ulp_operator_of(const struct ulp_node *node, int64_t opset);
/* Where one entry of a row's attribute text lies: name, kind and default. */
struct ulp_attribute_text {
    const char *name, *kind, *fallback; /* fallback NULL: none */
    size_t name_length, kind_length, fallback_length;
    bool required;
};
/* The next entry of an attribute text, or false at its end. */
bool ulp_attribute_next(const char **text, struct ulp_attribute_text *out);
/* What a row says of the attribute of that name; false: it has none. */
bool ulp_attribute_find(const struct ulp_operator *op, const char *name, size_t length,
                        struct ulp_attribute_text *out);
/* All rows, by index, until NULL: for `ulpscope list operators` and the harness. */
const struct ulp_operator *ulp_operator_row(size_t index);

/* Round, Floor or Ceil, whose results decide what a Cast behind them gives. */
bool ulp_rounds_to_whole(const char *op_type);

/* Bind a node: find its row, read its attributes, parse its formula. Everything that is wrong with
 * the node by itself is found here. Memory from arena, except for the tape and what calls
 * prepare: ulp_unbind frees it. */
enum ulp_status ulp_bind(struct ulp_bound *out, const struct ulp_node *node, int64_t opset,
                         struct ulp_arena *arena, struct ulp_error *error);
/* The same to a given row; NULL: the table's. */
enum ulp_status ulp_bind_row(struct ulp_bound *out, const struct ulp_operator *row,
                             const struct ulp_node *node, int64_t opset, struct ulp_arena *arena,
                             struct ulp_error *error);
/* Give up the own tapes for the equal ones of another node, which is unbound no sooner. False: they
 * are not equal, or there are none. */
bool ulp_bind_share(struct ulp_bound *bound, const struct ulp_bound *other);
void ulp_unbind(struct ulp_bound *bound);
/* Run a bound node: infer outputs, allocate them (charged to call->budget), compute. On failure
 * outputs are freed. The message carries the node's name and operator. */
enum ulp_status ulp_call_run(struct ulp_call *call, struct ulp_error *error);
/* Its two ends, for control flow whose bodies are run by others in between (ops/control/control.h).
 * Temporaries live until the close, which frees outputs unless status is ULP_OK, names the node and
 * returns status. */
struct ulp_temporary;
enum ulp_status ulp_call_open(struct ulp_call *call, struct ulp_temporary **temporaries,
                              struct ulp_error *error);
enum ulp_status ulp_call_close(struct ulp_call *call, enum ulp_status status);
/* Only the shapes (planning). */
enum ulp_status ulp_call_infer(struct ulp_call *call, struct ulp_error *error);
