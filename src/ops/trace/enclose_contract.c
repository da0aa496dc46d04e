/* A contraction of intervals: three contractions of numbers. With centres c, radii r and
 * magnitudes m = |c| + r, a sum of products lies within sum m m' - sum |c||c'| of sum c c'. */
#include "base/error.h"
#include "ops/trace/affine.h"
#include "number/function/math.h"
#include "number/round/round.h"

enum { CENTRE, CENTRE_SIZE, MAGNITUDE, SUMS };

struct factor {
    const struct ulp_factor *from;
    struct ulp_tensor tensors[SUMS];
    struct ulp_norms *norms;   /* [batch][line] */
    struct ulp_affine *affine; /* of each element; NULL: not wanted */
    bool known;                /* every element is one number */
    bool unbounded;            /* there are elements that may be anything */
};

/* most: the largest number that a factor can be. */
static enum ulp_status split_tensor(struct ulp_trace *trace, struct factor *out,
                                    const struct ulp_factor *from, double most,
                                    struct ulp_error *error)
{
    const struct ulp_enclosing *e = trace->enclosing;
    const struct ulp_tensor *in = from->tensor;
    *out = (struct factor){.from = from, .known = true};
    for (int t = 0; t < SUMS; t++) {
        out->tensors[t] = ulp_tensor_view(in);
        out->tensors[t].element = ULP_ELEMENT_F64;
        out->tensors[t].element_bytes = sizeof(double);
        ULP_TRY(ulp_trace_take(trace, in->count, sizeof(double), &out->tensors[t].data, error));
    }
    if (e->symbols_max)
        ULP_TRY(ulp_trace_take(trace, in->count, sizeof *out->affine, &out->affine, error));
    for (size_t i = 0; i < in->count; i++) {
        const double element = ulp_tensor_read(in, i);
        const size_t number =
            in->element == ULP_ELEMENT_F64 ? ulp_enclosing_number(e, element) : ULP_NO_NUMBER;
        double centre = element, radius = 0, magnitude = fabs(element);
        if (number != ULP_NO_NUMBER) {
            const double lo = e->at.lo[number], hi = e->at.hi[number];
            magnitude = ulp_math_max(fabs(lo), fabs(hi));
            centre = lo / 2 + hi / 2;
            radius = ulp_math_max(hi - centre, centre - lo) * (1 + 0x1p-51);
            if (e->at.may[number] || !(lo <= hi))
                radius = INFINITY, centre = 0;
        }
        if (!(magnitude <= most) || isinf(element))
            radius = INFINITY, centre = 0;
        if (out->affine)
            out->affine[i] =
                number != ULP_NO_NUMBER && isfinite(radius) && ulp_affine_is(&e->affine[number])
                    ? e->affine[number]
                    : (struct ulp_affine){.centre = centre, .rest = radius};
        out->known = out->known && radius == 0;
        out->unbounded = out->unbounded || !isfinite(radius);
        ((double *)out->tensors[CENTRE].data)[i] = centre;
        ((double *)out->tensors[CENTRE_SIZE].data)[i] = fabs(centre);
        ((double *)out->tensors[MAGNITUDE].data)[i] = (fabs(centre) + radius) * (1 + 0x1p-51);
    }
    return ULP_OK;
}

/* Is one of these elements anything? */
static bool reaches_unbounded(const struct factor *factor, const int64_t *places, size_t k)
{
    const double *magnitudes = factor->tensors[MAGNITUDE].data;
    for (size_t n = 0; n < k; n++)
        if (!ulp_factor_is_padding(factor->from, places[n]) && isinf(magnitudes[places[n]]))
            return true;
    return false;
}

