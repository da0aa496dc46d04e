/* The program inside: blocks of steps over slots. A block is a graph after its functions are
 * expanded; the bodies of If, Loop and Scan are blocks of their own, whose captured outer values
 * are extra inputs of the step that owns them. */
#pragma once

#include <string.h>
#include <ulpscope/run.h>

#include "base/memory/alloc.h"
#include "base/text/names.h"
#include "base/text/text.h"
#include "base/tuning.h"
#include "graph/graph.h"
#include "ops/operator.h"
#include "tensor/lower.h"

/* A value of the block. */
struct ulp_program_slot {
    const char *name;
    const struct ulp_value_info *info; /* as declared; type UNDEFINED when it is not */
    /* the same in every lane: initializer, or integers known at compiling; NULL: lanes compute it
     */
    const struct ulp_tensor *constant;
    bool overridable;                 /* an initializer that is an input of the graph, too */
    bool of_default;                  /* it is made of such a one */
    struct ulp_magnitudes magnitudes; /* of constant, once a lane has lowered it */
    /* its value in FP32 when that is known at compiling, for shapes only; NULL: not known */
    const struct ulp_tensor *known;
    /* owns what constant or known point to when compiling computed it */
    struct ulp_tensor *folded;
    /* inferred; type UNDEFINED while unknown. data is never set */
    struct ulp_tensor shape;
    /* slot of the enclosing block this one stands for; -1: none */
    int outer;
    /* slot of this block it stands for since an If became its branch; -1: none */
    int same_as;
    bool given;  /* an input of the model */
    bool data;   /* it has a use that is no parameter (ulp_is_parameter) */
    bool wide;   /* its constant's numbers are FP32's, whatever its type (fold_norm.c) */
    bool amount; /* an integer that is only computed with until it is a float (integer_amounts.c) */
    /* step that computes it, once the block is folded; -1: none */
    int producer;
    /* step after which no one needs it; INT_MAX: block output; -1: never used */
    int last_use;
};

/* ONNX Runtime's CPU provider; kernels with requant=; others. */
enum { ULP_INTEGER_ORT = 1, ULP_INTEGER_FIXED = 2, ULP_INTEGER_PLAIN = 4, ULP_INTEGER_LANES = 7 };
/* What ONNX Runtime's optimiser makes of several steps (ort_forms.c): for CUDA, with fuse=ort; for
 * its CPU provider; for CUDA in FP16 or BF16 alone. */
enum {
    ULP_FORM_OPTIMISED = 8,
    ULP_FORM_CPU = 16,
    ULP_FORM_HALVES = 32,
    ULP_FORM_FLOATS = 56,
    ULP_FORM_TAKEN = 44
};

/* What a step computes in arithmetics with qdq=integer instead: a row of
 * ops/product/product_integer.c. */
struct ulp_integer_form {
    struct ulp_bound bound;
    int product;    /* the step whose sums these are */
    unsigned lanes; /* which compute it: bits of ULP_INTEGER_LANES */
    size_t input_count;
    const int *from;               /* the step's input that is each of its inputs; -1: omitted */
    struct ulp_integer_form *next; /* of other lanes; NULL: there is none */
    int taken[ULP_FORM_TAKEN]; /* optimised: steps that it takes in, whose results it reads not */
    size_t taken_count;
};

/* What ONNX Runtime makes of a node: `op`, with the node's attributes (`keeps`) and
 * these. */
struct ulp_own_operator {
    const char *op;
    int64_t opset; /* of ai.onnx; 0: it is com.microsoft's */
    bool keeps;
    size_t count;
    struct ulp_attribute attributes[3];
};

/* In what a BatchNormalization's parameters go into a Conv's weights: step by step; with
 * fuse=openvino in FP32, also those that are inputs of the graph. */
enum { ULP_FOLD_SINGLE, ULP_FOLD_HALF, ULP_FOLD_GIVEN, ULP_FOLD_COUNT };
/* Are BatchNormalizations folded into weights before these are lowered? */
static inline bool ulp_folds_first(enum ulp_fuse fuse)
{
    return fuse == ULP_FUSE_OPENVINO || fuse == ULP_FUSE_BIAS;
}
enum { ULP_JOINED_UNSCALE = 3 }; /* the place of a Conv's, which is no input */

