/* One walk through what this library knows of a model that came out wrong: the lint, an audit in
 * the arithmetic of the target, where something overflows the forecast, where the result is not
 * fine a plan, and where there is a recording the comparison. It ends in one verdict, the most
 * probable cause first, and one command to go on with.
 *
 * Causes are looked for by the rules of one table (analysis/doctor/reason.def), in its order:
 * doc/doctor.md lists them. */
#ifndef ULPSCOPE_DOCTOR_H
#define ULPSCOPE_DOCTOR_H

#include <ulpscope/compare.h>
#include <ulpscope/engine.h>
#include <ulpscope/lint.h>
#include <ulpscope/overflow.h>
#include <ulpscope/search.h>
#include <ulpscope/target.h>
#include <ulpscope/verdict.h>

enum ulp_doctor_reason {
    ULP_DOCTOR_INPUT,     /* an input of the model is not finite */
    ULP_DOCTOR_GRAPH,     /* the graph itself is wrong, in any arithmetic */
    ULP_DOCTOR_BIRTH,     /* the reference itself is not finite from a node on */
    ULP_DOCTOR_OVERFLOW,  /* a value too large for its format, which reaches an output */
    ULP_DOCTOR_ZERO,      /* a divisor or the like has become 0 */
    ULP_DOCTOR_INSIDE,    /* fine only if rows inside operators are added in FP32 */
    ULP_DOCTOR_DECISION,  /* a node decides otherwise: an index, a comparison, a length */
    ULP_DOCTOR_ERROR,     /* the largest share of the outputs' error */
    ULP_DOCTOR_RECORDING, /* a recording is not explained by the arithmetic */
    ULP_DOCTOR_REASONS
};
/* "input", "graph", "reference", "overflow", "zero", "inside", "decision", "error", "recording". */
ULP_API const char *ulp_doctor_reason_name(enum ulp_doctor_reason reason);

struct ulp_doctor_cause {
    char *text; /* a sentence without a full stop, which begins with the node where there is one */
    enum ulp_doctor_reason reason;
    char *node, *op; /* NULL: it is no node's */
    ptrdiff_t index; /* of the node in the audit; -1: it is no node's */
    char *value;     /* the input, constant or result it is about; NULL: none is named */
    char *rule;      /* of the lint, which says the same of the graph; NULL: none does */
    char *fix;       /* what to do, by that rule or by what was tried; NULL: not known */
};

/* Initialise with zeros. */
struct ulp_doctor_options {
    size_t size;        /* ULP_OPTIONS */
    const char *target; /* as --for names it, "@GPU" may follow; NULL: none */
    /* NULL: the target's, of a graph in FP32 what it computes that in where nobody converts it; of
     * no target "model" for one that declares FP16 or BF16 values, else "fp16" */
    const char *arithmetic;
    struct ulp_arithmetic reference; /* pair */
    /* what was built, as an engine's description says: judged in the place of the arithmetic
     * (engine.h); NULL: none */
    const struct ulp_engine_map_lane *engine;
    const struct ulp_recording *recordings;
    size_t recording_count;
    /* of the lint, of random inputs and of free dimensions */
    const struct ulp_dim_value *dims;
    size_t dim_count;
    double tolerance;   /* the sqnr_db that a plan is searched for; 0: the bound of "fine" */
    enum ulp_task task; /* of the outputs; UNKNOWN: each is recognised */
    const struct ulp_scorer *scorer; /* as of an audit, and of the plan; NULL: none */
    bool no_plan;                    /* do not search what to keep */
    const char
        *engine_arguments; /* of a command line: " --engine a.json"; NULL: " --engine LAYERS" */
    bool allow_nonfinite_inputs;
    int thread_count;
    const struct ulp_observer *progress;
    /* before each step, of step_count ("audit"); may be NULL */
    void (*begins)(void *progress_context, const char *step, size_t index, size_t step_count);
    /* of the walk: after so many the search for a remedy, its last step, ends, and the verdict is
     * said without one, and half of what is left is the comparison's; 0: ULP_DOCTOR_SECONDS */
    double seconds;
    /* what the model was made of, as of an audit: outputs are judged by its, constants compared
     * with its; NULL: they are not. No remedy is searched then */
    const struct ulp_model *original;
};
#define ULP_DOCTOR_SECONDS 60.0

