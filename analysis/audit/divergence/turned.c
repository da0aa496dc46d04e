/* Which comparisons turn: of what TopK, ArgMax, QMoE pick; of comparisons; of roundings to whole
 * numbers and to steps. Those of NonMaxSuppression are in suppression.c. */
#include "analysis/audit/divergence/turned.h"

#include <math.h>
#include <string.h>

#include "analysis/audit/audit_pair.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "ops/operator.h"

/* Output o as the reference has it, as the lane has it, and as exact arithmetic makes it of what
 * the lane reads (NULL: not known). */
struct outcome {
    const struct ulp_tensor *truth, *value, *here;
};

static struct outcome find_outcome(const struct ulp_deciding *deciding, size_t o)
{
    const struct ulp_event *event = deciding->event;
    const struct ulp_lane_value *value =
        &event->values[(deciding->lane + 1) * event->output_count + o];
    const struct ulp_tensor *own = event->values[o].entire;
    struct outcome out = {deciding->original
                              ? ulp_truth_find(deciding->original, event->output_names[o],
                                               event->execution, own)
                              : own,
                          value->entire, value->here};
    if (out.here && (out.here->element != own->element || ulp_element_is_float(own->element) ||
                     !ulp_tensor_same_shape(out.here, own)))
        out.here = NULL;
    if (out.truth && (!out.value || !ulp_tensor_same_shape(out.truth, out.value)))
        out.truth = NULL;
    return out;
}

/* ---- picks ---- */

/* Rows of `size` values, each `stride` after the one before, of which `picks` are taken. */
struct picking {
    const struct ulp_deciding *deciding;
    struct ulp_pair in;
    size_t input;
    struct outcome list; /* of indices; truth NULL: the largest are taken */
    size_t size, picks, stride, rows;
    size_t *taken;        /* room for the indices of three rows */
    unsigned char *marks; /* of a row's values: a bit for each of those that take it */
    double squares, *margins;
};

/* Who takes a value: the reference, the lane, exact arithmetic on what the lane reads. */
enum { TRUTH = 1, VALUE = 2, HERE = 4 };

static double value_at(const struct ulp_tensor *values, const struct picking *p, size_t row,
                       size_t index)
{
    const size_t base = row / p->stride * p->size * p->stride + row % p->stride;
    return ulp_tensor_read(values, base + index * p->stride);
}

/* What is taken of a row, and marked: by the list of indices, or the largest, of equals the later
 * one. */
static bool read_taken(const struct picking *p, const struct ulp_tensor *list,
                       const struct ulp_tensor *values, size_t row, unsigned char mark, size_t *out)
{
    const size_t base = row / p->stride * p->picks * p->stride + row % p->stride;
    for (size_t k = 0; k < p->picks; k++) {
        size_t best = list ? (size_t)ulp_tensor_get_int(list, base + k * p->stride) : p->size;
        for (size_t i = 0; !list && i < p->size; i++)
            if (!(p->marks[i] & mark) &&
                (best == p->size || value_at(values, p, row, i) >= value_at(values, p, row, best)))
                best = i;
        out[k] = best;
        if (best >= p->size)
            return false;
        p->marks[best] |= mark;
    }
    return true;
}

/* The reference takes a where the lane takes b. */
static enum ulp_status tell_pick(struct picking *p, size_t row, size_t place, size_t a, size_t b,
                                 bool own, struct ulp_error *error)
{
    const size_t base = row / p->stride * p->size * p->stride + row % p->stride,
                 list = row / p->stride * p->picks * p->stride + row % p->stride;
    const double margin =
        value_at(p->in.reference, p, row, a) - value_at(p->in.reference, p, row, b);
    struct ulp_turned turned = {.element = list + place * p->stride,
                                .margin = fabs(margin),
                                .error = value_at(p->in.lane, p, row, a) -
                                         value_at(p->in.lane, p, row, b) - margin,
                                .own = own,
                                .term_count = 2,
                                .terms = {{p->input, base + a * p->stride, 1},
                                          {p->input, base + b * p->stride, -1}}};
    return ulp_deciding_tell(p->deciding, &turned, error);
}

/* The least margin of the row, between what is taken and what is not, and its error. Of values
 * whose differences have one sign these are the lowest and the highest. */
static void measure_row(struct picking *p, size_t row)
{
    const struct ulp_tensor *r = p->in.reference;
    size_t ends[2][2] = {{p->size, p->size}, {p->size, p->size}}; /* [taken][low, high] */
    double least = INFINITY, error = 0;
    for (size_t i = 0; i < p->size; i++) {
        size_t *of = ends[(p->marks[i] & TRUTH) != 0];
        const double x = value_at(r, p, row, i);
        of[0] = of[0] == p->size || x < value_at(r, p, row, of[0]) ? i : of[0];
        of[1] = of[1] == p->size || x > value_at(r, p, row, of[1]) ? i : of[1];
    }
    for (int side = 0; side < 2; side++) {
        const size_t a = ends[1][side], b = ends[0][!side];
        if (a == p->size || b == p->size)
            continue;
        const double margin = value_at(r, p, row, a) - value_at(r, p, row, b);
        if (!(fabs(margin) < least))
            continue;
        least = fabs(margin);
        error = value_at(p->in.lane, p, row, a) - value_at(p->in.lane, p, row, b) - margin;
    }
    p->margins[row] = least;
    p->squares += error * error;
}