static enum ulp_status find_norms(struct ulp_trace *trace, struct factor *factor, size_t batches,
                                  size_t lines, size_t k, struct ulp_error *error)
{
    const struct ulp_factor *from = factor->from;
    int64_t *places;
    ULP_TRY(ulp_trace_take(trace, batches * lines, sizeof *factor->norms, &factor->norms, error));
    ULP_TRY(ulp_trace_take(trace, k, sizeof *places, &places, error));
    const bool named = from->tensor->element == ULP_ELEMENT_F64;
    for (size_t g = 0; g < batches; g++)
        for (size_t i = 0; i < lines; i++) {
            const int64_t start =
                (from->batch_offset ? from->batch_offset[g] : 0) + from->line_offset[i];
            for (size_t n = 0; n < k; n++)
                places[n] = start + from->k_offset[n];
            factor->norms[g * lines + i] =
                ulp_enclosing_norms(trace->enclosing,
                                    named ? from->tensor->data : factor->tensors[CENTRE_SIZE].data,
                                    places, k, from);
            if (factor->unbounded && reaches_unbounded(factor, places, k))
                factor->norms[g * lines + i] = (struct ulp_norms){INFINITY, INFINITY, INFINITY};
        }
    return ULP_OK;
}

static enum ulp_status run_sums(struct ulp_trace *trace, const struct ulp_contraction *problem,
                                const struct factor *a, const struct factor *b, double *sums[SUMS],
                                struct ulp_pool *pool, struct ulp_error *error)
{
    const size_t count = problem->batch_count * problem->m * problem->n;
    int64_t *batches, *rows, *columns;
    ULP_TRY(ulp_trace_take(trace, problem->batch_count, sizeof *batches, &batches, error));
    ULP_TRY(ulp_trace_take(trace, problem->m, sizeof *rows, &rows, error));
    ULP_TRY(ulp_trace_take(trace, problem->n, sizeof *columns, &columns, error));
    for (size_t g = 0; g < problem->batch_count; g++)
        batches[g] = (int64_t)(g * problem->m * problem->n);
    for (size_t i = 0; i < problem->m; i++)
        rows[i] = (int64_t)(i * problem->n);
    for (size_t j = 0; j < problem->n; j++)
        columns[j] = (int64_t)j;
    for (int t = 0; t < SUMS; t++) {
        struct ulp_contraction own = *problem;
        const int64_t dims[1] = {(int64_t)count};
        struct ulp_tensor out;
        ULP_TRY(ulp_trace_take(trace, count, sizeof(double), &sums[t], error));
        ULP_TRY(ulp_tensor_describe(&out, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, 1, dims, error));
        out.data = sums[t];
        own.a.tensor = &a->tensors[t];
        own.b.tensor = &b->tensors[t];
        own.out = &out;
        own.out_batch_offset = batches;
        own.out_row_offset = rows;
        own.out_column_offset = columns;
        own.store = true;
        ULP_TRY(ulp_contract(&trace->arithmetic, &own, pool, error));
    }
    return ULP_OK;
}

/* Is each product rounded to the compute format before it is added (kernels/chain/step.c)? */
static bool rounds_products(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->order == ULP_ORDER_PAIRWISE ||
           (!arithmetic->schedule.unit_class[0] && !arithmetic->schedule.fused);
}

/* Below the normal numbers nothing is rounded by more than 2 to this. */
static int least_bit(const struct ulp_format *format)
{
    return format->subnormals ? ulp_format_lowest_bit(format) : format->emin;
}

/* The rounding of a lane's sum of k products whose magnitudes add up to `size`, whatever the order
 * and the unit: each product is rounded or cut at most twice, each addition once, by two ulps of
 * what is larger than the running sum of magnitudes. FP8 units keep 13 bits of their sums. Factors
 * whose format ends above their storage's least bit lose its own at most, which counts as
 * often as the other line's magnitudes; l1: those of both lines together. */
static double lane_error(const struct ulp_arithmetic *arithmetic, size_t k, double size, double l1)
{
    int precision = arithmetic->accumulator.precision, emin = arithmetic->accumulator.emin;
    double factors = 0, lost = 0;
    if (rounds_products(arithmetic)) {
        precision =
            arithmetic->compute.precision < precision ? arithmetic->compute.precision : precision;
        emin = arithmetic->compute.emin > emin ? arithmetic->compute.emin : emin;
    }
    if (arithmetic->factor.precision <= 4 && precision > 13)
        precision = 13;
    if (arithmetic->factor.precision < arithmetic->storage.precision) {
        const double u = ldexp(1, 1 - arithmetic->factor.precision);
        factors = 2 * u + u * u;
    }
    if (least_bit(&arithmetic->factor) > least_bit(&arithmetic->storage)) {
        const double least = ldexp(1, least_bit(&arithmetic->factor));
        lost = least * (l1 * (1 + factors) + (double)k * least);
        if (isnan(lost))
            lost = INFINITY;
    }
    const double steps = (double)k + 4, tiny = ldexp(1, emin),
                 sum = ulp_interval_sum_error(arithmetic->rounding, steps, ldexp(4, -precision));
    return size * (sum * (1 + factors) + factors) + steps * tiny + lost * (1 + sum);
}

