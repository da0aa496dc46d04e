/* Which kernel a convolution gets, by the nearest recorded shape, and the order it adds in. */
#include "ops/product/conv_kernel.h"

#include <string.h>


enum { BLOCK = 16, RUN = 32, SKEW = 4 };

/* Of scripts/conv_kernel_table.py. */
#define AXIS(name, ...) static const int16_t name[] = {__VA_ARGS__};
#define KERNELS(...)
#include "ops/product/cudnn_conv.def"
#undef AXIS
#undef KERNELS
#define COUNT(axis) (sizeof(axis) / sizeof *(axis))

/* A letter for each number of features and size of the result. */
static const struct recorded {
    char type[8];
    int8_t window[3]; /* kernel, stride, dilation */
    int16_t channels;
    const char *letters;
} recorded[] = {
#define AXIS(...)
#define KERNELS(type, kernel, stride, dilation, channels, letters) \
    {type, {kernel, stride, dilation}, channels, letters},
#include "ops/product/cudnn_conv.def"
#undef AXIS
#undef KERNELS
};

/* The nearest by ratio, the larger of two. */
static size_t find_nearest(const int16_t *axis, size_t count, double value)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        const double now = axis[i] > value ? axis[i] / value : value / axis[i],
                     then = axis[best] > value ? axis[best] / value : value / axis[best];
        if (now <= then)
            best = i;
    }
    return best;
}

/* How far a recorded window is from the asked one: the kernel's size counts most. */
static int count_apart(const struct recorded *row, const struct ulp_windows *w)
{
    const int64_t asked[] = {w->kernel[0], w->strides[0], w->dilations[0]};
    static const int weights[] = {16, 4, 1};
    int apart = 0;
    for (int i = 0; i < 3; i++)
        apart += weights[i] * (int)(asked[i] > row->window[i] ? asked[i] - row->window[i]
                                                              : row->window[i] - asked[i]);
    return apart;
}

static const struct recorded *find_row(const struct ulp_arithmetic *arithmetic, int64_t channels,
                                       const struct ulp_windows *w)
{
    const int16_t near = CHANNELS[find_nearest(CHANNELS, COUNT(CHANNELS), (double)channels)];
    const struct recorded *best = NULL;
    for (size_t i = 0; i < COUNT(recorded); i++)
        if (recorded[i].channels == near &&
            strcmp(recorded[i].type, arithmetic->storage.name) == 0 &&
            (!best || count_apart(&recorded[i], w) < count_apart(best, w)))
            best = &recorded[i];
    return best;
}

/* A side no longer than that is one of int16_t and of no more than a few hundred steps. */
static bool is_recorded_kind(const struct ulp_windows *w)
{
    const int64_t positions = ulp_product(w->kernel, w->rank);
    if (w->rank != 2 || w->kernel[0] > 16 || w->kernel[1] > 16 || w->strides[0] > 16 ||
        w->dilations[0] > 16)
        return false;
    return positions > 1 || w->strides[0] > 1 || w->strides[1] > 1;
}

bool ulp_conv_kernel_find(const struct ulp_arithmetic *arithmetic, int64_t channels, int64_t out,
                          const struct ulp_windows *w, struct ulp_conv_kernel *kernel)
{
    const struct recorded *row = is_recorded_kind(w) ? find_row(arithmetic, channels, w) : NULL;
    if (!row)
        return false;
    /* the axis has sides of squares */
    const double pixels = (double)ulp_product(w->out, w->rank);
    size_t side = 0;
    while (side + 1 < COUNT(SIZES) && (double)SIZES[side] * SIZES[side + 1] <= pixels)
        side++;
    const size_t feature = find_nearest(FEATURES, COUNT(FEATURES), (double)out);
    *kernel = (struct ulp_conv_kernel){ULP_CONV_TILES, 64};
    switch (row->letters[feature * COUNT(SIZES) + side]) {
    case 'B': kernel->tile = 32; break;
    case 's': kernel->order = ULP_CONV_CHAIN; break;
    case 'd': kernel->order = ULP_CONV_DENSE; break;
    case 'i': kernel->order = ULP_CONV_INTERLEAVED; break;
    default: break;
    }
    return true;
}

static size_t put(int64_t *places, size_t at, int64_t place)
{
    if (places)
        places[at] = place;
    return at + 1;
}

static size_t fill_block(int64_t *places, size_t at)
{
    while (at % BLOCK)
        at = put(places, at, -1);
    return at;
}

static size_t order_tiles(int64_t tile, int64_t channels, int64_t positions, int64_t *places)
{
    size_t at = 0;
    for (int64_t first = 0; first < channels; first += tile)
        for (int64_t p = 0; p < positions; p++, at = fill_block(places, at))
            for (int64_t c = first; c < channels && c < first + tile; c++)
                at = put(places, at, c * positions + p);
    return at;
}

/* k runs over the channels of a position; `half`: of 32 neighbours those of which a thread holds
 * the first, or the last, four of eight. */
static size_t order_runs(int64_t channels, int64_t positions, bool interleaved, int64_t *places)
{
    const int64_t count = channels * positions;
    size_t at = 0;
    for (int64_t first = 0; first < count; first += RUN)
        for (int half = 0; half < (interleaved ? 2 : 1); half++, at = fill_block(places, at))
            for (int64_t k = first; k < count && k < first + RUN; k++)
                if (!interleaved || (k / SKEW % 2 == half))
                    at = put(places, at, k % channels * positions + k / channels);
    return at;
}

size_t ulp_conv_kernel_order(const struct ulp_conv_kernel *kernel, int64_t channels,
                             int64_t positions, int64_t *places)
{
    switch (kernel->order) {
    case ULP_CONV_TILES: return order_tiles(kernel->tile, channels, positions, places);
    case ULP_CONV_DENSE: return order_runs(channels, positions, false, places);
    case ULP_CONV_INTERLEAVED: return order_runs(channels, positions, true, places);
    case ULP_CONV_CHAIN: break;
    }
    for (int64_t i = 0; places && i < channels * positions; i++)
        places[i] = i;
    return (size_t)(channels * positions);
}
