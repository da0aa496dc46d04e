/* A study under way: what its files share. */
#pragma once

#include <math.h>

#include <ulpscope/study.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"

/* study_sweep.c: the sweep with each pair of braces but `keep` replaced by what names[index] has
 * there.
 */
enum ulp_status ulp_sweep_series_name(const char *text, size_t index, size_t keep,
                                      struct ulp_arena *arena, char **out, struct ulp_error *error);

/* The spread of trials of one setting, element by element. */
struct ulp_trial_sums;

struct ulp_studying {
    const struct ulp_model *model;
    const struct ulp_sample *samples;
    size_t sample_count;
    const struct ulp_study_options *options;
    struct ulp_study *out;
    size_t *place_nodes;   /* of places that are nodes, their indexes */
    ptrdiff_t *node_group; /* by node: index of its place; -1: it is in none */
    size_t node_count;
    struct ulp_trial_sums **sums; /* by setting; NULL: not under way */
    char *key;                    /* of the checkpoint, without the setting */
};

/* settings.c: sweeps into settings and series. */
enum ulp_status ulp_study_make_settings(struct ulp_studying *s, struct ulp_error *error);

/* places.c: what is looked at, of a plan of any arithmetics. */
enum ulp_status ulp_study_make_places(struct ulp_studying *s, const struct ulp_program *program,
                                      struct ulp_error *error);
/* The figures of the audit's lane l, which is a run of the setting, into its points. */
void ulp_study_add_lane(const struct ulp_studying *s, const struct ulp_audit *audit, size_t l,
                        size_t setting, size_t trial);
/* Its runs begin anew. */
void ulp_study_forget_points(const struct ulp_studying *s, size_t setting);
/* All runs of the setting are added. */
void ulp_study_finish_points(const struct ulp_studying *s, size_t setting);

/* Of an output that no node computes: a constant, or an input. */
static inline bool ulp_study_is_missing(const struct ulp_study_point *point)
{
    return isnan(point->ref_rms) && !point->nonfinite && !point->diverged;
}

/* study_trials.c. */
void ulp_trial_sums_free(struct ulp_trial_sums *sums);
/* One trial's outputs on one sample; *sums is made by the first. */
enum ulp_status ulp_trial_sums_add(const struct ulp_studying *s, struct ulp_trial_sums **sums,
                                   size_t sample, size_t trial, const struct ulp_tensor_set *values,
                                   const struct ulp_tensor_set *reference, struct ulp_error *error);
enum ulp_status ulp_trial_sums_conclude(const struct ulp_studying *s,
                                        const struct ulp_trial_sums *sums, size_t setting,
                                        struct ulp_error *error);

/* study_kept.c: the checkpoint folder. */
enum ulp_status ulp_study_open_folder(struct ulp_studying *s, struct ulp_error *error);
/* Figures of the setting that the folder has: `kept` is set then. */
enum ulp_status ulp_study_read_kept(struct ulp_studying *s, size_t setting,
                                    struct ulp_error *error);
enum ulp_status ulp_study_keep(const struct ulp_studying *s, size_t setting,
                               struct ulp_error *error);

/* The figures of a setting as bytes, and back from anyone's bytes: its points are there. */
enum ulp_status ulp_study_encode(const struct ulp_study *study, size_t setting,
                                 struct ulp_text *bytes, struct ulp_error *error);
enum ulp_status ulp_study_decode(struct ulp_study *study, size_t setting, const void *bytes,
                                 size_t count, struct ulp_error *error);

/* study_walk.c: all settings that are not kept. */
enum ulp_status ulp_study_walk(struct ulp_studying *s, struct ulp_error *error);

/* conclude.c: the sentence of a series. */
void ulp_study_conclude(const struct ulp_study *study, const struct ulp_study_series *series,
                        struct ulp_text *out);

static inline size_t ulp_study_run_count(const struct ulp_study_setting *setting)
{
    return setting->trials ? setting->trials : 1;
}
