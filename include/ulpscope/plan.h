/* Finding a precision plan: the smallest set of nodes to keep in a wider arithmetic so that the
 * outputs meet a tolerance.
 *
 * Nodes are chosen by what an audit says of them, and the choice is proven by running the mixed
 * arithmetic (ulp_plan_keep): every figure of a found plan is of such a run. Then nodes are
 * released one by one until no single one can be: each that is left has been tried. No search can
 * promise that no other set is smaller. */
#ifndef ULPSCOPE_PLAN_H
#define ULPSCOPE_PLAN_H

#include <ulpscope/audit.h>
#include <ulpscope/mixed.h>

struct ulp_find_options {
    struct ulp_arithmetic arithmetic, keep_in, reference;
    /* "METRIC=VALUE" or "OUTPUT:METRIC=VALUE", figures of the whole error as ulp_audit_check takes
     * them, of every sample. All must be met; besides, outputs must be finite where the reference
     * is, and integers equal. Outputs are judged that some tolerance is of: one without "OUTPUT:"
     * is of all. */
    const char *const *tolerances;
    size_t tolerance_count;
    /* patterns (struct ulp_keep): nodes kept whatever happens, and nodes never kept */
    const char *const *always, *const *never;
    size_t always_count, never_count;
    size_t budget; /* the most nodes to keep besides `always`; 0: as many as the tolerance needs */
    bool frontier; /* also run sets of other sizes */
    /* Also write mixed.onnx into this folder, which is there (ulp_mixed_write); NULL: do not */
    const char *mixed_folder;
    bool lower_io;               /* of mixed.onnx: struct ulp_mixed_options */
    bool allow_nonfinite_inputs; /* else NaN or infinity in a sample: ULP_ERROR_LIMIT */
    int thread_count;
    const struct ulp_observer *progress; /* `cancelled` is asked before each run; may be NULL */
};

/* One sample under a plan: the output and tolerance that is worst. ratio: how many times too large
 * the error is (sqnr_db 6 dB below its tolerance: 2), 1 or less within the tolerance; +infinity:
 * something is not finite or diverges, and metric says which of the two. */
struct ulp_found_sample {
    char *name;
    struct ulp_found_figure {
        char *output, *metric;
        double value, ratio;
    } before, after; /* in the arithmetic alone (and `always`), and with the plan */
};

struct ulp_found_node {
    size_t index;
    char *name, *op;
    bool always;
    /* the ratio when this node alone is released, in the sample that showed it; NaN: not tried */
    double without;
};

/* The least ratio that was seen with so many nodes kept. */
struct ulp_frontier_point {
    size_t count;
    double ratio;
};

/* Strings and arrays belong to the result. */
struct ulp_found {
    char *model_path;
    struct ulp_arithmetic arithmetic, keep_in, reference;
    size_t tolerance_count;
    char **tolerances;
    /* With every node kept, too, something is decided otherwise than by the reference (scores that
     * are nearly equal, say): all runs take the reference's decisions (ulp_run_options.follow) */
    bool follows;
    bool reaches;               /* with every node kept that may be, the tolerance holds */
    bool met;                   /* it holds with the plan, for every sample */
    bool minimal;               /* and it does not when any single node of the plan is released */
    double before, full, after; /* worst ratios: as samples'; full: with every node kept */
    size_t node_count;          /* of the model, without constants */
    size_t kept_count;
    struct ulp_found_node *kept; /* by index */
    /* the plan as entries of struct ulp_keep: of several that name a node the last applies */
    size_t entry_count;
    struct ulp_found_entry {
        char *pattern;
        bool keep; /* in keep_in; else in the arithmetic (nodes in a body that is kept) */
    } * entries;
    /* borders (struct ulp_border): Casts, the elements they convert and the bytes they read and
     * write, as far as shapes are known before a run */
    size_t cast_count, cast_elements, cast_bytes;
    struct ulp_found_cast {
        char *value;
        bool up; /* to keep_in; else back */
        size_t elements, reader_count;
    } * casts;
    size_t sample_count, validated_count, validated_met;
    struct ulp_found_sample *samples, *validated;
    size_t frontier_count;
    struct ulp_frontier_point *frontier; /* by count */
    struct ulp_mixed mixed;              /* with options.mixed_folder; else zeros */
    /* the worst ratio with the plan and what mixed.onnx has in FLOAT besides; NaN: the plan has no
     * such lane, because it keeps nodes in another type than FLOAT */
    double mixed_ratio;
    size_t runs;                   /* of the mixed arithmetic, each of one sample */
    double work;                   /* what they computed, in whole runs of one sample */
    double seconds, audit_seconds; /* of all, and of the first audit (all samples) */
    struct ulp_arena *memory;      /* private: holds the rest */
};

/* Find a plan. Samples may have any shapes that leave the same nodes to compute (ULP_ERROR_INPUT:
 * others), those held out, too; casts are counted in the first one's. held_out: samples that are
 * judged with the plan found and were not used to find it. Free *out with ulp_found_free. */
ULP_API enum ulp_status ulp_plan_find(const struct ulp_model *model,
                                      const struct ulp_find_options *options,
                                      const struct ulp_sample *samples, size_t sample_count,
                                      const struct ulp_sample *held_out, size_t held_count,
                                      struct ulp_found *out, struct ulp_error *error);
ULP_API void ulp_found_free(struct ulp_found *found);

/* The result as text, the verdict first; free *out with free(). */
ULP_API enum ulp_status ulp_found_text(const struct ulp_found *found, char **out,
                                       struct ulp_error *error);
/* The files that ulp_found_write makes: index 0, 1, ... until NULL. Static storage. */
ULP_API const char *ulp_found_file_name(size_t index);
/* Write plan.json (doc/plan.md), which ulp_precision_plan_read takes; the plan as options and
 * scripts for TensorRT's tools, where these have both formats (trtexec.txt, npps.py, autocast.txt,
 * strongly_typed.txt); and of a frontier frontier.csv and frontier.svg, into the folder, which is
 * made when missing. */
ULP_API enum ulp_status ulp_found_write(const struct ulp_found *found, const char *folder,
                                        struct ulp_error *error);
/* The same as one HTML page (ulpscope/html.h). */
ULP_API enum ulp_status ulp_found_html(const struct ulp_found *found, const char *path,
                                       struct ulp_error *error);

#endif
