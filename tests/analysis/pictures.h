/* A small network over pictures, recordings of it, and mistakes in preparing its input. */
#pragma once

#include <ulpscope.h>

#define CHANNELS 3
#define HEIGHT 12
#define WIDTH 10

/* What another framework may have taken otherwise. */
struct definition {
    float epsilon;
    const char *gelu, *resize;
};
extern const struct definition as_meant;

/* x -> conv a -> norm b -> gelu c -> resize d -> pool e, flatten f, classes y; and map z. */
struct ulp_model *picture_model(const struct definition *definition, struct ulp_budget *budget);
/* A picture with colours that differ, in 0 to 1 less ImageNet's mean over its deviation. */
struct ulp_tensor picture_make(void);
struct ulp_tensor_set picture_inputs(void);
/* Adds a copy. */
void picture_add(struct ulp_tensor_set *set, const char *name, const struct ulp_tensor *from);

#define MISTAKES 8
extern const char *const mistake_words[MISTAKES];
struct ulp_tensor_set picture_mistaken(int mistake);

/* Every value that the model computes, or its outputs only. */
struct ulp_recording picture_record(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, const char *arithmetic,
                                    bool all);
enum ulp_status picture_compare(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                const struct ulp_recording *recordings, size_t count,
                                const char *arithmetic, struct ulp_comparison *out,
                                struct ulp_error *error);
/* ulp_compare_options.seconds of the next comparisons. */
extern double picture_seconds;
/* The model as it is meant, on the right inputs, beside one recording. */
struct ulp_comparison picture_compare_one(const struct ulp_recording *recording,
                                          const char *arithmetic);
