/* Planning a model and running it in several arithmetics side by side.
 *
 * A *plan* does everything that can fail before numbers move: expands functions, finds each node's
 * operator, checks its attributes, infers shapes, computes last uses and the memory needed. A
 * *lane* is an arithmetic and its values. A *run* walks the nodes once; every lane computes a node,
 * observers see it with every lane's values, then dead values are freed. The bodies of If, Loop and
 * Scan are gone through in the same way, in every lane that takes the reference's branches and
 * rounds. With audited lanes, lane 0 is the reference R and a lane's arithmetic is P; with r the
 * reference's values and p the lane's own, a node is evaluated as R(r), P(p) (entire), P(r)
 * (single: r rounded to P's storage) and R(p) (here), and
 *     P(p) - R(r) = [P(p) - R(p)] introduced + [R(p) - R(r)] carried      (exactly)
 * A plan is const and may be shared between threads; a run belongs to one thread and its own
 * pool. */
#ifndef ULPSCOPE_RUN_H
#define ULPSCOPE_RUN_H

#include <ulpscope/model.h>

struct ulp_plan;

/* Nodes that a lane computes in another arithmetic than its own: they read their inputs and their
 * constants in that one's storage and leave their results in it. A value whose reader has another
 * storage is rounded where it is read, once, as a Cast there would; the model's inputs and its
 * constants are rounded from what they are given as, once, by each reader. What an If, Loop or Scan
 * carries and hands on is in its own arithmetic's storage. */
struct ulp_keep {
    /* Which nodes: one name, with '*' for any text and '?' for any character ("..." at its front
     * is any text, too: names as a terminal cuts them); "op:TYPE" (as
     * "op:Softmax"); "#12" or "#12-40", indexes as in ulp_plan_node_name. An If, Loop or Scan
     * stands for the nodes in its bodies, too. Or "before:NAME" and "after:NAME", those that NAME's
     * results come from and that come from them, without NAME; "between:A,B", those on the ways
     * from A to B, both included. NULL: exactly those of `nodes`. */
    const char *pattern;
    const size_t *nodes;
    size_t node_count;
    struct ulp_arithmetic arithmetic;
};
/* What one lane keeps; of entries that name the same node the last counts. */
struct ulp_keeps {
    size_t count;
    const struct ulp_keep *items;
    const char *name; /* in the lane's name, "fp16,keep=NAME"; NULL: the patterns */
};

/* Zero-initialise and set what is wanted. */
struct ulp_plan_options {
    const struct ulp_dim_value *dims; /* for symbolic dimensions of inputs; others take 1 */
    size_t dim_count;
    const struct ulp_tensor_set *inputs; /* when given, shapes are taken from these */
    const struct ulp_keeps *keeps;       /* of each lane, as many as there are lanes; NULL: none */
    /* A problem close by, to see how an arithmetic's error varies: float constants of 16 elements
     * and more are changed at random by factors within 1 +- 2^(2 - precision) (of a type with less
     * precision its own), whole numbers not. precision 0: no change */
    struct ulp_perturbation {
        int precision;
        uint64_t seed; /* the same seed, the same change */
    } perturbation;
};

/* Plan the model for the lanes. Lane 0 is the reference when more than one is given. Every
 * unsupported operator, type or attribute is named in one ULP_ERROR_UNSUPPORTED; a plan that is
 * known to need more memory than the model's budget has fails with ULP_ERROR_MEMORY. The model must
 * outlive the plan. Free with ulp_plan_free. */
ULP_API enum ulp_status ulp_plan_create(const struct ulp_model *model,
                                        const struct ulp_arithmetic *lanes, size_t lane_count,
                                        const struct ulp_plan_options *options,
                                        struct ulp_plan **out, struct ulp_error *error);
ULP_API void ulp_plan_free(struct ulp_plan *plan);

/* The nodes of the plan, in execution order: functions are expanded, an If whose condition planning
 * knows is replaced by its branch, and the nodes inside other Ifs, Loops and Scans come before the
 * node whose bodies they are in. */
ULP_API size_t ulp_plan_node_count(const struct ulp_plan *plan);
ULP_API const char *ulp_plan_node_name(const struct ulp_plan *plan, size_t index);
ULP_API const char *ulp_plan_node_op(const struct ulp_plan *plan, size_t index);

