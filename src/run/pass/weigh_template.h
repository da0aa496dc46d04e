/* The sums of weigh.c (base/machine/each_cpu_template.h): eight side by side in vectors of any
 * width, so that they are the same bits. */

static inline ATTRIBUTES double NAMED(square_finite)(double product)
{
    return fabs(product) <= DBL_MAX ? product * product : 0;
}

#define WHOLE(f, i) (double)(f)->b[i]
#define MIDDLE(f, i) ((double)(f)->b[i] - (double)(f)->less[i] / 2)

#define ADDS(name, term, factor)                                                         \
    static ATTRIBUTES double NAMED(name)(const void *context, size_t first, size_t last) \
    {                                                                                    \
        const struct factors *f = context;                                               \
        double sums[8] = {0};                                                            \
        size_t i = first;                                                                \
        for (; i + 8 <= last; i += 8)                                                    \
            for (size_t j = 0; j < 8; j++)                                               \
                sums[j] += term(f->a[i + j] * factor(f, i + j));                         \
        for (size_t j = 0; i < last; i++, j++)                                           \
            sums[j] += term(f->a[i] * factor(f, i));                                     \
        return ulp_weigh_eight(sums);                                                    \
    }
ADDS(add_products, , WHOLE)
ADDS(add_magnitudes, fabs, WHOLE)
ADDS(add_squares, NAMED(square_finite), MIDDLE)

static const struct weights NAMED(weights) = {NAMED(add_products), NAMED(add_magnitudes),
                                              NAMED(add_squares)};
#undef WHOLE
#undef MIDDLE
#undef ADDS