struct ulp_step {
    struct ulp_bound bound;
    /* the model's (bound.node may be a copy, in a function), and the call it is expanded for */
    const struct ulp_node *node;
    const struct ulp_call_path *call; /* NULL: none */
    const char *name;                 /* functions expanded: "call/inner" */
    int64_t opset;
    size_t input_count;     /* with captured values, and those only the integer form reads */
    size_t own_input_count; /* the node's own */
    size_t output_count;
    const int *inputs, *outputs; /* slots; -1: omitted */
    const int *dead;             /* slots whose last use this is */
    size_t dead_count;
    bool folded; /* every output is a constant slot: nothing to run */
    /* its result is its input 0, a constant, under another name or shape, for readers that take
     * either: a view of it in lanes whose nodes have one arithmetic */
    bool alias;
    bool settled;   /* its results follow from constants alone: the same in every run of a lane */
    bool quantizes; /* its integer outputs are amounts, by its operator or by their use */
    /* a value, not work: Constant, or ConstantOfShape of a known shape */
    bool constant;
    struct ulp_integer_form *integer; /* NULL: none */
    /* slots that lanes with batchnorm=folded read as inputs 1 to 4 of a BatchNormalization
     * (fold_norm.c); NULL: there are none */
    const int *norm;
    /* slots that lanes with fuse=ort read as inputs 1 to 4 of a BatchNormalization behind a Conv
     * and as input 1 of that, -1: as others do; by what they are folded in (fold_conv.c); NULL:
     * there are none */
    const int *joined[ULP_FOLD_COUNT];
    enum ulp_behind behind; /* behind_product.c */
    /* estimated multiply-adds and element operations, those of bodies included */
    double cost;
    size_t number; /* among all nodes of the plan: what it is reported under */
};

/* A step's input that is a slot, or one of the block's outputs: step -1. */
struct ulp_reading {
    int step, input;
};
/* By slot, once the block is folded: all[first[v]] up to all[first[v + 1]], steps ascending and
 * outputs last. */
struct ulp_readers {
    size_t slot_count;
    const size_t *first;
    const struct ulp_reading *all;
};

struct ulp_block {
    const char *name;
    struct ulp_block *parent;
    /* the If, Loop or Scan whose body this is, once nodes are numbered; NULL: the main graph */
    const struct ulp_step *owner;
    struct ulp_step *steps;
    size_t step_count, step_capacity;
    struct ulp_program_slot *slots;
    size_t slot_count, slot_capacity;
    const int *inputs, *outputs;
    size_t input_count, output_count;
    /* slots whose outer >= 0, in the order of the owning step's extra inputs */
    int *captured;
    size_t captured_count, captured_capacity;
    /* the block that has the steps of this branch now; NULL: runs by itself, if at all */
    const struct ulp_block *inlined_in;
    double cost; /* of its steps */
    bool folded; /* steps are final, those of inlined branches included */
    struct ulp_readers readers;
};

/* The same in every lane; NULL: nothing happens. */
static inline void ulp_slot_set_constant(struct ulp_program_slot *slot,
                                         const struct ulp_tensor *constant)
{
    if (!constant)
        return;
    slot->constant = constant;
    slot->shape = ulp_tensor_view(constant);
    slot->shape.data = NULL;
}

/* The step that computes the slot; NULL: none does, or no slot (-1). */
static inline const struct ulp_step *ulp_block_producer(const struct ulp_block *block, int slot)
{
    return slot >= 0 && block->slots[slot].producer >= 0
               ? &block->steps[block->slots[slot].producer]
               : NULL;
}

/* Who reads the slot, captured values and what only integer forms read included. */
static inline size_t ulp_block_readings(const struct ulp_block *block, int slot,
                                        const struct ulp_reading **out)
{
    const struct ulp_readers *readers = &block->readers;
    if (slot < 0 || (size_t)slot >= readers->slot_count)
        return 0;
    *out = readers->all + readers->first[slot];
    return readers->first[slot + 1] - readers->first[slot];
}

/* Is it read once, and by no output? */
static inline bool ulp_block_is_own(const struct ulp_block *block, int slot)
{
    const struct ulp_reading *all;
    return ulp_block_readings(block, slot, &all) == 1 && all->step >= 0;
}

/* Do these steps alone read the slot? */
bool ulp_block_read_within(const struct ulp_block *block, int slot, const int *steps, size_t count);
/* The only step that reads the slot, and once, whether outputs do or not; NULL: there is none. */
const struct ulp_step *ulp_block_only_reader(const struct ulp_block *block, int slot);
enum ulp_status ulp_block_find_readers(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_error *error);

