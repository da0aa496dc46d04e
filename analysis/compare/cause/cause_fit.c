/* Finding the change that turns the right input into a recorded one: for every layout and place,
 * the best line v = a u + c for each channel, by least squares. */
#include <math.h>

#include "analysis/compare/cause/cause_change.h"
#include "number/function/math.h"

/* Pixels looked at in each trial; enough to tell changes apart. */
#define PIXELS_MAX 65536

/* Sums over pixels, of values less a pivot near their mean. */
struct sums {
    double count, u[ULP_CHANNELS_MAX], v[ULP_CHANNELS_MAX];
    double uu[ULP_CHANNELS_MAX], vv[ULP_CHANNELS_MAX], uv[ULP_CHANNELS_MAX][ULP_CHANNELS_MAX];
};

struct fitting {
    const struct ulp_tensor *given, *recorded;
    const struct ulp_picture *picture;
    double u_pivot, v_pivot;
};

static double find_mean(const struct ulp_tensor *tensor)
{
    double sum = 0;
    size_t finite = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        const double x = ulp_tensor_get(tensor, i);
        if (isfinite(x)) {
            sum += x;
            finite++;
        }
    }
    return finite ? sum / (double)finite : 0;
}

static void add_pixel(const struct fitting *fitting, const struct ulp_input_change *change,
                      size_t image, size_t y, size_t x, struct sums *sums)
{
    const struct ulp_picture *p = fitting->picture;
    const struct ulp_picture_steps from = ulp_picture_steps(p, ULP_LAYOUT_SAME),
                                   to = ulp_picture_steps(p, change->layout);
    const ptrdiff_t row = ulp_change_row(p, change, y), column = ulp_change_column(p, change, x);
    double u[ULP_CHANNELS_MAX], v[ULP_CHANNELS_MAX];
    if (row < 0 || row >= (ptrdiff_t)p->height || column < 0 || column >= (ptrdiff_t)p->width)
        return;
    for (size_t c = 0; c < p->channels; c++) {
        u[c] = ulp_tensor_get(fitting->given, image * from.image + c * from.channel +
                                                  (size_t)row * from.row +
                                                  (size_t)column * from.column) -
               fitting->u_pivot;
        v[c] = ulp_tensor_get(fitting->recorded,
                              image * to.image + c * to.channel + y * to.row + x * to.column) -
               fitting->v_pivot;
        if (!isfinite(u[c]) || !isfinite(v[c]))
            return;
    }
    sums->count++;
    for (size_t c = 0; c < p->channels; c++) {
        sums->u[c] += u[c];
        sums->v[c] += v[c];
        sums->uu[c] += u[c] * u[c];
        sums->vv[c] += v[c] * v[c];
        for (size_t d = 0; d < p->channels; d++)
            sums->uv[c][d] += u[c] * v[d];
    }
}

static void add_pixels(const struct fitting *fitting, const struct ulp_input_change *change,
                       struct sums *sums)
{
    const struct ulp_picture *p = fitting->picture;
    const size_t pixels = p->images * p->height * p->width;
    const size_t step = pixels / PIXELS_MAX + 1;
    for (size_t i = 0; i < pixels; i += step)
        add_pixel(fitting, change, i / (p->height * p->width), i / p->width % p->height,
                  i % p->width, sums);
}

/* Recorded channel d as a line of given channel c. */
struct line {
    double factor, offset, residual, total; /* sums of squares */
};

static struct line fit_line(const struct fitting *fitting, const struct sums *sums, size_t c,
                            size_t d)
{
    const double n = sums->count, uu = sums->uu[c] - sums->u[c] * sums->u[c] / n,
                 vv = sums->vv[d] - sums->v[d] * sums->v[d] / n,
                 uv = sums->uv[c][d] - sums->u[c] * sums->v[d] / n;
    const double factor = uu > 0 ? uv / uu : 0;
    return (struct line){factor,
                         fitting->v_pivot + sums->v[d] / n -
                             factor * (fitting->u_pivot + sums->u[c] / n),
                         ulp_math_max(vv - factor * uv, 0), ulp_math_max(vv, 0)};
}

/* The next order of `count` numbers; false: there is none. */
static bool next_order(int *order, size_t count)
{
    size_t i = count - 1;
    for (; i > 0 && order[i - 1] > order[i]; i--)
        ;
    if (i == 0 || count < 2)
        return false;
    size_t j = count - 1;
    while (order[j] < order[i - 1])
        j--;
    const int kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
    for (j = count - 1; i < j; i++, j--) {
        const int other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    return true;
}

/* A more complicated change must be much better than a simpler one: pictures with equal channels,
 * or flat ones, fit in many ways. */
static bool is_much_better(double residual, double best)
{
    return residual < best / 4 && best > 1e-9;
}

/* The best order of channels for this layout and place. */
static struct ulp_input_fit fit_channels(const struct fitting *fitting,
                                         const struct ulp_input_change *change)
{
    const size_t channels = fitting->picture->channels;
    struct ulp_input_fit best = {.change = *change, .residual = 1};
    struct sums sums = {0};
    int order[ULP_CHANNELS_MAX] = {0, 1, 2, 3};
    add_pixels(fitting, change, &sums);
    if (sums.count < 2)
        return best;
    best.constant = true;
    do {
        struct ulp_input_fit fit = {.change = *change};
        double residual = 0, total = 0;
        for (size_t d = 0; d < channels; d++) {
            const struct line line = fit_line(fitting, &sums, (size_t)order[d], d);
            fit.change.from[d] = order[d];
            fit.change.factor[d] = line.factor;
            fit.change.offset[d] = line.offset;
            residual += line.residual;
            total += line.total;
        }
        fit.constant = !(total > 0);
        fit.residual = total > 0 ? sqrt(residual / total) : 0;
        if (best.constant || is_much_better(fit.residual, best.residual))
            best = fit;
    } while (!best.constant && next_order(order, channels));
    return best;
}

struct ulp_input_fit ulp_input_fit(const struct ulp_tensor *given,
                                   const struct ulp_picture *picture,
                                   const struct ulp_tensor *recorded)
{
    struct ulp_input_change changes[ULP_PLACES_MAX]; /* the simpler ones first */
    const struct fitting fitting = {given, recorded, picture, find_mean(given),
                                    find_mean(recorded)};
    struct ulp_input_fit best = {.change = ulp_change_none(), .residual = 1};
    if (given->count != recorded->count || !given->count || picture->channels > ULP_CHANNELS_MAX)
        return best;
    const size_t simple = ulp_change_places(1, changes);
    for (size_t i = 0; i < simple; i++) {
        const struct ulp_input_fit fit = fit_channels(&fitting, &changes[i]);
        if (i == 0 || is_much_better(fit.residual, best.residual))
            best = fit;
    }
    /* a layout and a place together */
    for (int layout = 1; layout < ULP_LAYOUT_COUNT && best.residual > 0.01; layout++)
        for (size_t i = ULP_LAYOUT_COUNT; i < simple; i++) {
            struct ulp_input_change change = changes[i];
            change.layout = (enum ulp_axis_order)layout;
            const struct ulp_input_fit fit = fit_channels(&fitting, &change);
            if (is_much_better(fit.residual, best.residual))
                best = fit;
        }
    return best;
}
