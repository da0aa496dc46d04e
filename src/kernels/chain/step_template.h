/* The steps that are one operation of a C type. Parameters, undefined again at the end:
 *   SUFFIX         of the functions' names
 *   TYPE           of the elements
 *   FUSE(a, b, c)  a * b + c, rounded once
 * Instantiated by step.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

static void JOIN(multiply, SUFFIX)(const struct ulp_step_rule *rule, void *out, const void *a,
                                   const void *b, size_t n, struct ulp_draw draw)
{
    (void)rule, (void)draw;
    const TYPE *factor = a, *strip = b;
    TYPE *result = out;
    for (size_t i = 0; i < n; i++)
        result[i] = *factor * strip[i];
}

static void JOIN(add, SUFFIX)(const struct ulp_step_rule *rule, void *out, const void *x,
                              const void *y, size_t n, struct ulp_draw draw)
{
    (void)rule, (void)draw;
    const TYPE *left = x, *right = y;
    TYPE *result = out;
    for (size_t i = 0; i < n; i++)
        result[i] = left[i] + right[i];
}

static void JOIN(multiply_add, SUFFIX)(const struct ulp_step_rule *rule, void *sum, const void *a,
                                       const void *b, size_t n, struct ulp_draw draw)
{
    (void)rule, (void)draw;
    const TYPE *factor = a, *strip = b;
    TYPE *result = sum;
    for (size_t i = 0; i < n; i++)
        result[i] = FUSE(*factor, strip[i], result[i]);
}

#undef JOIN
#undef JOIN_
#undef SUFFIX
#undef TYPE
#undef FUSE