/* Does a node compute the slot in a run? A constant or an input that is an output has no figure. */
static inline bool ulp_block_computes(const struct ulp_block *block, int slot)
{
    return ulp_block_producer(block, slot) && !block->slots[slot].constant;
}

/* Nobody computes the slot: a constant, or an input of the model. */
#define ULP_NO_NODE SIZE_MAX

/* The node in whose arithmetic lanes hold the slot: the one that computes it; of a body's input the
 * If, Loop or Scan; of a captured value that of the value outside. */
size_t ulp_slot_holder(const struct ulp_block *block, int slot);

/* Is the slot the result of such a step? */
static inline bool ulp_is_alias(const struct ulp_block *block, int slot)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    return step && step->alias;
}

/* Does the step use its input i as a parameter: kind 'p' of its row, or one only the integer form
 * reads? */
static inline bool ulp_is_parameter(const struct ulp_step *step, size_t i)
{
    return (i < step->bound.input_slot_count && i < step->own_input_count &&
            step->bound.inputs[i].kind == 'p') ||
           (i >= step->own_input_count && !step->bound.blocks);
}

/* What a lane with that arithmetic has in place of the step's inputs 1 to 4; NULL: nothing. joined:
 * of its fusion (struct ulp_fused_node). */
enum { ULP_NORM_PARAMETERS = 4, ULP_NORM_VARIANCE = 4 /* an input */ };
static inline const int *ulp_step_folds(const struct ulp_step *step,
                                        const struct ulp_arithmetic *arithmetic, const int *joined)
{
    return joined ? joined : arithmetic->batchnorm_folded ? step->norm : NULL;
}

/* The slot that the step's input i is there. */
static inline int ulp_step_slot(const struct ulp_step *step, size_t i,
                                const struct ulp_arithmetic *arithmetic, const int *joined)
{
    const int *folds = ulp_step_folds(step, arithmetic, joined);
    return folds && i - 1 < ULP_NORM_PARAMETERS && folds[i - 1] >= 0 ? folds[i - 1]
                                                                     : step->inputs[i];
}

/* Does the arithmetic take the step's input i, when it is a constant, as the model declares it?
 * The variance of a folded BatchNormalization is only there to make 1 with its epsilon. */
static inline bool ulp_reads_declared(const struct ulp_step *step, size_t i,
                                      const struct ulp_arithmetic *arithmetic, const int *joined)
{
    const char *op = step->bound.op->name;
    if (i == ULP_NORM_VARIANCE && step->norm && ulp_step_folds(step, arithmetic, joined))
        return true;
    return ulp_is_parameter(step, i) &&
           !(arithmetic->scales_lowered &&
             (i >= step->own_input_count || ulp_is_word(op, "QuantizeLinear DequantizeLinear")));
}

/* ort_cpu.c: which nodes the arithmetic "ort-cpu" computes in FP16, by node. */
struct ulp_program;
enum ulp_status ulp_program_ort_cpu(const struct ulp_program *program, bool *half,
                                    struct ulp_arena *scratch, struct ulp_error *error);

/* An If whose branch has taken its place. */
struct ulp_inlined {
    const struct ulp_node *node;
    const struct ulp_call_path *call;
    const char *branch; /* the attribute */
};

/* Where a node of the program is. */
struct ulp_program_node {
    const struct ulp_block *block;
    const struct ulp_step *step;
};

/* What is unsupported, while compiling; each kind of trouble once. */
struct ulp_problems {
    struct ulp_problem *items;
    size_t count, capacity;
    struct ulp_names names; /* of items by their text */
};

/* A node of a lane whose arithmetic fuses nodes into kernels (fusion.c). */
struct ulp_fused_node {
    uint64_t inside; /* bit i: input i is read in the inner format, within the kernel; i < 64 */
    uint32_t kernel; /* 1, 2, ...; 0: a kernel of its own, or computed in several */
    bool inner;      /* its steps are in the inner format */
    bool adds_bias;  /* a library's product that adds its bias before the sum is rounded */
    bool held;   /* the lane holds its results in the inner format; readers outside round them */
    bool stored; /* its results are in memory, too */
    bool cast;   /* the graph's outputs that it computes are cast in the kernel, not rounded */
    bool leaves; /* held, and handed out as the graph's outputs, rounded for that */
    const int *joined; /* of the step's, what the lane reads; NULL: as it is written */
};
struct ulp_fusion {
    /* by the mix's items: */
    struct ulp_fused_arithmetic {
        struct ulp_arithmetic inner;   /* with the inner format as storage */
        struct ulp_arithmetic library; /* with the bias before the rounding of a sum */
        struct ulp_arithmetic both;
    } * items;
    struct ulp_fused_node *nodes;
    size_t kernel_count;
};

