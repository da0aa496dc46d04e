/* Which kernel a convolution gets, by the nearest recorded shape, and the order it adds in. */
#include "ops/product/conv_kernel.h"

#include <string.h>

/* What a matrix unit adds at once: of FP16 and BF16, and of TF32. */
enum { BLOCK_HALF = 16, BLOCK_TF32 = 8 };

static bool is_tf32(const struct ulp_arithmetic *arithmetic)
{
    return strcmp(arithmetic->factor.name, "tf32") == 0;
}

/* Of lab/conv_kernel_table.py. */
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
static size_t find_nearest_ratio(const int16_t *axis, size_t count, double value)
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
    const int16_t near = CHANNELS[find_nearest_ratio(CHANNELS, COUNT(CHANNELS), (double)channels)];
    const struct recorded *best = NULL;
    for (size_t i = 0; i < COUNT(recorded); i++)
        if (recorded[i].channels == near &&
            strcmp(recorded[i].type, arithmetic->factor.name) == 0 &&
            (!best || count_apart(&recorded[i], w) < count_apart(best, w)))
            best = &recorded[i];
    return best;
}

/* A side no longer than that is one of int16_t and of no more than a few hundred steps. */
static bool is_recorded_kind(const struct ulp_arithmetic *arithmetic, const struct ulp_windows *w)
{
    const int64_t positions = ulp_product(w->kernel, w->rank);
    if (w->rank != 2 || w->kernel[0] > 16 || w->kernel[1] > 16 || w->strides[0] > 16 ||
        w->dilations[0] > 16)
        return false;
    return is_tf32(arithmetic) || positions > 1 || w->strides[0] > 1 || w->strides[1] > 1;
}

/* A 1x1 kernel of stride 1 is a product of matrices, whose kernels want multiples of 4. */
static bool is_matrices(const struct ulp_windows *w)
{
    return ulp_product(w->kernel, w->rank) == 1 && w->strides[0] == 1 && w->strides[1] == 1;
}

/* Slices of the recorded channels' length. */
static void cut(int slices, int64_t there, int64_t channels, struct ulp_conv_kernel *kernel)
{
    const int64_t length = ((there + slices - 1) / slices + 3) / 4 * 4;
    kernel->slices = (int)((channels + length - 1) / length);
    kernel->slice = (int)length;
}

static void read_letter(char letter, int64_t there, int64_t channels,
                        struct ulp_conv_kernel *kernel)
{
    kernel->ties_away = letter == 'a' || letter == 'b' || letter == 'j';
    switch (letter) {
    case 'b':
    case 'B': kernel->tile = 32; break;
    case 's': kernel->order = ULP_CONV_CHAIN; break;
    case 'd': kernel->order = ULP_CONV_DENSE; break;
    case 'i':
    case 'j': kernel->order = ULP_CONV_INTERLEAVED; break;
    case 'P':
    case 'Q':
        kernel->order = ULP_CONV_REST_FIRST;
        kernel->tile = letter == 'Q' ? 32 : 16;
        break;
    case 'g': cut(16, there, channels, kernel); break;
    default:
        if (letter >= '2' && letter <= '9')
            cut(letter - '0', there, channels, kernel);
    }
}

bool ulp_conv_kernel_find(const struct ulp_arithmetic *arithmetic, int64_t channels, int64_t out,
                          const struct ulp_windows *w, struct ulp_conv_kernel *kernel)
{
    const struct recorded *row =
        is_recorded_kind(arithmetic, w) ? find_row(arithmetic, channels, w) : NULL;
    if (!row)
        return false;
    /* the axis has sides of squares */
    const double pixels = (double)ulp_product(w->out, w->rank);
    size_t side = 0;
    while (side + 1 < COUNT(SIZES) && (double)SIZES[side] * SIZES[side + 1] <= pixels)
        side++;
    const size_t feature = find_nearest_ratio(FEATURES, COUNT(FEATURES), (double)out);
    *kernel = (struct ulp_conv_kernel){.order = ULP_CONV_TILES,
                                       .tile = 64,
                                       .block = is_tf32(arithmetic) ? BLOCK_TF32 : BLOCK_HALF,
                                       .slices = 1};
    if (!is_matrices(w) || ulp_product(w->out, w->rank) % 4 == 0)
        read_letter(row->letters[feature * COUNT(SIZES) + side], row->channels, channels, kernel);
    return true;
}

static size_t put_place(int64_t *places, size_t at, int64_t place)
{
    if (places)
        places[at] = place;
    return at + 1;
}

static size_t fill_block(int64_t *places, size_t at, int block)
{
    while (at % (size_t)block)
        at = put_place(places, at, -1);
    return at;
}

/* rest: what is over whole tiles comes first. */
static size_t order_tiles(const struct ulp_conv_kernel *kernel, bool rest, int64_t channels,
                          int64_t positions, int64_t *places)
{
    const int64_t over = rest ? channels % kernel->tile : 0;
    size_t at = 0;
    for (int64_t first = 0, last; first < channels; first = last) {
        last = first == 0 && over ? over : first + kernel->tile;
        for (int64_t p = 0; p < positions; p++, at = fill_block(places, at, kernel->block))
            for (int64_t c = first; c < channels && c < last; c++)
                at = put_place(places, at, c * positions + p);
    }
    return at;
}

/* k runs over the channels of a position; `half`: of two blocks of neighbours those of which a
 * thread holds the first, or the last, half of what it reads at once (four of eight in FP16, two of
 * four in TF32). */
static size_t order_runs(const struct ulp_conv_kernel *kernel, bool interleaved, int64_t channels,
                         int64_t positions, int64_t *places)
{
    const int64_t count = channels * positions, run = 2 * kernel->block, skew = kernel->block / 4;
    size_t at = 0;
    for (int64_t first = 0; first < count; first += run)
        for (int half = 0; half < (interleaved ? 2 : 1);
             half++, at = fill_block(places, at, kernel->block))
            for (int64_t k = first; k < count && k < first + run; k++)
                if (!interleaved || (k / skew % 2 == half))
                    at = put_place(places, at, k % channels * positions + k / channels);
    return at;
}

size_t ulp_conv_kernel_order(const struct ulp_conv_kernel *kernel, int64_t channels,
                             int64_t positions, int64_t *places)
{
    switch (kernel->order) {
    case ULP_CONV_TILES: return order_tiles(kernel, false, channels, positions, places);
    case ULP_CONV_REST_FIRST: return order_tiles(kernel, true, channels, positions, places);
    case ULP_CONV_DENSE: return order_runs(kernel, false, channels, positions, places);
    case ULP_CONV_INTERLEAVED: return order_runs(kernel, true, channels, positions, places);
    case ULP_CONV_CHAIN: break;
    }
    for (int64_t i = 0; places && i < channels * positions; i++)
        places[i] = i;
    return (size_t)(channels * positions);
}
