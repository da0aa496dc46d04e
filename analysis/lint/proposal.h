/* What the lint proposes to do: edits of a model that need no run. */
#pragma once

#include "analysis/lint/lint.h"
#include "load/mixed/edit_file.h"

struct ulp_lint_edit {
    const char *rule, *node; /* that found it, and where */
    const char *text;
    bool exact;         /* in exact arithmetic the model computes the same */
    const char *reason; /* it is not made, as not every size has it: which size is free */
};
struct ulp_lint_proposal {
    struct ulp_lint_edit said;
    size_t first, edit_count; /* of the edits, which belong together */
};
struct ulp_lint_proposals {
    struct ulp_lint lint; /* its arena holds the rest */
    struct ulp_lint_proposal *items;
    size_t count, capacity;
    struct ulp_edit *edits;
    size_t edit_count, edit_capacity;
    double epsilon; /* in the place of those that vanish */
    bool *covered;  /* by place: an edit replaces it, or it is part of an operator put together */
};

/* Everything that could be done, in graph order by kind; free *out with ulp_lint_proposals_free,
 * also after a failure. The model and the options outlive it. */
enum ulp_status ulp_lint_propose(const struct ulp_model *model,
                                 const struct ulp_lint_options *options, double epsilon,
                                 struct ulp_lint_proposals *out, struct ulp_error *error);
void ulp_lint_proposals_free(struct ulp_lint_proposals *proposals);
/* The rules that edits answer, some more than once: 0, 1, ... until NULL. */
const char *ulp_lint_edit_rule(size_t index);
bool ulp_lint_has_edit(const char *rule);        /* NULL: no rule */
const char *ulp_lint_rewrite_rule(size_t index); /* those of rewrite.def */
/* building.c: one more, of one edit so far. */
void ulp_lint_propose_edit(struct ulp_lint_proposals *proposals, const struct ulp_edit *edit,
                           const char *rule, struct ulp_lint_place place, bool exact,
                           const char *format, ...) ULP_PRINTF(6, 7);
/* One that is not made, as not every size has it, and which size is free (said.reason); it has no
 * edits. */
void ulp_lint_leave(struct ulp_lint_proposals *proposals, const char *rule,
                    struct ulp_lint_place place, const char *why, const char *format, ...)
    ULP_PRINTF(5, 6);
/* A text kept with them; NULL: no memory. */
const char *ulp_lint_say(struct ulp_lint_proposals *proposals, const char *format, ...)
    ULP_PRINTF(2, 3);
/* One more edit of the last one. */
void ulp_lint_propose_more(struct ulp_lint_proposals *proposals, const struct ulp_edit *edit);
/* New nodes, one after another. */
#define ULP_BUILDING_MAX 64
struct ulp_building {
    struct ulp_lint_proposals *p;
    struct ulp_edit_part parts[ULP_BUILDING_MAX];
    size_t count;
    int64_t opset; /* that is needed; 0: the model's */
    bool failed;   /* it cannot be built, or there is no memory */
};
/* A new constant of one dimension, or of none; NULL: no memory. Floats are of FP32's, integers of
 * INT64's elements. */
struct ulp_tensor *ulp_build_tensor(struct ulp_building *b, enum ulp_type type, int rank,
                                    size_t count);
/* One more node, and its result; NULL: it failed. */
struct ulp_edit_part *ulp_build_part(struct ulp_building *b, const char *op,
                                     const struct ulp_edit_input *inputs, size_t count,
                                     struct ulp_edit_input *out);
struct ulp_attribute *ulp_build_attribute(struct ulp_edit_part *part, const char *name,
                                          enum ulp_attribute_kind kind);
/* All of them in the place of that node: the same in exact arithmetic. */
void ulp_build_propose(struct ulp_building *b, struct ulp_lint_place place, const char *rule,
                       const char *text);

/* Of fix, which runs the model: values that leave the format times a power of two. */
#define ULP_POWERS_RULE "out-of-range"
#define ULP_GUARD_RULE "zero-by-zero" /* 0 / 0 is 0 */
/* integers.c: what is computed in floats and is a whole number. */
void ulp_lint_whole_numbers(struct ulp_lint_proposals *proposals);
bool ulp_lint_is_whole(const struct ulp_tensor *constant); /* and INT32 holds it */
bool ulp_lint_is_integer(enum ulp_type type);              /* of those that ONNX computes with */
struct ulp_edit_input ulp_build_whole(struct ulp_building *b, enum ulp_type type,
                                      const struct ulp_tensor *from);
/* lint_bytes.c: weights of INT8 as UINT8. */
void ulp_lint_unsign_weights(struct ulp_lint_proposals *proposals);
/* rewrite.c: those of rewrite.def, of nodes that nothing replaces yet, in the turn's rows; and of
 * one node, by the rows of a rule that is only made where it is asked for. */
enum ulp_rewrite_turn {
    ULP_REWRITE_OPERATORS,
    ULP_REWRITE_ATTENTION,
    ULP_REWRITE_GROUPS,
    ULP_REWRITE_NODES,
    ULP_REWRITE_ASKED
};
void ulp_lint_rewrite(struct ulp_lint_proposals *proposals, enum ulp_rewrite_turn turn);
void ulp_lint_rewrite_by(struct ulp_lint_proposals *proposals, struct ulp_lint_place place,
                         const char *rule);

/* The model with those that are taken, in memory, as ulp_edit_load gives it. */
enum ulp_status ulp_lint_load_edited(const struct ulp_lint_proposals *proposals, const bool *taken,
                                     bool written, struct ulp_model **out, struct ulp_error *error);