/* The groups of a lane with fuse=groups, by the program's nodes (fusion/groups.c). */
struct ulp_grouping {
    const char *name;
    size_t count;
    size_t *first; /* node n is in groups[first[n] .. first[n + 1]), ascending */
    uint32_t *groups;
    bool *rounded; /* by node: its results are rounded inside, too */
    bool *numbers; /* by node: constants that it reads are the kernel's own; NULL: none are */
};

/* What a lane computes its nodes in (keep.c). */
struct ulp_mix {
    struct ulp_arena *memory; /* of the rest; NULL: the program's */
    const char *name;         /* as reports call the lane; NULL: by its arithmetic's name */
    size_t count;
    struct ulp_arithmetic *items; /* of the lane first; those of its kept nodes */
    /* by node: which of the items; NULL: the first for all */
    uint16_t *of_node;
    struct ulp_fusion *fusion; /* NULL: every node is a kernel of its own */
};

struct ulp_program {
    struct ulp_arena *arena;
    const struct ulp_model *model;
    struct ulp_opening
        *opening; /* of a program that is not run (open_program.h); NULL: of others */
    struct ulp_arithmetic *lanes;
    struct ulp_mix *mixes;           /* of each lane */
    struct ulp_grouping **groupings; /* of each lane; NULL: it has none */
    const char **names;              /* that the caller gave the lanes; NULL: by what they are */
    size_t lane_count;
    struct ulp_arithmetic exact; /* fp32: what constants are folded in */
    struct ulp_names slots;      /* of the main graph, by name: the first that has it */
    /* of the values alive at one step, without an audit (program_memory.c), and the step's name */
    struct ulp_peak {
        double bytes;
        const char *node;
    } peak;
    size_t peak_limit;    /* the memory limit that it was found under */
    bool spelled;         /* operators on quantised values are the nodes they stand for */
    bool wants_integers;  /* some lane or node has qdq=integer */
    bool joins_attention; /* lanes have written-attention=kernel */
    /* lanes have fuse=ort, and in what their nodes' BatchNormalizations are folded then */
    bool joins_norms[ULP_FOLD_COUNT];
    /* attentions that are written out: how many became one step, how many did not, and of the
     * first of these its last node and why */
    struct ulp_written_attention {
        size_t joined, apart;
        const char *node, *why;
    } written;
    /* what removed steps were bound to, whose tapes others may share */
    struct ulp_bound *removed;
    size_t removed_count, removed_capacity;
    struct ulp_block *main;
    struct ulp_block **blocks; /* every block, for freeing */
    size_t block_count, block_capacity;
    struct ulp_budget budget, constants; /* of the program, and of constants computed for it */
    struct ulp_budget prepared;          /* of what runs prepare for further ones */
    struct ulp_pool *pool;               /* of one thread, while compiling */
    struct ulp_inlined *inlined;
    size_t inlined_count, inlined_capacity;
    struct ulp_program_node *nodes; /* every node, those of bodies before the node that has them */
    size_t node_count;
    struct ulp_problems problems;
    /* What calls of functions and names of nested nodes have added to the file, and may add. */
    size_t expanded, expanded_limit;
    struct ulp_perturbed {
        const struct ulp_tensor *from;
        struct ulp_tensor tensor;
        struct ulp_perturbed *before;
    } * perturbed; /* constants that were changed, the last first */
};

/* What calls of the node prepare is charged to the program. */
static inline void ulp_program_charge_prepared(struct ulp_program *program,
                                               const struct ulp_bound *bound)
{
    const size_t limit = ulp_budget_limit(&program->prepared);
    ulp_prepared_charge(bound->prepared, &program->prepared,
                        limit ? limit / ULP_TUNE_PREPARED_SHARE : ULP_TUNE_PREPARED_BYTES);
}

