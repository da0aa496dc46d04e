/* The lint inside: a view of the model that answers what rules ask (who computes a value, who reads
 * it, its type, its constant), and the rules, which are functions called for every node or once.
 * A view is made in one pass over nodes and one over constants; every question then takes constant
 * time, so that a lint takes time proportional to the model. */
#pragma once

#include <jansson.h>
#include <string.h>
#include <ulpscope/lint.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"
#include "data/layer_options.h"
#include "graph/graph.h"

/* What a float constant holds, and what FP16 makes of it. */
struct ulp_lint_figures {
    size_t count, nonfinite, zeros;
    double largest;        /* magnitude of the finite elements */
    double smallest;       /* magnitude of those that are not zero; infinity: there are none */
    size_t overflowing;    /* finite, at or beyond 65520, where FP16 rounds to infinity */
    double overflow_least; /* the least magnitude of these; infinity: there are none */
    size_t vanishing;      /* not zero, at most 2^-25, where FP16 rounds to zero */
    size_t subnormal;      /* beyond that and below 2^-14 */
    double squares;        /* sum of squares of the finite elements */
    double tiny_error;     /* sum of squares of the errors of the vanishing and subnormal ones */
    size_t rounded_twice;  /* of FP64: FP32 and then FP16 give another FP16 value than FP16 gives */
};

/* A graph: the model's, a body in it, or a function's. */
struct ulp_lint_graph {
    const struct ulp_graph *graph;
    const struct ulp_lint_graph *parent; /* NULL: none */
    const struct ulp_node *owner;        /* in the parent, of a body */
    const char *prefix;                  /* of its nodes' names; NULL: none */
    bool function;                       /* it is a function's body, or in one */
    const struct ulp_opset *opsets;
    size_t opset_count;
    size_t first_place; /* of its nodes, which follow each other there */
    /* by value: */
    unsigned char *types; /* enum ulp_type, inferred or else declared */
    const struct ulp_tensor **constants;
    const struct ulp_lint_figures **figures; /* of float constants */
    size_t *first_reader;                    /* readers[first_reader[v] .. first_reader[v + 1]) */
    int *readers;                            /* nodes, ascending; one for each input that it is */
    bool *is_output;
};

/* A node where it stands. node NULL: none. */
struct ulp_lint_place {
    const struct ulp_lint_graph *graph;
    const struct ulp_node *node;
};

/* Where the place stands in the list of all. */
static inline size_t ulp_lint_number(struct ulp_lint_place place)
{
    return place.graph->first_place + (size_t)(place.node - place.graph->graph->nodes);
}

struct ulp_program;
struct ulp_sizes;
struct ulp_block;
struct ulp_step;
struct ulp_idiom;

struct ulp_lint {
    const struct ulp_model *model;
    const struct ulp_lint_options *options;
    struct ulp_arena *arena;
    struct ulp_lint_graph *graphs; /* the model's first; a body after the graph it stands in */
    size_t graph_count;
    size_t node_count;
    bool declares_half; /* some value is FP16 or BF16 */
    unsigned targets;
    struct ulp_layer_options precisions, output_types;
    struct ulp_lint_place *places; /* every node, in the order of graphs */
    struct ulp_names names;        /* of nodes outside functions: places, by number */
    /* of edits: what a caller may override is no constant */
    bool overriding;
    const char *unplanned; /* why there is no plan; NULL: there is one, or none was made */
    /* The model planned at the sizes given, and at others that show which of them are facts
     * (run/program/open_program.h); NULL: not asked for yet. */
    struct ulp_lint_planned {
        struct ulp_program *program; /* NULL: it could not be made, or was not asked for */
        struct ulp_lint_idioms {
            const struct ulp_block *block;
            struct ulp_idiom *items;
            size_t count;
        } * idioms; /* operators written out as several nodes */
        size_t block_count;
        struct ulp_lint_step {
            const struct ulp_block *block;
            const struct ulp_step *step; /* NULL: it is not there, or in a call */
            /* those whose last step it is begin with item `first`; NULL: there are none */
            const struct ulp_lint_idioms *idioms;
            size_t first;
        } * steps; /* by place */
    } * planned;
    size_t planned_count;      /* in which an edit must be right; behind them: ulp_lint_holds */
    struct ulp_sizes *sizes;   /* those given; behind them those of the first draw */
    bool *in_idiom;            /* by place */
    struct ulp_finding common; /* to all findings of the rule that runs */
    struct ulp_finding *findings;
    size_t finding_count, finding_capacity;
    int64_t raised; /* the last answer of ulp_lint_may_raise, and of which opset */
    bool may_raise;
    bool failed; /* out of memory */
};