/* A lane from a file: JSON, doc/plan.md. Charged to budget (may be NULL). */
struct ulp_precision_plan {
    struct ulp_arithmetic arithmetic;
    struct ulp_keeps keeps; /* named by the file's name without its folder */
    void *memory;           /* of both; ulp_precision_plan_free frees it */
};
ULP_API enum ulp_status ulp_precision_plan_read(const char *path, struct ulp_budget *budget,
                                                struct ulp_precision_plan *out,
                                                struct ulp_error *error);
ULP_API void ulp_precision_plan_free(struct ulp_precision_plan *plan);
/* "PATTERN=ARITH", as "op:Softmax=fp32": the arithmetic into out; *pattern_length: of the text.
 * out->pattern is left to the caller. */
ULP_API enum ulp_status ulp_keep_parse(const char *text, struct ulp_keep *out,
                                       size_t *pattern_length, struct ulp_error *error);

/* Replace what the lane keeps (count 0: nothing), while no run is under way: to try sets of nodes
 * without planning again. A pattern that names no node: ULP_ERROR_USAGE with near names. On failure
 * the plan is as before. qdq=integer must have been in a lane or its keeps when planning. */
ULP_API enum ulp_status ulp_plan_keep(struct ulp_plan *plan, size_t lane,
                                      const struct ulp_keeps *keeps, struct ulp_error *error);
/* The lane's name: its arithmetic's, and what it keeps. */
ULP_API const char *ulp_plan_lane_name(const struct ulp_plan *plan, size_t lane);
/* What the lane computes the node in. */
ULP_API const struct ulp_arithmetic *ulp_plan_node_arithmetic(const struct ulp_plan *plan,
                                                              size_t lane, size_t index);

/* A computed value that nodes of the lane read in another storage format than it is held in: where
 * a deployed graph has a Cast. */
struct ulp_border {
    const char *value;                      /* lives with the plan, as all here */
    const struct ulp_arithmetic *from, *to; /* of its holder, of its readers */
    size_t producer;                        /* node in whose arithmetic it is held */
    size_t reader_count, first_reader;
    size_t elements; /* 0: unknown before the run */
};
/* The lane's borders, by producer; free *out with ulp_borders_free. */
ULP_API enum ulp_status ulp_plan_borders(const struct ulp_plan *plan, size_t lane,
                                         struct ulp_border **out, size_t *count,
                                         struct ulp_error *error);
ULP_API void ulp_borders_free(struct ulp_border *borders);

/* A constant with elements that the lane's storage cannot hold: what is beyond its largest value or
 * below its least becomes what the arithmetic's `constants` says. */
struct ulp_changed_constant {
    const char *name;                /* of the value, or of the node whose attribute it is */
    const struct ulp_arithmetic *in; /* of its readers */
    size_t elements;                 /* all of them */
    size_t overflowed;               /* finite, beyond the largest */
    size_t underflowed;              /* not zero, and becomes zero, or is raised */
    double largest;                  /* magnitude of the finite ones */
    const size_t *readers;           /* nodes, ascending */
    size_t reader_count;
};
struct ulp_changed_constants {
    struct ulp_changed_constant *items; /* by first reader; names live with the plan */
    size_t count;
    size_t *readers; /* of all */
};
/* Those of the lane; free *out with ulp_changed_constants_free. Looks at every constant. */
ULP_API enum ulp_status ulp_plan_constants(const struct ulp_plan *plan, size_t lane,
                                           struct ulp_changed_constants *out,
                                           struct ulp_error *error);
ULP_API void ulp_changed_constants_free(struct ulp_changed_constants *constants);

/* What a node works on and with, in one lane. */
struct ulp_node_types {
    bool product; /* MatMul, Conv and their like: the rest is theirs */
    /* computed in INT32 sums over quantised values: by the operator's definition, or by
     * qdq=integer */
    bool integer;
    /* in which the model stores the second factor when it is a constant (behind a DequantizeLinear:
     * the quantised type); UNDEFINED: it is computed */
    enum ulp_type weight;
    /* "int8", the format of the factors, or "declared" of the arithmetic `model` */
    char compute[24];
    /* elements are only moved, chosen or converted: errors pass on, and none but a Cast's rounding
     * is made */
    bool moves;
};
ULP_API void ulp_plan_node_types(const struct ulp_plan *plan, size_t lane, size_t index,
                                 struct ulp_node_types *out);