/* Which of its arithmetics the lane computes a node in. */
static inline size_t ulp_mix_index(const struct ulp_mix *mix, size_t node)
{
    return mix->of_node ? mix->of_node[node] : 0;
}
static inline const struct ulp_arithmetic *ulp_mix_arithmetic(const struct ulp_mix *mix,
                                                              size_t node)
{
    return &mix->items[ulp_mix_index(mix, node)];
}

/* The same for its computation and for what the lane holds its results in: inside kernels the
 * inner arithmetic. */
static inline const struct ulp_arithmetic *ulp_mix_computes(const struct ulp_mix *mix, size_t node)
{
    if (!mix->fusion)
        return ulp_mix_arithmetic(mix, node);
    const struct ulp_fused_node *fused = &mix->fusion->nodes[node];
    const struct ulp_fused_arithmetic *item = &mix->fusion->items[ulp_mix_index(mix, node)];
    return fused->inner       ? fused->adds_bias ? &item->both : &item->inner
           : fused->adds_bias ? &item->library
                              : ulp_mix_arithmetic(mix, node);
}
static inline const struct ulp_arithmetic *ulp_mix_holds(const struct ulp_mix *mix, size_t node)
{
    return mix->fusion && mix->fusion->nodes[node].held
               ? &mix->fusion->items[ulp_mix_index(mix, node)].inner
               : ulp_mix_arithmetic(mix, node);
}
/* border.c: is a value of that type (UNDEFINED: not known before the run, taken for FLOAT) stored
 * otherwise in the two? */
bool ulp_stored_apart(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b,
                      enum ulp_type type);
/* What the lane has in place of some of the step's constants (fold_conv.c); NULL: nothing. */
static inline const int *ulp_mix_joins(const struct ulp_mix *mix, size_t node)
{
    return mix->fusion ? mix->fusion->nodes[node].joined : NULL;
}
/* Does the step read its input i in the kernel that computed it? */
static inline bool ulp_mix_reads_inside(const struct ulp_mix *mix, const struct ulp_step *step,
                                        size_t i)
{
    return mix->fusion && i < 64 && mix->fusion->nodes[step->number].inside >> i & 1;
}

/* The type that the model declares, or that follows; UNDEFINED: only a run knows it. */
static inline enum ulp_type ulp_slot_type(const struct ulp_program_slot *slot)
{
    return slot->constant                           ? slot->constant->type
           : slot->shape.type != ULP_TYPE_UNDEFINED ? slot->shape.type
           : slot->info                             ? slot->info->type
                                                    : ULP_TYPE_UNDEFINED;
}
/* keep.c: the type in which the model has a node compute, that of its first float result of more
 * than 8 bits, else of its first such input; FLOAT: there is none; UNDEFINED: only a run knows. */
enum ulp_type ulp_step_type(const struct ulp_block *block, const struct ulp_step *step);
/* keep.c: beside a lane's own arithmetic, items[0], those of nodes that compute as they are
 * declared, at most so many more items; of_node[n] of these. A lane "model" has them where nodes
 * are kept: what a kept node gives is then read as it is by a Cast of the model's own. */
enum { ULP_DECLARED_MAX = 5 };
/* The arithmetic's index among the mix's, which have room for it. */
static inline size_t ulp_mix_add(struct ulp_mix *mix, const struct ulp_arithmetic *arithmetic)
{
    size_t i = 0;
    while (i < mix->count && strcmp(mix->items[i].name, arithmetic->name) != 0)
        i++;
    mix->items[i] = *arithmetic;
    mix->count += i == mix->count;
    return i;
}
/* openvino.c: by step the product whose kernel computes it, -1: none's; and what a lane leaves in
 * FP32. */
enum ulp_status ulp_block_find_taken(const struct ulp_block *block, struct ulp_arena *memory,
                                     int **out, struct ulp_error *error);
enum ulp_status ulp_program_leave_ends(const struct ulp_program *program, struct ulp_mix *mix,
                                       uint16_t *of_node, struct ulp_error *error);
enum ulp_status ulp_program_declare(const struct ulp_program *program, struct ulp_mix *mix,
                                    uint16_t *of_node, struct ulp_error *error);

/* fold_conv.c: a Mul's input that is one number for each channel of the Conv before it, which
 * nothing else reads; -1: none. */
int ulp_step_multiplier(const struct ulp_block *block, const struct ulp_step *mul);

/* Bytes of a slot's value in an arithmetic; 0 for constants, which are the model's, and for shapes
 * not known yet. */