/* A rule: one of these functions (rule.def). */
typedef void ulp_lint_node(struct ulp_lint *lint, struct ulp_lint_place place);
typedef void ulp_lint_entry(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                            const struct ulp_layer_option *option);
typedef void ulp_lint_request(struct ulp_lint *lint, enum ulp_layer_option_kind kind,
                              const struct ulp_layer_option *option, struct ulp_lint_place place);
typedef void ulp_lint_once(struct ulp_lint *lint);
struct ulp_lint_row {
    struct ulp_lint_rule rule;
    const char *ops; /* of the nodes; NULL: any */
    ulp_lint_node *node;
    ulp_lint_entry *entry;
    ulp_lint_request *request;
    ulp_lint_once *once;
    bool harmless; /* nothing becomes worse by it */
    bool refuses;  /* the target's parser refuses the graph */
};
extern const struct ulp_lint_row ulp_lint_rows[];
extern const size_t ulp_lint_row_count;

#define RULE_node(function) ulp_lint_node function;
#define RULE_each(ops) RULE_node
#define RULE_entry(function) ulp_lint_entry function;
#define RULE_request(function) ulp_lint_request function;
#define RULE_once(function) ulp_lint_once function;
#define RULE_harmless RULE_once
#define RULE_refuses RULE_once
#define RULE(id, kind, function, ...) RULE_##kind(function)
#include "analysis/lint/rule.def"
#undef RULE
#undef RULE_node
#undef RULE_each
#undef RULE_entry
#undef RULE_request
#undef RULE_once
#undef RULE_harmless
#undef RULE_refuses

/* A sentence, kept in the lint's arena; NULL: out of memory. */
const char *ulp_lint_sentence(struct ulp_lint *lint, const char *format, va_list list);
/* A finding of the rule that runs; place.node and value may be NULL. */
void ulp_lint_add(struct ulp_lint *lint, struct ulp_lint_place place, const char *value,
                  const char *format, ...) ULP_PRINTF(4, 5);

/* rules_option.c: call it for every entry of both options that counts, the last of its name, and for
 * every node that one applies to. */
void ulp_lint_each_entry(struct ulp_lint *lint, ulp_lint_entry *visit);
void ulp_lint_each_request(struct ulp_lint *lint, ulp_lint_request *visit);

/* lint_json.c */
extern const struct ulp_said ulp_lint_said;

/* view.c */
enum ulp_status ulp_lint_view(struct ulp_lint *lint, struct ulp_error *error);
/* The types of a graph's values, its bodies' included (lint_types.c). */
void ulp_lint_infer(struct ulp_lint *lint, struct ulp_lint_graph *graph);

/* ---- ask.c ---- */

/* "owner/inner"; outside functions a name with a leading '/' is a path of its own, as in a plan. */
const char *ulp_lint_node_name(struct ulp_lint *lint, const struct ulp_lint_graph *graph,
                               const char *name);
static inline bool ulp_lint_is(struct ulp_lint_place place, const char *op)
{
    return place.node && strcmp(place.node->op_type, op) == 0;
}
/* Whether the operator is one of these words. */
bool ulp_lint_is_any(struct ulp_lint_place place, const char *ops);
/* The number of a node's input, or -1: it is omitted. */
static inline int ulp_lint_input(struct ulp_lint_place place, size_t i)
{
    return i < place.node->input_count ? place.node->inputs[i] : -1;
}
static inline int ulp_lint_output(struct ulp_lint_place place, size_t i)
{
    return i < place.node->output_count ? place.node->outputs[i] : -1;
}
/* Who computes the value, captured ones followed outwards. */
struct ulp_lint_place ulp_lint_producer(const struct ulp_lint_graph *graph, int value);
/* Of a node's input. */
struct ulp_lint_place ulp_lint_source(struct ulp_lint_place place, size_t input);
enum ulp_type ulp_lint_type(const struct ulp_lint_graph *graph, int value);
/* The value's constant, also behind Identity; NULL: it is computed, or has no numbers. */
const struct ulp_tensor *ulp_lint_constant(const struct ulp_lint_graph *graph, int value);
const struct ulp_lint_figures *ulp_lint_figures(const struct ulp_lint_graph *graph, int value);
/* Whether the value is a constant of one float or integer: into *out. */
bool ulp_lint_scalar(const struct ulp_lint_graph *graph, int value, double *out);
size_t ulp_lint_reader_count(const struct ulp_lint_graph *graph, int value);
struct ulp_lint_place ulp_lint_reader(const struct ulp_lint_graph *graph, int value, size_t i);
/* The readers of a node's output 0, when there is exactly one and the graph does not return it. */
struct ulp_lint_place ulp_lint_only_reader(struct ulp_lint_place place);
const char *ulp_lint_value_name(const struct ulp_lint_graph *graph, int value);
int64_t ulp_lint_opset(struct ulp_lint_place place);
/* Has the model an older opset than that, and would it mean the same with it? Where every operator
 * has the row that it has now, or one that only adds inputs, outputs or attributes which no older
 * model has. */
