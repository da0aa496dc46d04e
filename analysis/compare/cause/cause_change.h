/* The ways in which an input may have been prepared wrongly: a picture's channels, layout, place
 * and scale. Any tensor can be seen as a picture; one without channels has rows and columns only.
 */
#pragma once

#include <ulpscope/tensor.h>

#include "base/text/text.h"

#define ULP_CHANNELS_MAX 4

struct ulp_picture {
    size_t images, channels, height, width;
    bool channels_last;
    bool image; /* its shape is that of pictures: guesses about cameras and colours make sense */
};
/* Always succeeds: what is no image is rows of its last dimension. */
struct ulp_picture ulp_picture_of(const struct ulp_tensor *tensor);

enum ulp_axis_order {
    ULP_LAYOUT_SAME,
    ULP_LAYOUT_OTHER,      /* NHWC for NCHW, or the reverse */
    ULP_LAYOUT_TRANSPOSED, /* rows and columns exchanged */
    ULP_LAYOUT_OTHER_TRANSPOSED,
    ULP_LAYOUT_COUNT
};
enum ulp_edge { ULP_EDGE_REPEATED, ULP_EDGE_ZERO };

/* v's element at channel c, row y, column x of its layout is factor[c] * u + offset[c], u being the
 * given picture's at channel from[c], row y' + down, column x' + right, with y' and x' counted from
 * the other end when mirrored. */
struct ulp_input_change {
    enum ulp_axis_order layout;
    bool mirrored_rows, mirrored_columns;
    int down, right; /* -1, 0, 1 */
    enum ulp_edge border;
    int from[ULP_CHANNELS_MAX];
    double factor[ULP_CHANNELS_MAX], offset[ULP_CHANNELS_MAX];
};
struct ulp_input_change ulp_change_none(void);
struct ulp_input_change ulp_change_scaled(double factor);
/* None, the other layouts, then mirrored ones and those moved by a place, these with as many of the
 * borders (1, 2); how many that is. */
enum { ULP_PLACES_MAX = ULP_LAYOUT_COUNT + 3 + 16 };
size_t ulp_change_places(int borders, struct ulp_input_change out[ULP_PLACES_MAX]);
/* RGB and BGR swapped, with the mean and the deviation that belong to the colour. */
void ulp_change_reverse(struct ulp_input_change *change);

/* Distances in memory between neighbours. */
struct ulp_picture_steps {
    size_t image, channel, row, column;
};
struct ulp_picture_steps ulp_picture_steps(const struct ulp_picture *picture,
                                           enum ulp_axis_order layout);
/* The given picture's row for row y of the changed one; negative or beyond: outside of it. */
ptrdiff_t ulp_change_row(const struct ulp_picture *picture, const struct ulp_input_change *change,
                         size_t y);
ptrdiff_t ulp_change_column(const struct ulp_picture *picture,
                            const struct ulp_input_change *change, size_t x);

/* The tensor, which is no wide one, as the change would have prepared it, of the same type and
 * shape. */
enum ulp_status ulp_change_apply(const struct ulp_tensor *given, const struct ulp_picture *picture,
                                 const struct ulp_input_change *change, struct ulp_tensor *out,
                                 struct ulp_error *error);
/* The inputs with that part (1: all) of the change to one of them; the others are views. */
enum ulp_status ulp_change_inputs(const struct ulp_tensor_set *inputs, const char *name,
                                  const struct ulp_picture *picture,
                                  const struct ulp_input_change *change, double part,
                                  struct ulp_tensor_set *out, struct ulp_error *error);
/* "channels in reverse order (RGB and BGR swapped), 255 times as large": what was done. */
void ulp_change_describe(const struct ulp_picture *picture, const struct ulp_input_change *change,
                         struct ulp_text *out);

/* Means and standard deviations of values from 0 to 1 that networks are trained with. */
struct ulp_normalisation {
    const char *name;
    double mean[3], deviation[3];
};
extern const struct ulp_normalisation ulp_normalisations[];
extern const size_t ulp_normalisation_count;
/* Is it a mean of values from 0 to 255, without a deviation? */
bool ulp_normalises_bytes(const struct ulp_normalisation *normalisation);
/* RGB and BGR swapped before it was applied. */
struct ulp_input_change ulp_change_swapped(const struct ulp_normalisation *normalisation);

/* cause_fit.c: the change that takes the given input to the recorded one, of as many elements. */
struct ulp_input_fit {
    struct ulp_input_change change;
    /* root mean square of what it leaves over that of the recorded values about their mean; 0: all
     * is explained, 1: nothing is */
    double residual;
    bool constant; /* recorded values are all equal */
};
struct ulp_input_fit ulp_input_fit(const struct ulp_tensor *given,
                                   const struct ulp_picture *picture,
                                   const struct ulp_tensor *recorded);