/* Strings and arrays belong to the result. */
struct ulp_doctor {
    char *model_path;
    char *target;     /* NULL: none */
    char *arithmetic; /* that was judged */
    char *reference;
    enum ulp_grade grade;
    char *reason; /* the sentence of the verdict */
    /* of a graph in FP32 that the target leaves so: "if you convert it to FP16: broken in
     * ort-cuda:fp16: output ...", or, where that is judged, as the target's arithmetic was named,
     * "as the graph is: fine in ort-cuda:tf32"; else NULL */
    char *beside;
    bool fine_beside;
    bool as_is; /* what is judged is the graph as it is, which the target leaves in FP32 */
    /* "ort-cuda takes only ...": an error of the lint by which the target refuses the graph, or
     * takes it for another; NULL: there is none, or no target was named */
    char *refused;
    char *tf32_forbidden_by; /* what forbids the target TF32, which mends it; NULL: it does not */
    size_t cause_count;
    struct ulp_doctor_cause *causes; /* the most probable first */
    double
        stopped; /* seconds in which no remedy was found, so that its search ended; 0: it did not */
    /* where two kinds of processors differ, the one that is judged, the worse ("without VNNI"),
     * what the other gives ("with VNNI it is fine: ...") and which this machine has; where their
     * verdicts are one, "with VNNI and without VNNI alike" and NULL; else NULL */
    char *processor, *other_processor, *this_processor;
    /* "rules that are inferred: acc=fp16": the weakest of the target's that concern the model;
     * NULL: all are recorded or documented */
    char *rests_on;
    char *remedy; /* what keeps the result right, by a run; NULL: none was searched or found */
    char *next;   /* the command line to go on with */
    size_t sample_count;
    double seconds;
    /* the results of the steps; NULL: it was not taken */
    struct ulp_lint_result *lint;           /* [apart] */
    struct ulp_audit *audit;                /* [apart] */
    struct ulp_overflow_forecast *overflow; /* [apart] */
    struct ulp_search *plan;                /* [apart] */
    struct ulp_comparison *comparison;      /* [apart] */
    struct ulp_arena *memory;               /* private: holds the rest */
};

/* Take the walk. What a step refuses (an operator that is not computed) ends it, but for plans and
 * forecasts, which are left out then. Samples as of ulp_search_run. Free *out with
 * ulp_doctor_free. */
ULP_API enum ulp_status ulp_doctor_run(const struct ulp_model *model,
                                       const struct ulp_doctor_options *options,
                                       const struct ulp_sample *samples, size_t sample_count,
                                       struct ulp_doctor *out, struct ulp_error *error);
ULP_API void ulp_doctor_free(struct ulp_doctor *doctor);

/* The result as text: verdict, causes, what to do, the command; free *out with free(). width and
 * colour as in ulp_report_text. */
ULP_API enum ulp_status ulp_doctor_text(const struct ulp_doctor *doctor, int width, bool colour,
                                        char **out, struct ulp_error *error);
/* Write doctor.json (doc/fields.md), beside it in a folder the files of the steps: lint.json,
 * report.json and the like. */
ULP_API enum ulp_status ulp_doctor_write(const struct ulp_doctor *doctor, enum ulp_output_kind as,
                                         const char *path, struct ulp_error *error);

/* In what a model is judged: the arithmetic as named; NULL: the target's ("@GPU" may follow), of a
 * model that declares FP16 or BF16 (alone: the target's bf16) with types=declared unless the target
 * lowers every model; of no target "fp16", or "model" for such a model. name: what *out is called.
 */
#define ULP_JUDGED_IN_BYTES 160
ULP_API enum ulp_status ulp_judged_in(const struct ulp_model *model, const char *target,
                                      const char *arithmetic, char name[ULP_JUDGED_IN_BYTES],
                                      struct ulp_arithmetic *out, struct ulp_error *error);

/* The weakest of an arithmetic's rules that concern the model, where one is neither recorded nor
 * documented, and of those recorded on another version than the target's name has (which may be
 * NULL) what they were recorded on: "rules that are inferred: acc=fp16, fuse=reduce"; else NULL.
 * Free *out with free(). */
ULP_API enum ulp_status ulp_judged_rests(const struct ulp_model *model, const char *arithmetic,
                                         const char *target, char **out, struct ulp_error *error);

/* The kinds of processors that the target (NULL: none) may run on and that differ for the model, in
 * sums of bytes that may saturate; NULL: none. */
ULP_API const struct ulp_target_choice *ulp_judged_processors(const struct ulp_model *model,
                                                              const struct ulp_target *target);
/* What nothing recorded or documented answers of how that arithmetic adds, products or rows inside
 * operators, where the model has any: the index-th such choice, and the other arithmetic; NULL:
 * there are no more. */
ULP_API const struct ulp_target_choice *ulp_judged_sums(const struct ulp_model *model,
                                                        const char *arithmetic, size_t index,
                                                        char other[ULP_JUDGED_IN_BYTES]);

#endif
