/* The lint: what in a model, or in trtexec's options for it, is known to cost accuracy or to be
 * ignored in a low-precision engine. It reads the model only: nothing is computed and no inputs are
 * needed, so it also reads models with operators that cannot be planned.
 *
 * Rules are rows of a table (doc/lint.md): each has an id, a severity, and says what it found, why
 * it matters, what to do about it and where that is documented. Findings are told with the names of
 * the nodes they are at. A model that declares FP16 or BF16 values is judged as it stands; of any
 * other its constants are judged as FP16, which it may be converted to. */
#ifndef ULPSCOPE_LINT_H
#define ULPSCOPE_LINT_H

#include <ulpscope/audit.h>
#include <ulpscope/model.h>
#include <ulpscope/target.h>
#include <ulpscope/written.h>

enum ulp_severity {
    ULP_SEVERITY_NOTE,    /* could be better; results stay right */
    ULP_SEVERITY_WARNING, /* likely to lose accuracy or range */
    ULP_SEVERITY_ERROR,   /* refused, ignored in silence, or wrong */
    ULP_SEVERITY_COUNT
};
/* "note", "warning", "error". */
ULP_API const char *ulp_severity_name(enum ulp_severity severity);

struct ulp_lint_rule {
    const char *id; /* "cast-down-up" */
    enum ulp_severity severity;
    unsigned targets; /* that it applies to: enum ulp_target_bit */
    const char *what, *why, *fix;
    const char *source; /* where this is documented, reported or derived */
};
/* Rule 0, 1, ... until false; the index of an id, or -1. Static storage. */
ULP_API bool ulp_lint_rule(size_t index, struct ulp_lint_rule *out);
ULP_API ptrdiff_t ulp_lint_rule_find(const char *id);

struct ulp_finding {
    size_t row;       /* index of the rule [apart] */
    const char *rule; /* its id; and what it says of all of its findings */
    enum ulp_severity severity;
    const char *what, *fix;
    const char
        *node;      /* as an audit names it; NULL: it is about an input, a constant or an option */
    const char *op; /* of the node; NULL: none */
    const char *value; /* a tensor or an option's entry it is about; NULL: none */
    const char *text;  /* one sentence, which there always is */
    size_t begins;     /* of what is written out as several nodes: place of the first [apart] */
};

/* Initialise with zeros. */
struct ulp_lint_options {
    size_t size;      /* ULP_OPTIONS */
    unsigned targets; /* rules about none of them are left out; 0: ULP_TARGET_ALL */
    /* what trtexec is given after --layerPrecisions= and --layerOutputTypes=, or NULL */
    const char *layer_precisions, *layer_output_types;
    /* sizes of free dimensions, or a sample that has them; without either they are taken as 1, and
     * operators that are written out over them may not be seen */
    const struct ulp_dim_value *dims;
    size_t dim_count;
    const struct ulp_tensor_set *inputs;
    /* what the model was made of, as of an audit: its constants are compared with that one's; NULL:
     * they are not */
    const struct ulp_model *original;
};

struct ulp_lint_result {
    char *model_path;
    unsigned targets;                  /* [apart] */
    size_t node_count;                 /* looked at: of the graph, of bodies and functions */
    size_t counts[ULP_SEVERITY_COUNT]; /* of findings [by ulp_severity] */
    size_t finding_count;
    const char *assumed;   /* "batch, length": free dimensions that were taken as 1; NULL: none */
    const char *unplanned; /* why no shapes are known; NULL: they are */
    size_t place_count;
    /* every node of the graph, of bodies and of functions; an index is its place in this list */
    struct ulp_place *places;
    const struct ulp_finding *findings; /* by rule, in the table's order; then in graph order */
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Look for everything the rules know. ULP_ERROR_USAGE: an option's text is one that trtexec
 * refuses. Charged to the model's budget. Free *out with ulp_lint_free. */
ULP_API enum ulp_status ulp_lint_run(const struct ulp_model *model,
                                     const struct ulp_lint_options *options,
                                     struct ulp_lint_result *out, struct ulp_error *error);
ULP_API void ulp_lint_free(struct ulp_lint_result *result);

/* What stands before every figure of a model at a target: that its parser refuses the graph, or
 * else what the lint calls an error there. No figure shows it. */
struct ulp_refusal {
    /* the parser does, or a constant is not that of sizes->original: no edit and no kept node mends
     * that; false: it is another error */
    bool refuses;
    char *what;      /* "trt10 refuses the model: a zero point is not zero (qdq-asymmetric)"; NULL:
                        nothing */
    char *why, *fix; /* at which node, and what to do; NULL without `what` */
    bool there;      /* the error is of that target, whatever the nodes' types are */
};
/* target: as --for names it; NULL, or another name: nothing is said. sizes: of an ulp_lint_run; may
 * be NULL. Free *out with ulp_refusal_free. */
ULP_API enum ulp_status ulp_lint_refusal(const struct ulp_model *model, const char *target,
                                         const struct ulp_lint_options *sizes,
                                         struct ulp_refusal *out, struct ulp_error *error);
ULP_API void ulp_refusal_free(struct ulp_refusal *refusal);
/* Its three lines; empty where nothing is said. As ulp_lint_text. */
ULP_API enum ulp_status ulp_refusal_text(const struct ulp_refusal *refusal, int width, bool colour,
                                         char **out, struct ulp_error *error);

/* The result as text: the verdict first, then the findings of each rule, at most `shown` of one
 * rule by name (0: all). Free *out with free(); width and colour as in ulp_report_text. */
ULP_API enum ulp_status ulp_lint_text(const struct ulp_lint_result *result, size_t shown, int width,
                                      bool colour, char **out, struct ulp_error *error);
/* Write lint.json (doc/fields.md), or SARIF 2.1.0. */
ULP_API enum ulp_status ulp_lint_write(const struct ulp_lint_result *result,
                                       enum ulp_output_kind as, const char *path,
                                       struct ulp_error *error);
ULP_API enum ulp_status ulp_lint_write_sarif(const struct ulp_lint_result *result, const char *path,
                                             struct ulp_error *error);

#endif
