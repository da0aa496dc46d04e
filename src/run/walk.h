/* The walk's inside: all lanes step through a block side by side, and so through the bodies of its
 * If, Loop and Scan. */
#pragma once

#include <string.h>

#include "run/lane.h"
#include "run/pace.h"

struct ulp_walk {
    const struct ulp_program *program;
    const struct ulp_run_options *options;
    const struct ulp_observer *observers;
    size_t observer_count;
    /* what each lane computes the node in that observers are told of */
    struct ulp_arithmetic *arithmetics;
    const struct ulp_arithmetic **shown; /* what those are copies of; NULL: of none yet */
    struct ulp_lane_seconds *seconds;    /* by lane, of the node that they are told of */
    struct ulp_arena *memory;            /* of these */
    struct ulp_budget root;              /* when the model has no budget */
    struct ulp_budget budget;
    struct ulp_pool *pool;
    size_t reserve_draws; /* before the walk */
    bool listened;        /* an observer is told of nodes */
    bool unseen;          /* no observer looks at values */
    size_t *executions;   /* how often each node has been shown, by number */
    bool streams;         /* weights go through memory (stream.c): */
    size_t fetched_steps; /* of the main graph, weights of the steps before this one are */
    size_t fetched_bytes; /* asked for: so many since the walk was there last */
    double clock;         /* as it was read last: reading it for each part of a node takes long */
    struct ulp_pace pace;
    double cost_done, cost_limit; /* the limit: where the innermost control flow's estimate ends */
};

/* A block in the course of a walk. */
struct ulp_frame {
    const struct ulp_block *block;
    const struct ulp_frame *outer; /* of the node whose body this is; NULL: the main graph */
    struct ulp_arena *arena;       /* of what follows */
    struct ulp_lane *lanes;
    /* lanes that do not go through this body: nothing of them is here */
    bool *absent;
    /* by slot: what observers know the value by; NULL: they do not */
    const char **names;
};
/* Lanes that `absent` (may be NULL) marks get no values. */
enum ulp_status ulp_frame_create(struct ulp_frame *out, struct ulp_walk *walk,
                                 const struct ulp_block *block, const struct ulp_frame *outer,
                                 const bool *absent, struct ulp_error *error);
void ulp_frame_free(struct ulp_frame *frame, const struct ulp_walk *walk);

/* Evaluations of one step by one lane; tensors are owned here until they move to the lane or are
 * freed. */
struct ulp_evaluation {
    /* output_count each; NULL: the lane is absent, or the step is folded */
    struct ulp_tensor *entire, *single, *here;
    /* entire and single rounded as the graph hands them out (notify.c); NULL: they are that */
    struct ulp_tensor *entire_left, *single_left;
    bool single_is_entire, here_is_reference; /* views of others: inputs were equal */
    bool here_is_entire;                      /* the node rounds nothing */
    bool skipped;                             /* nothing was computed */
    struct ulp_lane_seconds seconds;
};
enum ulp_status ulp_evaluation_create(struct ulp_evaluation *out, const struct ulp_step *step,
                                      struct ulp_arena *arena, struct ulp_error *error);

/* Do lanes compute a step on the reference's inputs, too? */
static inline bool ulp_walk_compares(const struct ulp_walk *walk)
{
    return walk->options->audit || walk->options->isolated;
}

/* run_evaluate.c. Entire, single and here of one lane, in which the step is one node. The
 * reference's inputs are known where lanes are compared, and its results (of the reference itself
 * these are not used). */
enum ulp_status ulp_evaluate(struct ulp_walk *walk, const struct ulp_frame *frame,
                             const struct ulp_step *step, size_t lane,
                             const struct ulp_tensor *const *reference_inputs,
                             const struct ulp_tensor *results, struct ulp_evaluation *out,
                             struct ulp_arena *arena, struct ulp_error *error);
/* It may decide inside, and gives floats. */
static inline bool ulp_decides_inside(const struct ulp_step *step)
{
    return strcmp(step->bound.node->op_type, "QMoE") == 0;
}
/* follow.c. Integers that the step made of floats (it reads some) become the reference's, and what
 * TopK picks is picked by them. */
enum ulp_status ulp_follow(const struct ulp_step *step, const struct ulp_lane *lane,
                           const struct ulp_tensor *const *inputs,
                           const struct ulp_tensor *reference, struct ulp_tensor *outputs,
                           struct ulp_error *error);
/* What a TopK takes of `input` in the order in which the reference takes it. */
enum ulp_status ulp_follow_order(const struct ulp_step *step, const struct ulp_lane *lane,
                                 const struct ulp_tensor *input, const struct ulp_tensor *reference,
                                 struct ulp_tensor *outputs, struct ulp_error *error);
/* The same of the reference itself, in a run whose decisions are given. */
enum ulp_status ulp_follow_decided(const struct ulp_walk *walk, const struct ulp_step *step,
                                   const struct ulp_lane *lane,
                                   const struct ulp_tensor *const *inputs,
                                   struct ulp_tensor *outputs, struct ulp_arena *arena,
                                   struct ulp_error *error);

/* stream.c: before a walk; before the step of that number in the block; and after a step, when the
 * lanes have dropped what is dead. */
void ulp_stream_begin(struct ulp_walk *walk);
void ulp_stream_ahead(struct ulp_walk *walk, const struct ulp_frame *frame, size_t step);
void ulp_stream_behind(const struct ulp_walk *walk, const struct ulp_frame *frame,
                       const struct ulp_step *step);

/* What observers are told of a node's inputs: values[lane * count + input]. */
struct ulp_event_inputs {
    const bool *apart; /* as in the event */
    size_t count;
    const char **names;
    struct ulp_lane_value *values;
};
/* notify.c: the step's own and captured inputs that are no constants. */
enum ulp_status ulp_list_inputs(const struct ulp_walk *walk, const struct ulp_frame *frame,
                                const struct ulp_step *step, struct ulp_event_inputs *out,
                                struct ulp_arena *arena, struct ulp_error *error);
enum ulp_status ulp_notify(struct ulp_walk *walk, const struct ulp_frame *frame,
                           const struct ulp_step *step, struct ulp_evaluation *evaluations,
                           const struct ulp_event_inputs *inputs, struct ulp_arena *arena,
                           struct ulp_error *error);

/* bodies.c: an If, Loop or Scan. Lanes that take the reference's branches and iterations go through
 * the bodies with it, and the node only hands the results on; for another lane it is one node. */
enum ulp_status ulp_walk_bodies(struct ulp_walk *walk, const struct ulp_frame *frame,
                                const struct ulp_step *step,
                                const struct ulp_tensor *const *reference_inputs,
                                struct ulp_evaluation *evaluations, struct ulp_event_inputs *told,
                                struct ulp_arena *arena, struct ulp_error *error);
/* walk.c: every step of the block, in order. */
enum ulp_status ulp_walk_block(struct ulp_walk *walk, struct ulp_frame *frame,
                               struct ulp_error *error);