/* ---- norms of rows of results ---- */

/* Matrices beyond this are bounded element by element alone. */
#define SPECTRAL_MAX 320
#define SQUARINGS 5

/* G = W W' of a factor's lines (or W' W, when that is smaller). */
static double *make_gram(struct ulp_trace *trace, const struct factor *factor, size_t batch,
                         size_t lines, size_t k, size_t *size)
{
    const struct ulp_factor *from = factor->from;
    const double *w = factor->tensors[CENTRE].data;
    const bool by_lines = lines <= k;
    const size_t d = by_lines ? lines : k, other = by_lines ? k : lines;
    const int64_t start = from->batch_offset ? from->batch_offset[batch] : 0,
                  *own = by_lines ? from->line_offset : from->k_offset,
                  *across = by_lines ? from->k_offset : from->line_offset;
    double *gram;
    if (d > SPECTRAL_MAX || d * d * other > (size_t)1 << 27 ||
        !ulp_enclosing_take(trace, 2 * d * d, sizeof *gram, &gram))
        return NULL;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t n = 0; n < other; n++)
                sum += w[start + own[i] + across[n]] * w[start + own[j] + across[n]];
            gram[i * d + j] = gram[j * d + i] = sum;
        }
    *size = d;
    return gram;
}

/* A bound of the largest singular value s: s^2 is the largest eigenvalue of G, and for powers of
 * two p s^(2 p) <= ||G^p||_F. Each squaring of a matrix of Frobenius norm 1 errs by d^2 2^-53 in
 * that norm, whose square is 1 / sqrt(d) at least, so by less than 2^-25 relatively altogether, of
 * which the root leaves far less. */
static double find_spectral(struct ulp_trace *trace, const struct factor *factor, size_t batch,
                            size_t lines, size_t k)
{
    size_t d = 0;
    double *gram = make_gram(trace, factor, batch, lines, k, &d), logarithm = 0, power = 1;
    if (!gram)
        return INFINITY;
    double *next = gram + d * d;
    for (int s = 0; s <= SQUARINGS; s++) {
        double squares = 0;
        for (size_t i = 0; i < d * d; i++)
            squares += gram[i] * gram[i];
        const double norm = sqrt(squares);
        if (!(norm > 0x1p-900) || !isfinite(norm))
            return norm <= 0x1p-900 ? 0x1p-440 : INFINITY; /* products that underflow */
        logarithm += ulp_math_log(norm) / power;           /* of the bound of s^2 so far */
        if (s == SQUARINGS)
            break;
        for (size_t i = 0; i < d * d; i++)
            gram[i] /= norm;
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j <= i; j++) {
                double sum = 0;
                for (size_t n = 0; n < d; n++)
                    sum += gram[i * d + n] * gram[j * d + n];
                next[i * d + j] = next[j * d + i] = sum;
            }
        double *swap = gram;
        gram = next;
        next = swap;
        power *= 2;
    }
    return ulp_math_exp(logarithm / 2) * (1 + 0x1p-20);
}

static bool is_one_matrix(const struct ulp_factor *factor, size_t batches)
{
    for (size_t g = 1; factor->batch_offset && g < batches; g++)
        if (factor->batch_offset[g] != factor->batch_offset[0])
            return false;
    return true;
}