static inline double ulp_slot_bytes(const struct ulp_program_slot *slot,
                                    const struct ulp_arithmetic *arithmetic)
{
    if (slot->constant || slot->shape.type == ULP_TYPE_UNDEFINED)
        return 0;
    bool is_float = ulp_type_is_float(slot->shape.type);
    enum ulp_element element = is_float && !arithmetic->as_declared
                                   ? ulp_storage_element(&arithmetic->storage)
                                   : slot->shape.element;
    return (double)slot->shape.count *
           (double)ulp_element_bytes(element, arithmetic->storage.precision);
}

/* Values of a lane over a block: slots, one run of them for each arithmetic, and one for constants
 * as they are declared. */
static inline size_t ulp_lane_value_count(const struct ulp_mix *mix, const struct ulp_block *block)
{
    return ((mix->fusion ? 2 : 1) * mix->count + 1) * block->slot_count;
}

/* Do both nodes compute in what the lane is, so that its runtime makes one of them? Which of them
 * have a kernel for FP16 matters to none in FP32, which those of the CPU provider are; that nodes
 * are kept in another arithmetic does. */
static inline bool ulp_mix_joins_node(const struct ulp_mix *mix, size_t node, size_t with)
{
    const struct ulp_arithmetic *of = ulp_mix_arithmetic(mix, node);
    return mix->items->half_as_float ? of->as_declared && of->steps == mix->items->steps
                                     : ulp_mix_index(mix, node) == ulp_mix_index(mix, with);
}

/* Is its first result FP16 or BF16 in the lane? */
static inline bool ulp_step_is_half(const struct ulp_mix *mix, const struct ulp_block *block,
                                    const struct ulp_step *step)
{
    const struct ulp_arithmetic *of = ulp_mix_arithmetic(mix, step->number);
    const enum ulp_type type = block->slots[step->outputs[0]].shape.type;
    return of->as_declared
               ? type == ULP_TYPE_FLOAT16 || type == ULP_TYPE_BFLOAT16
               : strcmp(of->storage.name, "fp16") == 0 || strcmp(of->storage.name, "bf16") == 0;
}

/* The step's integer form where the lane computes it so, and the product it is of; NULL: not. */
static inline const struct ulp_integer_form *ulp_step_integer(const struct ulp_mix *mix,
                                                              const struct ulp_block *block,
                                                              const struct ulp_step *step)
{
    const struct ulp_integer_form *form = step->integer;
    const unsigned optimised =
        mix->items->fuse == ULP_FUSE_ORT
            ? ULP_FORM_OPTIMISED | (ulp_step_is_half(mix, block, step) ? ULP_FORM_HALVES : 0)
        : mix->items->half_as_float ? ULP_FORM_CPU
                                    : 0;
    for (; form && optimised; form = form->next) {
        bool whole = form->lanes & optimised && ulp_mix_joins_node(mix, step->number, step->number);
        for (size_t i = 0; i < form->taken_count && whole; i++)
            whole = ulp_mix_joins_node(mix, block->steps[form->taken[i]].number, step->number);
        if (whole)
            return form;
    }
    form = step->integer;
    if (!form || !ulp_mix_arithmetic(mix, step->number)->schedule.qdq_integer)
        return NULL;
    const struct ulp_arithmetic *of = ulp_mix_arithmetic(mix, block->steps[form->product].number);
    const unsigned lane = of->half_as_float      ? ULP_INTEGER_ORT
                          : of->schedule.requant ? ULP_INTEGER_FIXED
                                                 : ULP_INTEGER_PLAIN;
    while (form && !(form->lanes & lane))
        form = form->next;
    return of->schedule.qdq_integer ? form : NULL;
}

/* pattern.c: the error that no node is called so, with near names. */
enum ulp_status ulp_pattern_refuse(const struct ulp_program *program, const char *name,
                                   struct ulp_error *error);
/* Is the text the pattern of a node that is called so? false: one of a side of a node. */
bool ulp_pattern_may_be_name(const char *text);
/* Set chosen[node] of the nodes that the pattern names. None: an error with near names. */
enum ulp_status ulp_pattern_choose(const struct ulp_program *program, const char *pattern,
                                   bool *chosen, struct ulp_arena *scratch,
                                   struct ulp_error *error);

/* spelled.c: the function that the node, which may get a further input, is a call of; NULL: it
 * stands for itself. */
