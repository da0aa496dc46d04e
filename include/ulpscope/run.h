/* Planning a model, and running it in several arithmetics side by side.
 *
 * A *program* is made first: it expands functions, finds each node's operator, checks attributes,
 * infers shapes, and computes last uses and the memory needed. Everything that can be refused is
 * refused here, before anything is computed. A *lane* is one arithmetic and the values that the
 * model's nodes have in it. A *run* visits the nodes once, in order: every lane computes the node,
 * observers are shown the results of all lanes, then values without further readers are freed. The
 * bodies of If, Loop and Scan are visited in the same way, by every lane that takes the same branch
 * and the same number of iterations as the reference.
 *
 * In an audit lane 0 is the reference, arithmetic R with values r. Any other lane, arithmetic P
 * with values p, evaluates a node up to three times:
 *
 *     P(p)  entire   the lane's own result
 *     P(r)  single   on the reference's inputs, rounded to P's storage
 *     R(p)  here     on the lane's inputs, in the reference's arithmetic (see `here`)
 *
 * and its error is the exact sum of two parts:
 *
 *     P(p) - R(r) = [P(p) - R(p)] introduced + [R(p) - R(r)] carried
 *
 * A program is const and may be shared between threads. A run is one call on one thread, which
 * takes the pool of threads that an earlier run has left or starts its own. The last pool left
 * stays with the program, asleep and with signals blocked, until that is freed, while no more than
 * 256 threads of the process rest so, or one pool's; else it ends with the run. A process that has
 * forked has none of them, and its runs start their own: fork while no run is under way. */
#ifndef ULPSCOPE_RUN_H
#define ULPSCOPE_RUN_H

#include <ulpscope/model.h>

struct ulp_program;

/* Nodes that a lane computes in another arithmetic than its own. They read inputs and constants in
 * that arithmetic's storage, and their results are stored in it. A value whose reader has another
 * storage is rounded once where it is read, as by a Cast. Inputs and constants of the model are
 * rounded once by each reader, from the values in the file or from the caller. Loop-carried values
 * and results of an If, Loop or Scan are in the storage of its own arithmetic. */
struct ulp_keep {
    /* Which nodes:
     *   a name           '*' is any text, '?' any character; "..." at the front is any text too, so
     *                    that a name can be pasted as a terminal cut it
     *   op:TYPE          of this operator, as "op:Softmax"
     *   #12, #12-40      by index, as in ulp_program_node_name
     *   before:NAME      the nodes that NAME depends on, without NAME
     *   after:NAME       the nodes that depend on NAME, without NAME
     *   between:A,B      the nodes on paths from A to B, with A and B
     * An If, Loop or Scan includes the nodes in its bodies. NULL: exactly those in `nodes`. */
    const char *pattern;
    const size_t *nodes;
    size_t node_count;
    struct ulp_arithmetic arithmetic;
};
/* The kept nodes of one lane. When several entries name a node, the last applies. */
struct ulp_keeps {
    size_t count;
    const struct ulp_keep *items;
    const char *name; /* NAME in the lane's name "fp16,keep=NAME"; NULL: the patterns */
};

/* A kernel of a lane with fuse=groups: nodes that one launch computes, whose values inside are not
 * rounded to storage (doc/fusion.md). A node in several groups is computed again in each. A node in
 * none is a kernel of its own. Views (Reshape, Transpose, ...) between nodes of a group need not be
 * listed. */
struct ulp_group {
    const char *name; /* in messages; NULL: its number */
    /* names as in ulp_program_node_name, exactly (of several nodes of that name all), or "#12" for
     * the node with that index where none is called so */
    const char *const *nodes;
    size_t node_count;
    /* of these nodes, those whose results are rounded to storage inside the kernel, too, as by a
     * Cast that it has */
    const char *const *rounded;
    size_t rounded_count;
};
/* The groups of one lane. */
struct ulp_groups {
    size_t count;
    const struct ulp_group *items;
    const char *name; /* NAME in the lane's name "fp16,fuse=NAME"; NULL: "groups" */
};