/* max over k of the l2 norm of the factor's column k: a row of V under a Softmax's shares. */
static double find_widest_column(struct ulp_trace *trace, const struct factor *factor, size_t batch,
                                 size_t lines, size_t k)
{
    const struct ulp_factor *from = factor->from;
    int64_t *places;
    double widest = 0;
    if (from->tensor->element != ULP_ELEMENT_F64 || factor->unbounded ||
        !ulp_enclosing_take(trace, lines, sizeof *places, &places))
        return INFINITY;
    for (size_t n = 0; n < k; n++) {
        for (size_t j = 0; j < lines; j++)
            places[j] = (from->batch_offset ? from->batch_offset[batch] : 0) +
                        from->line_offset[j] + from->k_offset[n];
        const struct ulp_norms norms =
            ulp_enclosing_norms(trace->enclosing, from->tensor->data, places, lines, from);
        widest = ulp_math_max(widest, norms.l2);
    }
    return widest;
}

/* Results first, first + step, ... (count of them) have that l2 norm at most before they are
 * rounded: a joint, when it is less than their intervals say. */
static void join_line(struct ulp_trace *trace, const struct ulp_arithmetic *arithmetic,
                      size_t first, size_t step, size_t count, size_t k, double norm, double size,
                      double l1)
{
    struct ulp_enclosing *e = trace->enclosing;
    const struct ulp_format *format = &arithmetic->storage;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = ulp_interval_magnitude(&e->at, first + i * step);
        if (e->at.may[first + i * step])
            return; /* a sum that saturates errs by more than a rounding */
        squares += x * x;
    }
    const double n = (double)count;
    norm = (norm + sqrt(n) * lane_error(arithmetic, k, size, l1)) *
               (1 + ldexp(1, 1 - format->precision)) +
           sqrt(n) * ldexp(1, format->emin);
    if (count < 2 || !(norm < 0.99 * sqrt(squares)) || !isfinite(norm))
        return;
    const uint32_t joint = ulp_enclosing_add_joint(trace, (struct ulp_joint){INFINITY, norm});
    for (size_t i = 0; i < count; i++)
        e->joint[first + i * step] = joint;
}

/* The rows of results: of W x with numbers W the largest singular value times the norm of x; of
 * sums of the lines of b with weights a the l1 norm of these times the largest line. */
static void join_results(struct ulp_trace *trace, const struct ulp_contraction *p,
                         const struct ulp_arithmetic *arithmetic, const struct factor *a,
                         const struct factor *b, size_t first)
{
    const bool rows = b->known || !a->known;
    const struct factor *matrix = rows ? b : a, *vectors = rows ? a : b;
    const size_t lines = rows ? p->n : p->m, others = rows ? p->m : p->n;
    const bool one = is_one_matrix(matrix->from, p->batch_count);
    double spectral = INFINITY, widest = INFINITY;
    if (matrix->from->padding || (a->known && b->known))
        return;
    for (size_t g = 0; g < p->batch_count; g++) {
        if (matrix->known && (g == 0 || !one))
            spectral = find_spectral(trace, matrix, g, lines, p->k);
        if (rows && !matrix->known)
            widest = find_widest_column(trace, matrix, g, lines, p->k);
        for (size_t i = 0; i < others; i++) {
            const struct ulp_norms *x = &vectors->norms[g * others + i];
            const double norm = ulp_math_min(spectral * x->l2, x->l1 * widest);
            double size = 0, l1 = 0;
            for (size_t j = 0; j < lines; j++) {
                size = ulp_math_max(size, x->l2 * matrix->norms[g * lines + j].l2);
                l1 = ulp_math_max(l1, x->l1 + matrix->norms[g * lines + j].l1);
            }
            if (isfinite(norm))
                join_line(trace, arithmetic, first + g * p->m * p->n + (rows ? i * p->n : i),
                          rows ? 1 : p->n, lines, p->k, norm, size, l1);
        }
    }
}