enum ulp_status ulp_program_spell(struct ulp_arena *arena, const struct ulp_graph *graph,
                                  const struct ulp_node **node, int64_t opset,
                                  const struct ulp_function **out, struct ulp_error *error);
/* program.c: ulp_program_create; opening (open_program.h): a program that is not run. */
enum ulp_status ulp_program_make(const struct ulp_model *model, const struct ulp_arithmetic *lanes,
                                 size_t lane_count, const struct ulp_program_options *options,
                                 const struct ulp_opening *opening, struct ulp_program **out,
                                 struct ulp_error *error);
/* expand.c: the graph and everything nested in it as blocks, functions expanded, nodes bound to
 * operators. Every node that cannot be bound is collected and reported in one error. */
enum ulp_status ulp_program_expand(struct ulp_program *program, struct ulp_error *error);
/* A value of the block that has none yet; -1: out of memory. */
int ulp_block_add_slot(struct ulp_program *program, struct ulp_block *block, const char *name);
/* programs.c: a run with what looks at it and the caller's progress, each of which may be NULL; and
 * the same by the program of the inputs' shapes. */
enum ulp_status ulp_program_look(const struct ulp_program *program,
                                 const struct ulp_tensor_set *inputs,
                                 const struct ulp_run_options *run,
                                 const struct ulp_observer *looking,
                                 const struct ulp_observer *progress,
                                 struct ulp_tensor_set *outputs, struct ulp_error *error);
enum ulp_status ulp_programs_look(struct ulp_programs *programs,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_run_options *run,
                                  const struct ulp_observer *looking,
                                  const struct ulp_observer *progress,
                                  struct ulp_tensor_set *outputs, struct ulp_error *error);

/* problems.c: a node's trouble; trouble ulp_bind found (its message without the node's name, so
 * that nodes of the same trouble are one problem); and the error that lists all of it. */
enum ulp_status ulp_program_add_problem(struct ulp_program *program, const char *text,
                                        const char *node, struct ulp_error *error);
enum ulp_status ulp_program_add_bind_problem(struct ulp_program *program,
                                             const struct ulp_step *step,
                                             const struct ulp_node *node, const char *message,
                                             struct ulp_error *error);
enum ulp_status ulp_program_report_problems(const struct ulp_program *program,
                                            struct ulp_error *error);

/* inline.c. The branch an If with a known condition takes; NULL: the step is no such If. */
struct ulp_block *ulp_program_known_branch(const struct ulp_block *block,
                                           const struct ulp_step *step);
/* The branch's values become the block's and its steps are put in terms of them; the caller puts
 * them where the If was. */
enum ulp_status ulp_program_inline(struct ulp_program *program, struct ulp_block *block,
                                   const struct ulp_step *step, struct ulp_block *branch,
                                   struct ulp_error *error);
/* A step's slots, and the block's outputs, after Ifs before them have been replaced. */
enum ulp_status ulp_program_resolve_step(struct ulp_program *program, struct ulp_block *block,
                                         struct ulp_step *step, struct ulp_error *error);
enum ulp_status ulp_program_resolve(struct ulp_program *program, struct ulp_block *block,
                                    struct ulp_error *error);

/* Is it the model or its inputs that cannot be computed, and not a lack of memory or an end that
 * was asked for? */
static inline bool ulp_program_refuses(enum ulp_status status)
{
    return status == ULP_ERROR_INPUT || status == ULP_ERROR_UNSUPPORTED ||
           status == ULP_ERROR_USAGE;
}

/* The main graph's slot of that name; -1: none has it. */
static inline int ulp_program_find_slot(const struct ulp_program *program, const char *name)
{
    return name ? ulp_names_find(&program->slots, name) : -1;
}

/* fold.c: shapes, constants known before the run, last uses and costs. */
enum ulp_status ulp_program_fold(struct ulp_program *program,
                                 const struct ulp_program_options *options,
                                 struct ulp_error *error);
/* order.c: costs and last uses of a block whose steps are final, after those of its bodies; then
 * the numbers of all nodes. */
enum ulp_status ulp_program_order(struct ulp_program *program, struct ulp_block *block,
                                  struct ulp_error *error);