/* Options of a program. Initialise with zeros and set the wanted ones. */
struct ulp_program_options {
    size_t size;                      /* ULP_OPTIONS */
    const struct ulp_dim_value *dims; /* symbolic dimensions of inputs; those not listed are 1 */
    size_t dim_count;
    const struct ulp_tensor_set *inputs; /* when given, input shapes are taken from these */
    const struct ulp_keeps *keeps;       /* one for each lane; NULL: no kept nodes */
    /* one for each lane, copied; read where the lane has fuse=groups, which needs them. A name that
     * no node has: ULP_ERROR_USAGE, with similar names */
    const struct ulp_groups *groups;
    /* how reports call each lane, copied; NULL, of all or of one: by its arithmetic, groups and
     * kept nodes */
    const char *const *names;
    /* Change the model's constants a little, to see how an arithmetic's error varies. Float
     * constants of 16 elements and more are multiplied by random factors within
     * 1 +- 2^(2 - precision) (of their own type's precision, when that is less); whole numbers
     * stay. precision 0: no change */
    struct ulp_perturbation {
        int precision;
        uint64_t seed; /* the same seed gives the same change */
        bool held;     /* private: tensors that have no more bits keep to them */
    } perturbation;
    /* QLinearConv, QGemm, QLinearAdd and their like as the nodes that they stand for, between
     * DequantizeLinear and QuantizeLinear, each named NODE/...: what an audit beside an original
     * goes through */
    bool spelled;
};

/* Program the model for the lanes; of several, lane 0 is the reference. Fails with
 * ULP_ERROR_UNSUPPORTED, naming every unsupported operator, type and attribute at once, and with
 * ULP_ERROR_MEMORY when the run would need more memory than the model's budget has left. The model
 * must outlive the program. Free with ulp_program_free. */
ULP_API enum ulp_status ulp_program_create(const struct ulp_model *model,
                                           const struct ulp_arithmetic *lanes, size_t lane_count,
                                           const struct ulp_program_options *options,
                                           struct ulp_program **out, struct ulp_error *error);
ULP_API void ulp_program_free(struct ulp_program *program);

/* The nodes of the program, in execution order. Functions are expanded; an If whose condition is
 * known while compiling is replaced by its branch; the nodes in the bodies of other Ifs, Loops and
 * Scans come before the node that owns the bodies. */
ULP_API size_t ulp_program_node_count(const struct ulp_program *program);
ULP_API const char *ulp_program_node_name(const struct ulp_program *program, size_t index);
ULP_API const char *ulp_program_node_op(const struct ulp_program *program, size_t index);
/* Was the program made for inputs of these shapes? Those that only one of both has do not matter.
 */
ULP_API bool ulp_program_takes(const struct ulp_program *program,
                               const struct ulp_tensor_set *inputs);
/* Have both, of one model and its inputs' shapes apart alike, the same nodes and values under the
 * same indexes? Then what runs of one give can be put together with what those of the other do. */
ULP_API bool ulp_program_same_nodes(const struct ulp_program *a, const struct ulp_program *b);

/* A sample of a model's inputs. Names and inputs stay the caller's. */
struct ulp_sample {
    const char *name;                    /* in reports and messages; not NULL */
    const struct ulp_tensor_set *inputs; /* NULL: ulp_samples.open gives them */
    uint64_t
        fingerprint; /* ulp_tensor_set_fingerprint of the inputs, for a checkpoint; 0: unknown */
};

/* Programs of a model and its lanes for samples of any shapes, one thread at a time: set the first
 * four, zero the rest, and free it with ulp_programs_free. */
struct ulp_programs {
    const struct ulp_model *model;
    const struct ulp_arithmetic *lanes; /* the caller's, as all that options name */
    size_t lane_count;
    struct ulp_program_options options; /* `inputs` are those of the sample asked for */
    struct ulp_program *first;          /* of the first sample's shapes; stays */
    struct ulp_program *others[2];      /* private, as the next */
    int last;                           /* of the others, the one chosen last */
};
/* The program for these inputs, the first's or one that has its nodes: valid until two of other
 * shapes have been made, or those dropped. Shapes that leave other nodes to compute than the first
 * sample's: ULP_ERROR_INPUT; else as ulp_program_create. */
ULP_API enum ulp_status ulp_programs_choose(struct ulp_programs *programs,
                                            const struct ulp_tensor_set *inputs,
                                            struct ulp_program **out, struct ulp_error *error);
/* Free all but the first. */
ULP_API void ulp_programs_drop(struct ulp_programs *programs);
ULP_API void ulp_programs_free(struct ulp_programs *programs);

/* A precision plan: an arithmetic and its kept nodes, read from a JSON file (doc/plan.md). Charged
 * to budget (may be NULL). */