static void enclose_sum(struct ulp_trace *trace, size_t number, size_t k, double centre,
                        double centre_size, double magnitude, struct ulp_norms a,
                        struct ulp_norms b, const struct ulp_arithmetic *arithmetic, bool store,
                        struct ulp_affine *affine, double *largest)
{
    struct ulp_enclosing *e = trace->enclosing;
    const double cut = magnitude * ((double)k + 4) * 0x1p-51 + 0x1p-1060;
    const double holder =
        ulp_math_min(a.l2 * b.l2, ulp_math_min(a.l1 * b.most, a.most * b.l1)) * (1 + 0x1p-50);
    const double size = ulp_math_min(isnan(magnitude) ? INFINITY : magnitude + cut,
                                     isnan(holder) ? INFINITY : holder);
    const double radius = magnitude - centre_size + 2 * cut;
    double lo = centre - radius, hi = centre + radius;
    if (!(lo >= -size))
        lo = -size;
    if (!(hi <= size))
        hi = size;
    const double error = lane_error(arithmetic, k, size, a.l1 + b.l1);
    const double most = size + error;
    *largest = ulp_math_max(*largest, most);
    /* a factor's rounding makes a product a third larger at most */
    const bool fits = !rounds_products(arithmetic) ||
                      ulp_math_min(a.most * b.most, size) * 1.34 <= arithmetic->compute.max_finite;
    if (most <= arithmetic->accumulator.max_finite && isfinite(most) && fits)
        ulp_interval_set(&e->at, number, lo - error, hi + error, 0);
    else
        ulp_interval_set(&e->at, number, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING), affine = NULL;
    const struct ulp_format *format = store ? &arithmetic->storage : &arithmetic->accumulator;
    struct ulp_affine form = {.rest = INFINITY};
    if (affine && ulp_affine_is(affine)) {
        ulp_affine_loosen(affine, error);
        form = ulp_affine_meet(affine, &e->at, number);
        ulp_affine_store(&form, format);
    }
    ulp_interval_store(arithmetic, format, &e->at, number);
    if (e->at.may[number])
        form.rest = INFINITY;
    ulp_enclosing_set_affine(trace, number, &form);
    e->joint[number] = ULP_NO_JOINT;
    e->stamp[number] = 0;
}

enum ulp_status ulp_enclosing_contract(struct ulp_trace *trace,
                                       const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_contraction *p, struct ulp_pool *pool,
                                       struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    const struct ulp_arithmetic own = ulp_enclosing_arithmetic(e, arithmetic);
    struct factor a, b;
    double *sums[SUMS], largest = 0;
    const size_t count = p->batch_count * p->m * p->n;
    struct ulp_arena *scratch;
    if (p->out->element != ULP_ELEMENT_F64)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its sums lie where bounds have no room");
    ULP_TRY(ulp_arena_create(&scratch, trace->budget, error));
    ulp_trace_turn(trace, &scratch);
    enum ulp_status status = split_tensor(trace, &a, &p->a, own.factor.max_finite, error);
    ULP_THEN(status, split_tensor(trace, &b, &p->b, own.factor.max_finite, error));
    ULP_THEN(status, run_sums(trace, p, &a, &b, sums, pool, error));
    ULP_THEN(status, find_norms(trace, &a, p->batch_count, p->m, p->k, error));
    ULP_THEN(status, find_norms(trace, &b, p->batch_count, p->n, p->k, error));
    ULP_THEN(status, ulp_enclosing_reserve(trace, count, error));
    struct ulp_affine *forms = status == ULP_OK && e->affine
                                   ? ulp_affine_contract(trace, p, a.affine, b.affine, pool)
                                   : NULL;
    ulp_trace_turn(trace, &scratch);
    if (status != ULP_OK) {
        ulp_arena_free(scratch);
        return status;
    }
    const size_t first = e->count;
    double *elements = p->out->data;
    for (size_t g = 0, s = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++, s++) {
                enclose_sum(trace, e->count, p->k, sums[CENTRE][s], sums[CENTRE_SIZE][s],
                            sums[MAGNITUDE][s], a.norms[g * p->m + i], b.norms[g * p->n + j], &own,
                            p->store, forms ? &forms[s] : NULL, &largest);
                elements[(p->out_batch_offset ? p->out_batch_offset[g] : 0) + p->out_row_offset[i] +
                         p->out_column_offset[j]] = ulp_enclosing_name(e, e->count++);
            }
    ulp_trace_turn(trace, &scratch);
    join_results(trace, p, &own, &a, &b, first);
    ulp_trace_turn(trace, &scratch);
    ulp_arena_free(scratch);
    ulp_enclosing_hide(trace,
                       (struct ulp_hidden_bound){NULL, -1, largest, own.accumulator.max_finite});
    return ULP_OK;
}