/* order: sets that are equal are looked at in their order. */
static enum ulp_status look_at_row(struct picking *p, size_t row, bool order,
                                   struct ulp_choices *out, struct ulp_error *error)
{
    size_t *truth = p->taken, *value = truth + p->picks, *here = value + p->picks, b = 0;
    memset(p->marks, 0, p->size);
    if (!read_taken(p, p->list.truth, p->in.reference, row, TRUTH, truth) ||
        !read_taken(p, p->list.value, p->in.lane, row, VALUE, value))
        return ULP_OK;
    const bool known = p->list.here && read_taken(p, p->list.here, NULL, row, HERE, here);
    bool differs = false;
    if (!order)
        measure_row(p, row);
    for (size_t k = 0; k < p->picks; k++) {
        if (order && truth[k] != value[k])
            ULP_TRY(tell_pick(p, row, k, truth[k], value[k], known && here[k] == truth[k], error));
        if (order || (p->marks[truth[k]] & VALUE))
            continue;
        while (b < p->picks && (p->marks[value[b]] & TRUTH))
            b++;
        if (b == p->picks) /* some are taken twice */
            break;
        differs = true;
        ULP_TRY(tell_pick(p, row, k, truth[k], value[b++], known && (p->marks[truth[k]] & HERE),
                          error));
    }
    out->differing += differs;
    return ULP_OK;
}

static bool open_picks(struct picking *p)
{
    const struct ulp_deciding *deciding = p->deciding;
    const struct ulp_event *event = deciding->event;
    const struct ulp_step *step = deciding->program->nodes[event->index].step;
    const bool experts = strcmp(event->op, "QMoE") == 0, list = strcmp(event->op, "TopK") == 0;
    const struct ulp_attribute *axis_given = ulp_node_attribute(step->bound.node, "axis"),
                               *k = ulp_node_attribute(step->bound.node, "k");
    p->input = experts;
    p->in = ulp_deciding_input(deciding, p->input);
    if (!p->in.reference || !p->in.lane || !p->in.reference->rank ||
        !ulp_tensor_same_shape(p->in.reference, p->in.lane) ||
        !ulp_element_is_float(p->in.lane->element))
        return false;
    const struct ulp_tensor *in = p->in.reference;
    size_t o = 0; /* the indices */
    while (list && o < event->output_count && event->output_positions[o] != 1)
        o++;
    if (o >= event->output_count)
        return false;
    p->list = experts ? (struct outcome){0} : find_outcome(deciding, o);
    const int64_t given = axis_given ? axis_given->i : list || experts ? -1 : 0;
    const int axis = (int)(given < 0 ? given + in->rank : given);
    p->size = (size_t)in->dims[axis];
    p->picks = experts         ? (size_t)(k ? k->i : 1)
               : !list         ? 1
               : p->list.truth ? (size_t)p->list.truth->dims[axis]
                               : 0;
    p->stride = 1;
    for (int d = axis + 1; d < in->rank; d++)
        p->stride *= (size_t)in->dims[d];
    p->rows = p->size ? in->count / p->size : 0;
    return (experts || p->list.truth) && p->picks && p->picks <= p->size;
}

static enum ulp_status look_at_picks(const struct ulp_deciding *deciding, struct ulp_choices *out,
                                     struct ulp_error *error)
{
    struct picking p = {.deciding = deciding};
    struct ulp_budget *budget = ulp_model_budget(deciding->program->model);
    ULP_SCOPED(ulp_free_of) void *taken = NULL;
    ULP_SCOPED(ulp_free_of) void *margins = NULL;
    ULP_SCOPED(ulp_free_of) void *marks = NULL;
    if (!open_picks(&p))
        return ULP_OK;
    ULP_TRY(ulp_allocate(&taken, 3 * p.picks, sizeof(size_t), budget, "decisions", error));
    ULP_TRY(ulp_allocate_zero(&margins, p.rows + 1, sizeof(double), budget, "decisions", error));
    ULP_TRY(ulp_allocate(&marks, p.size, 1, budget, "decisions", error));
    p.taken = taken;
    p.marks = marks;
    p.margins = margins;
    out->count = p.rows;
    for (size_t row = 0; row < p.rows; row++)
        ULP_TRY(look_at_row(&p, row, false, out, error));
    for (size_t row = 0; row < p.rows && p.list.truth && !out->differing; row++)
        ULP_TRY(look_at_row(&p, row, true, out, error));
    for (size_t row = 0; row < p.rows; row++)
        out->near += p.margins[row] * p.margins[row] * (double)p.rows < p.squares;
    return ULP_OK;
}

/* ---- element by element ---- */