struct ulp_precision_plan {
    struct ulp_arithmetic arithmetic;
    struct ulp_keeps keeps; /* their name is the file's name without its folder */
    void *memory;           /* private; ulp_precision_plan_free frees it */
};
ULP_API enum ulp_status ulp_precision_plan_read(const char *path, struct ulp_budget *budget,
                                                struct ulp_precision_plan *out,
                                                struct ulp_error *error);
ULP_API void ulp_precision_plan_free(struct ulp_precision_plan *plan);
/* Groups of nodes for fuse=groups, read from a JSON file (doc/fusion.md). Charged to budget (may be
 * NULL). */
struct ulp_group_list {
    struct ulp_groups groups; /* their name is the file's name without its folder */
    void *memory;             /* private; ulp_group_list_free frees it */
};
ULP_API enum ulp_status ulp_group_list_read(const char *path, struct ulp_budget *budget,
                                            struct ulp_group_list *out, struct ulp_error *error);
ULP_API void ulp_group_list_free(struct ulp_group_list *list);
/* Ranges for scales=static, read from the JSON file that ulp_calibrate writes (doc/scales.md).
 * Charged to budget (may be NULL). */
struct ulp_range_list {
    struct ulp_factor_ranges ranges; /* their name is the file's name without its folder */
    void *memory;                    /* private; ulp_range_list_free frees it */
};
ULP_API enum ulp_status ulp_range_list_read(const char *path, struct ulp_budget *budget,
                                            struct ulp_range_list *out, struct ulp_error *error);
ULP_API void ulp_range_list_free(struct ulp_range_list *list);
/* Parse "PATTERN=ARITH", such as "op:Softmax=fp32". Sets out->arithmetic and *pattern_length, the
 * length of PATTERN at the start of text; the caller sets out->pattern. */
ULP_API enum ulp_status ulp_keep_parse(const char *text, struct ulp_keep *out,
                                       size_t *pattern_length, struct ulp_error *error);

/* Replace the kept nodes of a lane (count 0: none), to try sets of nodes without planning again.
 * Not while a run uses the program. A pattern that names no node: ULP_ERROR_USAGE, with similar
 * names. On failure the program is unchanged. qdq=integer can be used only when a lane or its kept
 * nodes had it when the program was created. */
ULP_API enum ulp_status ulp_program_keep(struct ulp_program *program, size_t lane,
                                         const struct ulp_keeps *keeps, struct ulp_error *error);
/* The name of the lane: its arithmetic and its kept nodes, as "fp16,keep=plan.json". */
ULP_API const char *ulp_program_lane_name(const struct ulp_program *program, size_t lane);
/* The arithmetic in which the lane computes the node. */
ULP_API const struct ulp_arithmetic *ulp_program_node_arithmetic(const struct ulp_program *program,
                                                                 size_t lane, size_t index);

/* A border: a computed value that is stored in one format and that some nodes of the lane read in
 * another. A deployed graph has a Cast there. */
struct ulp_border {
    const char *value;                      /* owned by the program, like the arithmetics */
    const struct ulp_arithmetic *from, *to; /* of the producer, of these readers */
    size_t producer;                        /* index of the node in whose storage it is held */
    size_t reader_count, first_reader;
    size_t elements; /* 0: unknown before the run */
};
/* The borders of a lane, ordered by producer. Free *out with ulp_borders_free. */
ULP_API enum ulp_status ulp_program_borders(const struct ulp_program *program, size_t lane,
                                            struct ulp_border **out, size_t *count,
                                            struct ulp_error *error);
ULP_API void ulp_borders_free(struct ulp_border *borders);

/* A constant with elements that the storage of its readers cannot hold; the arithmetic's
 * `constants` says what they become. */
struct ulp_changed_constant {
    const char *name;                /* of the value, or of the node whose attribute it is */
    const struct ulp_arithmetic *in; /* the arithmetic of its readers */
    size_t elements;                 /* of the constant */
    size_t overflowed;               /* finite elements larger than the largest value */
    size_t underflowed;              /* elements that are not zero and become zero, or are raised */
    double largest;                  /* magnitude of the finite elements */
    const size_t *readers;           /* indexes of nodes, ascending */
    size_t reader_count;
};
struct ulp_changed_constants {
    struct ulp_changed_constant *items; /* ordered by first reader; names belong to the program */
    size_t count;
    size_t *readers; /* private: holds those of the items */
};
/* The changed constants of a lane. Reads every constant of the model. Free *out with
 * ulp_changed_constants_free. */
