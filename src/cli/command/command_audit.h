/* What the files of `ulpscope audit` share. */
#pragma once

#include "cli/command.h"

#include <ulpscope/lint.h>

struct audit_options {
    struct common_options common;
    struct keep_options keep;
    struct score_options score;
    char *arithmetics;
    struct ulp_arithmetic reference;
    struct ulp_audit_options audit;
    const char *out, *reference_model, *junit, *html;
    char **pairs; /* "NAME=ORIGINAL" */
    size_t pair_count;
    /* by default within memory, if the reference is the model's own; asked for: also by a file */
    enum { ATTRIBUTE_DEFAULT, ATTRIBUTE_YES, ATTRIBUTE_NO } attribute;
    const char **limits;
    size_t limit_count;
    const char *engine; /* description of an engine, which is computed, too; NULL: none */
    struct ulp_engine_map_options built;
    const char *target;   /* --for; NULL: not given */
    char *between;        /* "A,B", whose given tokens are compared instead; NULL: not given */
    const char *kv_cache; /* a format of caches beside one arithmetic; NULL: not given */
    const char *tokens;   /* these, in a file; NULL: the inputs' next ones */
    bool all;
    /* many samples: folders of finished ones, the first of which takes new ones */
    char **checkpoints;
    size_t checkpoint_count;
    size_t shard, shard_count; /* from 1; 0: all samples */
    bool merge;                /* every sample is finished: --merge */
};

/* audit_choices.c: what --for asks of an audit. */
enum { AUDIT_CHOICES_MAX = 8 };
struct audit_choices {
    char *list; /* of arithmetics, freed by the caller; NULL: the default's */
    size_t count, lane_count;
    struct audit_choice {
        const char *question, *words[3];
        size_t lanes[3], count; /* indexes of the audit's */
    } items[AUDIT_CHOICES_MAX];
    char lanes[2 * AUDIT_CHOICES_MAX + 2][320];
    /* Of a target that leaves FP32 as it is, and a graph that declares nothing else: the lane of
     * what it makes of that; else 0, the converted one */
    size_t as_is;
    char rests_on[320];         /* ulp_judged_rests of the first lane; "": nothing weak */
    struct ulp_refusal refusal; /* of the target; freed by the caller */
};
enum ulp_status choose_arithmetics(const struct audit_options *options,
                                   const struct ulp_model *model, struct audit_choices *out,
                                   struct ulp_error *error);
enum ulp_status print_choices(const struct audit_choices *choices, const struct ulp_audit *audit,
                              struct ulp_error *error);

/* The verdict over the arithmetics of --for; *worst: the one whose outputs are worst. */
enum ulp_status print_target(const struct audit_options *options,
                             const struct audit_choices *choices, const struct ulp_audit *audit,
                             size_t *worst, struct ulp_error *error);

/* command_audit.c: audits and reports; returns an exit code. */
int run_audit(const struct audit_options *options);
/* audit_between.c: with --between instead of an audit. */
enum ulp_status audit_between(const struct audit_options *options, struct ulp_error *error);
/* The whole command. */
enum ulp_status audit_model(void *parsed, struct ulp_error *error);

/* audit_samples.c: what the options ask of the library. The audit is freed also after a failure.
 * *whole: it is of all samples; else others have the rest (a
 * shard, a rank that is not the first). */
enum ulp_status audit_samples(const struct audit_options *options, struct work *work,
                              const struct lane_list *lanes, struct ulp_audit *audit, bool *whole,
                              struct ulp_error *error);

/* audit_engine.c: the lane of --engine, behind the others, which point to it until it is closed;
 * also after a failure. */
struct engine_lane {
    struct ulp_engine engine;
    struct ulp_program *program;
    struct ulp_engine_map built;
    struct ulp_engine_map_lane lane;
};
/* What was built, for a plan of these inputs, without other lanes. */
enum ulp_status open_engine(const char *path, const struct ulp_model *model,
                            const struct sample_list *samples,
                            const struct ulp_engine_map_options *options, struct engine_lane *out,
                            struct ulp_error *error);
enum ulp_status add_engine_lane(const struct audit_options *options, const struct work *work,
                                struct lane_list *lanes, struct engine_lane *out,
                                struct ulp_error *error);
void close_engine_lane(struct engine_lane *lane);
/* What was built, in a sentence. */
enum ulp_status print_engine_verdict(const struct engine_lane *lane, struct ulp_error *error);