static bool is_another(const struct ulp_tensor *a, const struct ulp_tensor *b, size_t i)
{
    return ulp_element_is_float(a->element) ? ulp_tensor_read(a, i) != ulp_tensor_read(b, i)
                                            : ulp_tensor_get_int(a, i) != ulp_tensor_get_int(b, i);
}

/* The first element that is another, from `e` on. Bytes that are alike are integers that are. */
#define SAME ((size_t)32)
static size_t find_another(const struct ulp_tensor *a, const struct ulp_tensor *b, size_t e)
{
    const size_t bytes = ulp_element_is_float(a->element) || a->element != b->element ||
                                 a->element == ULP_ELEMENT_PACKED
                             ? 0
                             : a->element_bytes;
    const char *as = a->data, *bs = b->data;
    while (e < a->count) {
        if (bytes && e + SAME <= a->count &&
            memcmp(as + e * bytes, bs + e * bytes, SAME * bytes) == 0) {
            e += SAME;
            continue;
        }
        for (const size_t end = ulp_size_min(e + SAME, a->count); e < end; e++)
            if (is_another(a, b, e))
                return e;
    }
    return e;
}

/* The format of a Cast to so few bits that which number comes out is decided; NULL: it is none. */
static const char *find_narrow(const struct ulp_event *event)
{
    const struct ulp_type_row *row = event->output_count && event->values[0].entire
                                         ? &ulp_type_rows[event->values[0].entire->type]
                                         : NULL;
    return row && strcmp(event->op, "Cast") == 0 && row->file_bits <= 8 ? row->format : NULL;
}

bool ulp_choices_round(const struct ulp_event *event)
{
    return ulp_rounds_to_whole(event->op) || find_narrow(event);
}

/* From where a rounded value turns: halfway to the next number. */
static double margin_of(const struct ulp_event *event, double x)
{
    const char *narrow = find_narrow(event);
    struct ulp_format format;
    if (narrow && ulp_format_find(narrow, &format, NULL) == ULP_OK) {
        const double rounded = ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
        int exponent = 0;
        frexp(rounded, &exponent);
        exponent = exponent - 1 > format.emin ? exponent - 1 : format.emin;
        return ulp_math_max(ldexp(0.5, exponent - format.precision + 1) - fabs(x - rounded), 0);
    }
    const double off = fabs(x - nearbyint(x));
    return strcmp(event->op, "Round") == 0 ? 0.5 - off : off;
}

static enum ulp_status look_at_elements(const struct ulp_deciding *deciding, bool compares,
                                        struct ulp_choices *out, struct ulp_error *error)
{
    const struct ulp_event *event = deciding->event;
    const struct outcome list = find_outcome(deciding, 0);
    const size_t inputs = 1 + compares;
    struct ulp_pair in[2];
    for (size_t i = 0; i < inputs; i++) {
        in[i] = ulp_deciding_input(deciding, i);
        if (!list.truth || !in[i].reference || !in[i].lane ||
            !ulp_element_is_float(in[i].lane->element) ||
            !ulp_tensor_same_shape(in[i].reference, in[i].lane))
            return ULP_OK;
    }
    out->count = list.truth->count;
    for (size_t e = 0; (e = find_another(list.truth, list.value, e)) < out->count; e++) {
        struct ulp_turned turned = {.element = e};
        double margin = 0;
        out->differing++;
        for (size_t i = 0; i < inputs; i++) {
            const size_t at = ulp_pair_element(in[i].reference, list.truth, e);
            const double r = ulp_tensor_read(in[i].reference, at), sign = i ? -1 : 1;
            margin += sign * r;
            turned.error += sign * (ulp_tensor_read(in[i].lane, at) - r);
            turned.terms[turned.term_count++] = (struct ulp_turned_term){i, at, sign};
        }
        turned.margin = compares ? fabs(margin) : margin_of(event, margin);
        turned.own = list.here && !is_another(list.truth, list.here, e);
        /* a Cast of whole numbers decides nothing: what made them did */
        if (!compares && strcmp(event->op, "Cast") == 0 && turned.margin == 0 && !event->quantizes)
            turned.margin = NAN;
        ULP_TRY(ulp_deciding_tell(deciding, &turned, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_choices_look(const struct ulp_deciding *deciding, struct ulp_choices *out,
                                 struct ulp_error *error)
{
    const char *op = deciding->event->op;
    *out = (struct ulp_choices){0};
    if (strcmp(op, "NonMaxSuppression") == 0)
        return ulp_suppression_look(deciding, out, error);
    if (ulp_is_word(op, "TopK ArgMax ArgMin QMoE"))
        return look_at_picks(deciding, out, error);
    if (ulp_is_word(op, "Greater Less GreaterOrEqual LessOrEqual Equal"))
        return look_at_elements(deciding, true, out, error);
    if (ulp_choices_round(deciding->event) || deciding->event->quantizes ||
        (strcmp(op, "Cast") == 0 && deciding->event->output_count &&
         !ulp_element_is_float(deciding->event->values[0].entire->element)))
        return look_at_elements(deciding, false, out, error);
    return ULP_OK;
}