bool ulp_lint_may_raise(struct ulp_lint *lint, int64_t opset);
int64_t ulp_lint_int(struct ulp_lint_place place, const char *attribute, int64_t fallback);
/* Whether the operator only moves elements, by the operator table. */
bool ulp_lint_moves(struct ulp_lint_place place);

/* Would an engine hold a value of the type in FP16? As it is declared; of a model without FP16 and
 * BF16 every FP32 value, because it may be converted. */
bool ulp_lint_in_half(const struct ulp_lint *lint, enum ulp_type type);
/* Does the node scale a product of two computed values down, which nothing else reads, by a
 * constant (its input *constant)? (rules_half.c) */
bool ulp_lint_scales_late(struct ulp_lint_place place, int *constant);
/* The epsilon that the node adds, or bounds by, in FP16 (rules_half.c). */
bool ulp_lint_epsilon(const struct ulp_lint *lint, struct ulp_lint_place place, double *out);
/* ---- planned.c ---- */

/* Plan the model, once; lint->unplanned: it cannot be. */
void ulp_lint_plan(struct ulp_lint *lint);
void ulp_lint_free_plans(struct ulp_lint *lint);
/* The node of a step: where it stands; node NULL: in a function that was expanded. A value's shape
 * in a plan, NULL: it is not known. The graph's value that is in the block's slot, -1: there is
 * none. */
struct ulp_lint_place ulp_lint_place_of(const struct ulp_lint *lint, const struct ulp_step *step);
const struct ulp_tensor *ulp_lint_shape_of(const struct ulp_lint *lint, size_t at,
                                           const struct ulp_lint_graph *graph, int value);
int ulp_lint_value_in(const struct ulp_lint *lint, const struct ulp_lint_graph *graph,
                      const struct ulp_block *block, int slot);
/* The idiom of the plan at the sizes given in another plan; *block has it. NULL: it is none there,
 * or one with other axes or constants. */
const struct ulp_idiom *ulp_lint_idiom_at(const struct ulp_lint *lint, size_t at,
                                          const struct ulp_block *given,
                                          const struct ulp_idiom *idiom,
                                          const struct ulp_block **block);
/* Does the condition hold in the plan at the sizes given (at 0), and at every size? false: *why is
 * a clause, as "t is free"; NULL: not even there. */
typedef bool ulp_lint_condition(const struct ulp_lint *lint, size_t at, const void *of);
bool ulp_lint_holds(struct ulp_lint *lint, ulp_lint_condition *condition, const void *of,
                    const char **why);

/* ---- rules_idiom.c ---- */

/* Whether the node is part of an operator that is written out (rules_idiom.c). */
bool ulp_lint_in_idiom(struct ulp_lint *lint, struct ulp_lint_place place);
/* The name of a type as prose has it: "FP16". */
const char *ulp_lint_type_text(enum ulp_type type);
static inline bool ulp_lint_is_half(enum ulp_type type)
{
    return type == ULP_TYPE_FLOAT16 || type == ULP_TYPE_BFLOAT16;
}
/* Whether every value of `narrow` is one of `wide`: floats only. */
bool ulp_lint_type_holds(enum ulp_type wide, enum ulp_type narrow);
/* lint_text.c: what was found, why it matters, what to do. */
struct ulp_headline;
void ulp_lint_conclude(struct ulp_headline *head, const void *result, size_t part);