ULP_API enum ulp_status ulp_program_constants(const struct ulp_program *program, size_t lane,
                                              struct ulp_changed_constants *out,
                                              struct ulp_error *error);
ULP_API void ulp_changed_constants_free(struct ulp_changed_constants *constants);

/* The types that a node works with in one lane. */
struct ulp_node_types {
    bool product; /* a contraction (MatMul, Conv, ...); integer, weight and compute are for these */
    /* computed by INT32 sums of quantised values: by the operator's definition or by
     * qdq=integer */
    bool integer;
    /* type in which the model stores a constant second factor (of one behind a DequantizeLinear,
     * the quantised type); UNDEFINED: the factor is computed */
    enum ulp_type weight;
    /* "int8"; the format of the factors; or, in the arithmetic `model`, "declared" */
    char compute[24];
    /* the node only moves, selects or converts elements, so it adds no error but a Cast's
     * rounding */
    bool moves;
};
ULP_API void ulp_program_node_types(const struct ulp_program *program, size_t lane, size_t index,
                                    struct ulp_node_types *out);

/* Where a node is computed in a lane whose arithmetic fuses nodes into kernels (enum ulp_fuse). */
struct ulp_node_kernel {
    /* 1, 2, ..., with fuse=groups the group's number; 0: a kernel of its own, or several that each
     * compute it */
    size_t kernel;
    bool unstored; /* its results are never in memory: readers have them in the inner format */
};
ULP_API void ulp_program_node_kernel(const struct ulp_program *program, size_t lane, size_t index,
                                     struct ulp_node_kernel *out);

/* One output of a node in one lane. NULL: not computed. A lane that takes another branch or another
 * number of iterations than the reference computes the If, Loop or Scan as one node, and has no
 * values for the nodes inside. */
struct ulp_lane_value {
    const struct ulp_tensor *entire; /* P(p); for the reference lane R(r) */
    const struct ulp_tensor *single; /* P(r) */
    /* R(p), in the reference's arithmetic; the tensor of `entire` where the node rounds nothing. Of
     * a large Conv or MatMul with constant weights an element may be off by 2^-23 of the rms of
     * what is introduced there, and of that of what is carried. */
    const struct ulp_tensor *here;
    /* P(p) as nodes in its kernel read it on: another tensor than `entire` where the node hands out
     * the graph's output, for which it is rounded */
    const struct ulp_tensor *held;
};

/* Seconds that one lane spent on one node. */
struct ulp_lane_seconds {
    double own;       /* P(p) and P(r), of the reference lane R(r) */
    double reference; /* R(p): for this lane, in the reference's arithmetic */
    /* numbers that were computed in pairs of doubles by steps of a lane in "pair", and those of
     * steps that MPFR computed instead (src/number/README.md, section 9) */
    size_t by_pairs, by_mpfr;
};

/* What an observer is shown when a node has been computed. Valid during the call only; copy what is
 * needed later (ulp_tensor_copy). */
struct ulp_event {
    size_t index, node_count;
    /* how many times this run has computed the node before: a node in a Loop or Scan is shown once
     * for each iteration */
    size_t execution;
    const char *name, *op;
    /* its integer outputs are quantised numbers (QuantizeLinear, QLinearConv, ...), not indices */
    bool quantizes;
    size_t output_count; /* without optional outputs that the model leaves out */
    const char *const *output_names;
    const int *output_positions; /* position of each among the node's outputs */
    size_t lane_count;
    const struct ulp_arithmetic *arithmetics; /* by lane: in which it computes this node */
    const struct ulp_lane_value *values;      /* values[lane * output_count + output] */
    /* by lane: took another branch or number of iterations in this node than the reference; NULL:
     * none did */
    const bool *apart;
    /* the node's non-constant inputs; of an If, Loop or Scan the results of its bodies */
    size_t input_count;
    const char *const *input_names;
    /* inputs[lane * input_count + input]; only entire is set */
    const struct ulp_lane_value *inputs;
    const struct ulp_lane_seconds *lane_seconds; /* by lane; zeros where it was not computed */
    double progress; /* estimated share of the run's work done, 0 to 1 */
    /* The node's values follow from constants alone. Events with the same mark, of this run and of
     * others of the program in the same arithmetics, show the same values in every lane; NULL: they
     * may differ. */
    const void *settled;
    /* estimated seconds until the run's end, by what each operator has taken in it so far; NaN: too
     * much is left of operators that it has not computed yet */
    double left;
};