/* One lane's values of one node output. Pointers are NULL when not computed: in a lane that takes
 * another branch or ends its rounds otherwise than the reference, nodes inside are not, and the If,
 * Loop or Scan is computed as one node. */
struct ulp_lane_value {
    const struct ulp_tensor *entire; /* P(p); for the reference lane R(r) */
    const struct ulp_tensor *single; /* P(r) */
    const struct ulp_tensor *here;   /* R(p), in the reference's arithmetic */
};

/* What an observer sees when a node has been computed. Valid during the call only. */
struct ulp_event {
    size_t index, node_count;
    /* how often this run has been at the node before: nodes inside a Loop or Scan are told of each
     * time */
    size_t round;
    const char *name, *op;
    /* its integer outputs are amounts in steps of a scale (QuantizeLinear, QLinearConv, ...) */
    bool quantizes;
    size_t output_count; /* wanted outputs only */
    const char *const *output_names;
    const int *output_positions; /* of each among the node's outputs */
    size_t lane_count;
    const struct ulp_arithmetic *arithmetics; /* of each lane: what it computes this node in */
    const struct ulp_lane_value *values;      /* values[lane * output_count + output] */
    /* by lane: took other branches or rounds than the reference in this node; NULL: none did */
    const bool *apart;
    /* the node's non-constant inputs; of an If, Loop or Scan the bodies' results it hands on */
    size_t input_count;
    const char *const *input_names;
    /* inputs[lane * input_count + input]; only entire is set */
    const struct ulp_lane_value *inputs;
    double seconds;  /* spent on this node */
    double progress; /* estimated share of the run's work done, 0 to 1 */
};

/* Entries may be NULL. An error returned by node_done ends the run with that error. */
struct ulp_observer {
    void *context;
    enum ulp_status (*node_done)(void *context, const struct ulp_event *event,
                                 struct ulp_error *error);
    bool (*cancelled)(void *context); /* asked before every node */
};

struct ulp_run_options {
    int thread_count; /* 0: all processors */
    bool audit;       /* compute single and here for lanes 1.. */
    /* instead: lanes 1.. compute only contractions, each on the reference's inputs; events show
     * that P(r) as entire, and NULL for other nodes */
    bool isolated;
    /* lanes 1.. decide as the reference does: integers that a node makes of floats (indices,
     * comparisons, but not quantised amounts) are the reference's, and TopK picks by them */
    bool follow;
};

/* What a run cost. */
struct ulp_run_cost {
    double seconds;
    size_t peak_bytes; /* of tensors and packed factors, in all lanes */
    /* constant factors whose packed form was kept, and how often one served again */
    size_t packed_count, packed_use_count;
};

/* Run the plan on the inputs (NULL: a model without any; converted to each lane's storage, rounding
 * once, after floats of another type than the model declares were rounded once to that). outputs:
 * array of lane_count sets filled with the graph's outputs, or NULL; the caller frees them. cost
 * may be NULL. */
ULP_API enum ulp_status ulp_plan_run(const struct ulp_plan *plan,
                                     const struct ulp_tensor_set *inputs,
                                     const struct ulp_run_options *options,
                                     const struct ulp_observer *observers, size_t observer_count,
                                     struct ulp_tensor_set *outputs, struct ulp_run_cost *cost,
                                     struct ulp_error *error);

/* One row of the operator table, for coverage listings: index 0, 1, ... until false. */
struct ulp_operator_info {
    const char *name, *domain;
    int since, until;
    bool formula;     /* defined by a formula */
    const char *work; /* "formulas", "moves elements", "contraction" or "control flow" */
    const char *text; /* the formula or its epilogue, or NULL */
    size_t index;
};
ULP_API bool ulp_operator_info(size_t index, struct ulp_operator_info *out);
/* Formula number i of those that the computation of row `index` calls, NULL behind the last. */
ULP_API const char *ulp_operator_info_formula(size_t index, size_t i);

#endif