enum ulp_status ulp_program_number(struct ulp_program *program, struct ulp_error *error);
/* behind_product.c: the products that steps follow; sizes are known. */
void ulp_program_find_behind(struct ulp_block *block);
/* fusion.c: the kernels of a lane whose arithmetic fuses, after its kept nodes are known. */
enum ulp_status ulp_program_fuse(const struct ulp_program *program, size_t lane,
                                 struct ulp_mix *mix, struct ulp_error *error);
/* fusion/groups.c: copy the groups of a lane with fuse=groups; NULL: an error. */
enum ulp_status ulp_program_group(struct ulp_program *program, size_t lane,
                                  const struct ulp_groups *groups, struct ulp_error *error);
/* The groups of a lane, to compile it again; count 0: it has none. By name, in the arena. */
enum ulp_status ulp_program_groups(const struct ulp_program *program, size_t lane,
                                   struct ulp_arena *arena, struct ulp_groups *out,
                                   struct ulp_error *error);
/* integer_form.c: find the block's quantised contractions and give their steps integer forms, when
 * a lane wants them. After folding, before last uses. */
enum ulp_status ulp_program_integer_forms(struct ulp_program *program, struct ulp_block *block,
                                          struct ulp_error *error);
/* integer_form.c: give a step in such lanes the form `row`, or (NULL) ONNX Runtime's own, of
 * `product`'s node, that reads slots[0 .. count). */
enum ulp_status ulp_step_add_form(struct ulp_program *program, const struct ulp_block *block,
                                  struct ulp_step *step, const struct ulp_step *product,
                                  const struct ulp_operator *row,
                                  const struct ulp_own_operator *own, unsigned lanes,
                                  const int *slots, size_t count, struct ulp_error *error);
/* ort_forms.c: the operators that ONNX Runtime's optimiser makes of several, whose kernels round
 * elsewhere than the nodes do. */
enum ulp_status ulp_program_ort_forms(struct ulp_program *program, struct ulp_block *block,
                                      struct ulp_error *error);
/* The blocks in which ONNX Runtime's CPU provider quantises the first factor of a MatMul or Gemm
 * with dequantised weights beside floats or 16-bit integers, of which it makes MatMulNBits with
 * accuracy_level 4 (recorded: tests/walk/check_runtime.py); 0: it does not. */
int64_t ulp_step_coded_block(const struct ulp_block *block, const struct ulp_step *step);
/* written_attention.c: an attention that the block writes out becomes one step, when lanes have
 * written-attention=kernel. Producers are known; they are set anew. */
enum ulp_status ulp_program_join_attention(struct ulp_program *program, struct ulp_block *block,
                                           struct ulp_error *error);
/* integer_amounts.c: which of the block's integers are amounts. */
void ulp_program_amounts(struct ulp_block *block);
/* fold_norm.c: what BatchNormalizations of the block are folded to. Called again, it follows
 * constants that have changed. */
enum ulp_status ulp_program_fold_norms(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_error *error);
/* A slot for folded numbers in FP32, of that tensor's type and shape, named by the step: "NAME
 * (WORDHOW)". */
enum ulp_status ulp_fold_add_slot(struct ulp_program *program, struct ulp_block *block,
                                  const struct ulp_step *step, const char *word, const char *how,
                                  const struct ulp_tensor *like, int *out, struct ulp_error *error);
/* fold_conv.c: what of them goes into the weights of a Conv, where lanes have fuse=ort. */
enum ulp_status ulp_program_fold_convs(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_error *error);
/* perturb.c: put constants close to the model's in their place. The last thing that changes them.
 */
enum ulp_status ulp_program_perturb(struct ulp_program *program,
                                    const struct ulp_perturbation *perturbation,
                                    struct ulp_error *error);
/* program_memory.c: ULP_ERROR_MEMORY when the model, the program and the values known to be alive
 * at one step exceed the limit of the model's budget. A lower bound of the run's need: inputs as
 * they were given, scratch, and shapes unknown before the run come on top, and are charged as they
 * come.
 */
enum ulp_status ulp_program_check_memory(const struct ulp_program *program, bool audit,
                                         struct ulp_error *error);
/* Find program->peak anew: mixes have changed. */
void ulp_program_find_peak(struct ulp_program *program);
/* That bound, and (when node is not NULL) the node of the step. */
double ulp_program_peak(const struct ulp_program *program, bool audit, const char **node);

/* Does the observer want the run to end? It is asked in its host's floating-point environment.
 * NULL: no. */
bool ulp_observer_cancels(const struct ulp_observer *observer);