/* Callbacks of a run; each may be NULL. They are called on the thread that called ulp_program_run.
 * When node_done returns an error, the run ends with it; when cancelled returns true, the run ends
 * with ULP_ERROR_CANCELLED. */
struct ulp_observer {
    void *context;
    enum ulp_status (*node_done)(void *context, const struct ulp_event *event,
                                 struct ulp_error *error);
    bool (*cancelled)(void *context); /* asked before every node */
    /* told by an audit before it runs, in commands that begin with one, too; may be NULL: about how
     * many bytes the sample takes beside mapped weights, values alone and with all that is kept for
     * shares, and what shares need more than the memory limit leaves them; and how many times the
     * first sample's run as it is foreseen all samples take, and at most, NaN where that does not
     * tell (beside an original, with a certificate) */
    void (*needs)(void *context, double values, double all, double lacking, double runs,
                  double most);
    /* node_done looks at no values. Where that is so of all observers, events have none
     * (output_count and input_count are 0), and a run of one lane may compute nodes together */
    bool values_unused;
    /* node_done neither needs nor changes floating-point modes, MPFR's defaults and the locale: it
     * is called without the caller's, which saves 0.1 us a node */
    bool modes_unused;
};

struct ulp_run_options {
    size_t size;      /* ULP_OPTIONS */
    int thread_count; /* 0: all processors */
    bool audit;       /* compute single and here for lanes 1.. */
    /* instead of audit: lanes 1.. compute only contractions, each on the reference's inputs; events
     * show this P(r) as `entire`, and NULL for other nodes */
    bool isolated;
    /* NULL, or floats of the main graph by name: lane 0 goes on with these in place of what it
     * computes, rounded to its storage, where they have its shape. Events show what was computed */
    const struct ulp_tensor_set *given;
    /* lanes 1.. take the reference's decisions: integers that a node computes from floats (indices,
     * comparisons, but not quantised numbers) are the reference's, TopK selects by them, and QMoE
     * sends rows to the reference's experts */
    bool follow;
    /* NULL, or with `follow` integers of the main graph by name: decisions that lane 0 takes in
     * place of its own, where they have its type and shape */
    const struct ulp_tensor_set *decided;
    /* what a TopK takes in lanes 1.. stands in the places that the reference has it in: behind it
     * rows of one index are compared, and what a lane alone takes fills the places that are left */
    bool in_order;
};

/* Time and memory of a run. */
struct ulp_run_cost {
    double seconds;
    /* largest memory of tensors, all lanes together, with the program's constants */
    size_t peak_bytes;
};

/* Run the program on the inputs (NULL for a model that has none). An input whose float type is not
 * the declared one is rounded to the declared type; then each lane rounds it to its storage.
 * outputs: an array of lane_count sets that get the graph's outputs, freed by the caller with
 * ulp_tensor_set_free; or NULL. cost may be NULL.
 *
 * A run leaves nothing to the next one but formulas as they are computed, in the program, and what
 * MPFR keeps for a thread of the caller's, which is the caller's: one that ends before the process
 * calls mpfr_free_cache. */
ULP_API enum ulp_status ulp_program_run(const struct ulp_program *program,
                                        const struct ulp_tensor_set *inputs,
                                        const struct ulp_run_options *options,
                                        const struct ulp_observer *observers, size_t observer_count,
                                        struct ulp_tensor_set *outputs, struct ulp_run_cost *cost,
                                        struct ulp_error *error);

/* One row of the operator table, one meaning of an operator: index 0, 1, ... until it returns
 * false. Static storage. */
struct ulp_operator_info {
    const char *name, *domain;
    int since, until; /* opset versions, both included; until 0: no end */
    bool formula;     /* defined by a formula alone */
    const char *work; /* "formulas", "moves elements", "contraction" or "control flow" */
    const char *text; /* the formula, or a contraction's after the sum; NULL: neither */
    size_t index;     /* of this row */
};
ULP_API bool ulp_operator_info(size_t index, struct ulp_operator_info *out);
/* The formulas that the run function of row `index` evaluates: i = 0, 1, ... until NULL. Static
 * storage. */
ULP_API const char *ulp_operator_info_formula(size_t index, size_t i);

#endif
