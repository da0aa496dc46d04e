/* From a model that comes out wrong in an arithmetic to one that comes out right, as one file: what
 * the lint can mend of its graph, each edit tried by a run; then, where that is not enough, the
 * nodes that a plan keeps in FP32, as a graph with types. Nothing is done that does not help. */
#ifndef ULPSCOPE_FIX_H
#define ULPSCOPE_FIX_H

#include <ulpscope/lint.h>
#include <ulpscope/search.h>

/* What an edit may change in exact arithmetic, as a share of an output's rms, unless more is
 * allowed. */
#define ULP_FIX_CHANGE 1e-6

enum ulp_fix_done {
    ULP_FIX_MADE,
    ULP_FIX_NO_GAIN,  /* less than 0.1 dB */
    ULP_FIX_CHANGES,  /* it changes more than is allowed */
    ULP_FIX_LEFT_OUT, /* as asked: its rule is left out */
    ULP_FIX_DEARER,   /* a plan keeps less of the model without it */
    ULP_FIX_REFUSED,  /* with it the model is not computed at sizes that it takes as it is */
    ULP_FIX_UNPROVEN, /* it is right at the samples' sizes, but not at every size */
    ULP_FIX_DONE_COUNT
};
/* "made", "no gain", "changes", "left out", "dearer", "refused", "unproven". */
ULP_API const char *ulp_fix_done_name(enum ulp_fix_done done);

struct ulp_fix_edit {
    char *rule, *node; /* of the lint, that found it, and where */
    char *text;        /* what it does */
    enum ulp_fix_done done;
    /* dB of the worst output that are lost when the edits are made without it (of one that is not
     * made: that are won by it); infinity: an output is not finite, or decides otherwise. NaN: not
     * tried */
    double gain;
    /* in exact arithmetic: the rms of what it changes over the output's, of the worst output; NaN:
     * not tried */
    double change;
    /* where it changes most, or is refused, at which sizes; which size is free of one that is not
     * proven; NULL: not tried alone */
    char *reason;
};

/* How a model comes out: the output and tolerance that are worst, of all samples. */
struct ulp_fix_state {
    char *output, *metric; /* as in struct ulp_search_sample */
    double value;
    double ratio; /* how many times too large the error is */
    enum ulp_grade grade;
    char *text; /* the verdict's sentence about it */
};

/* Initialise with zeros. */
struct ulp_fix_options {
    size_t size;                     /* ULP_OPTIONS */
    const char *path;                /* of the new model; external data goes to PATH.data */
    const char *target;              /* as --for names it, "@GPU" may follow; NULL: none */
    const char *arithmetic;          /* NULL: the target's, as ulp_doctor_options have it */
    struct ulp_arithmetic reference; /* pair */
    /* what it must meet, as in struct ulp_search_options; none: the verdict is fine, and a plan is
     * searched for ULP_SEARCH_FINE */
    const char *const *tolerances;
    size_t tolerance_count;
    /* ids of rules: only their edits, or all but theirs */
    const char *const *only, *const *without;
    size_t only_count, without_count;
    bool allow_value_change;
    bool best;         /* write the best that was found where nothing meets the goal */
    double confidence; /* of the plan, as in struct ulp_search_options */
    const struct ulp_dim_value *dims;
    size_t dim_count;
    bool allow_nonfinite_inputs;
    int thread_count;
    const struct ulp_observer *progress;
    /* of the plan: after so many seconds nothing more is tried, as in struct ulp_search_options */
    double seconds;
    /* a plan is searched now, which takes at least about so many seconds; may be NULL */
    void (*plans)(void *plans_context, double seconds);
    void *plans_context;
    enum ulp_task task; /* of the outputs; UNKNOWN: each is recognised */
    /* what the model was made of: where a constant is not its, nothing is tried; NULL: they are not
     * compared */
    const struct ulp_model *original;
};

/* Strings and arrays belong to the result. */
struct ulp_fix {
    char *model_path, *path; /* NULL: no file was written */
    char *target;            /* NULL: none */
    char *arithmetic;        /* that it is judged in */
    char *rests_on;          /* as ulp_judged_rests says; NULL: all is recorded or documented */
    char *reference;
    bool met;   /* the goal, with what was done */
    bool types; /* the file has types and Casts of its own, not the model\'s */
    /* an error that the lint finds of what comes of it at the target, or beside the original, which
     * no figure shows, and what to do; NULL */
    char *refused, *refused_fix;
    bool lowered; /* the target lowers every model itself, whatever its types */
    size_t tolerance_count;
    char **tolerances;
    struct ulp_fix_state before, edited, after; /* edited: with the edits alone */
    size_t edit_count;
    struct ulp_fix_edit *edits;
    size_t made_count; /* of these, those that were made */
    double change;     /* of all edits that were made, together */
    char *checked; /* at which sizes they were held against the model as it is; NULL: none made */
    size_t node_count, kept_count; /* nodes of the edited model, and those kept in FP32 */
    char **kept;
    double kept_macs, macs; /* multiply-adds and element operations of these, and of all */
    /* draws of what was found, as those of a plan, and those within the tolerance */
    size_t draw_count, held_count;
    /* nodes that plans keep which meet the goal, with the edits and of the model as it is; the
     * cheaper one is taken. 0: there is none, or it was not searched */
    size_t with_edits_count, without_edits_count;
    /* why there is no file, or the file has no types; where nothing need be fixed, what the lint
     * calls an error; NULL: it is as meant */
    char *reason;
    size_t sample_count, runs; /* of one sample: of edits */
    bool drawn; /* inputs of a sample are random (ulp_model_random_inputs), not given */
    double seconds, plan_seconds;
    struct ulp_search *plan; /* NULL: none was needed [apart] */
    struct ulp_mixed mixed;  /* the graph with types; zeros: the file has the model's own [apart] */
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Fix the model. Samples as of ulp_search_run. A goal that is not met is no error. Free *out with
 * ulp_fix_free. */
ULP_API enum ulp_status ulp_fix_run(const struct ulp_model *model,
                                    const struct ulp_fix_options *options,
                                    const struct ulp_sample *samples, size_t sample_count,
                                    struct ulp_fix *out, struct ulp_error *error);
ULP_API void ulp_fix_free(struct ulp_fix *fix);

/* The result as text: how it was, how it is, what was done; free *out with free(). width and colour
 * as in ulp_report_text. */
ULP_API enum ulp_status ulp_fix_text(const struct ulp_fix *fix, int width, bool colour, char **out,
                                     struct ulp_error *error);
/* Write fix.json (doc/fields.md). */
ULP_API enum ulp_status ulp_fix_write(const struct ulp_fix *fix, enum ulp_output_kind as,
                                      const char *path, struct ulp_error *error);

#endif
