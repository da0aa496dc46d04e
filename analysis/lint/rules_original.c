/* Constants that are not those of the original, each looked at as its reader does: dequantised,
 * transposed. */
#include "analysis/lint/lint.h"

#include <math.h>

#include "analysis/scales/scales_stored.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

#define RANK_MAX 8
#define BEFORE_MAX 8 /* nodes between a constant and its reader */

/* What a reader's input holds where it is made of one constant alone. */
struct source {
    const struct ulp_tensor *values;   /* as stored: floats, or codes */
    const struct ulp_tensor *zero;     /* of codes; NULL: 0 */
    struct ulp_stored stored;          /* of codes */
    struct ulp_lint_place dequantizer; /* node NULL: values are floats, packed or an operand's */
    bool operand; /* codes that the reader takes as they are, whose scales count this many times */
    double factor;
    /* of MatMulNBits, whose scales are stored.scale: bits of a value, values of a block and of a
     * row, blocks of a row; 0: it is none */
    size_t bits, block, row, blocks;
    const char *name; /* of the constant */
    int rank;         /* as the reader has it */
    int64_t dims[RANK_MAX];
    size_t strides[RANK_MAX]; /* of the elements as stored */
};

static void lay(struct source *s, const struct ulp_tensor *shape)
{
    size_t stride = 1;
    s->rank = shape->rank;
    for (int d = shape->rank; d-- > 0;) {
        s->dims[d] = shape->dims[d];
        s->strides[d] = stride;
        stride *= (size_t)shape->dims[d];
    }
}

static void transpose(struct source *s, struct ulp_lint_place place)
{
    const struct ulp_attribute *order = ulp_node_attribute(place.node, "perm");
    const struct source from = *s;
    for (int d = 0; d < s->rank; d++) {
        const int64_t at =
            order && order->count == (size_t)s->rank ? order->ints[d] : s->rank - 1 - d;
        if (at < 0 || at >= s->rank)
            return;
        s->dims[d] = from.dims[at];
        s->strides[d] = from.strides[at];
    }
}

/* Behind Transposes, Casts and one DequantizeLinear. */
static bool find_source_at(const struct ulp_lint_graph *graph, int value, int depth,
                           struct source *out)
{
    const struct ulp_tensor *constant = ulp_lint_constant(graph, value);
    const struct ulp_lint_place place = ulp_lint_producer(graph, value);
    if (constant) {
        *out = (struct source){.values = constant, .name = ulp_lint_value_name(graph, value)};
        if (constant->rank > RANK_MAX || !constant->count)
            return false;
        lay(out, constant);
        return true;
    }
    if (!place.node || depth == BEFORE_MAX ||
        !ulp_lint_is_any(place, "Cast DequantizeLinear Identity Transpose") ||
        !find_source_at(place.graph, ulp_lint_input(place, 0), depth + 1, out))
        return false;
    if (ulp_lint_is(place, "Transpose"))
        transpose(out, place);
    if (!ulp_lint_is(place, "DequantizeLinear"))
        return true;
    const struct ulp_tensor *scale = ulp_lint_constant(place.graph, ulp_lint_input(place, 1));
    const int zero = ulp_lint_input(place, 2);
    out->zero = ulp_lint_constant(place.graph, zero);
    const bool first = !out->dequantizer.node;
    out->dequantizer = place;
    for (int d = 0; d < out->rank; d++) /* its axis is of the codes as stored */
        if (d + 1 < out->rank && out->strides[d] < out->strides[d + 1])
            return false;
    return first && scale && (zero < 0 || out->zero) &&
           (!out->zero || out->zero->count == 1 || out->zero->count == scale->count) &&
           ulp_stored_read(place.node, out->values, scale, &out->stored);
}

/* (N, blocks, bytes), which are read as (K, N). */
static bool find_packed(struct ulp_lint_place place, struct source *out)
{
    const int zero = ulp_lint_input(place, 3);
    const int64_t n = ulp_lint_int(place, "N", 0), k = ulp_lint_int(place, "K", 0);
    *out = (struct source){.values = ulp_lint_constant(place.graph, ulp_lint_input(place, 1)),
                           .zero = ulp_lint_constant(place.graph, zero),
                           .name = ulp_lint_value_name(place.graph, ulp_lint_input(place, 1)),
                           .bits = (size_t)ulp_lint_int(place, "bits", 4),
                           .block = (size_t)ulp_lint_int(place, "block_size", 0),
                           .row = (size_t)k,
                           .rank = 2,
                           .dims = {k, n},
                           .strides = {1, (size_t)k}};
    out->stored.scale = ulp_lint_constant(place.graph, ulp_lint_input(place, 2));
    if (!out->values || !out->stored.scale || (zero >= 0 && !out->zero) || n < 1 || k < 1 ||
        !out->block || (out->bits != 2 && out->bits != 4 && out->bits != 8))
        return false;
    out->blocks = (out->row + out->block - 1) / out->block;
    const size_t zeros = out->zero && out->zero->type == ULP_TYPE_UINT8
                             ? (size_t)n * ((out->blocks * out->bits + 7) / 8)
                             : (size_t)n * out->blocks;
    return out->values->type == ULP_TYPE_UINT8 &&
           out->values->count == (size_t)n * out->blocks * out->block * out->bits / 8 &&
           out->stored.scale->count == (size_t)n * out->blocks &&
           (!out->zero || out->zero->count == zeros);
}

static size_t unpack(const struct ulp_tensor *bytes, size_t first, size_t i, size_t bits)
{
    return (size_t)ulp_tensor_get(bytes, first + i * bits / 8) >> i * bits % 8 &
           (((size_t)1 << bits) - 1);
}

static double read_packed(const struct source *s, size_t i, double *step, double *code)
{
    const size_t n = i / s->row, k = i % s->row, b = k / s->block;
    const double scale = ulp_tensor_get(s->stored.scale, n * s->blocks + b);
    const double zero =
        !s->zero ? ldexp(1, (int)s->bits - 1)
        : s->zero->type == ULP_TYPE_UINT8
            ? (double)unpack(s->zero, n * ((s->blocks * s->bits + 7) / 8), b, s->bits)
            : ulp_tensor_get(s->zero, n * s->blocks + b);
    *code = (double)unpack(s->values, n * s->blocks * s->block * s->bits / 8, k, s->bits);
    *step = fabs(scale);
    return (*code - zero) * scale;
}

static bool is_coded(const struct source *s)
{
    return s->bits || ((s->operand || s->dequantizer.node) && !ulp_type_is_float(s->values->type));
}

/* Operators on codes, and of which input of the original's operator each operand is: codes, scales
 * and zero points (-1: 0), the axis of the scales from the end, and an input whose scale multiplies
 * (of biases; 0: none). */
static const struct operand {
    const char *op, *was;
    size_t input, codes, scale;
    int zero, axis;
    size_t by;
} operands[] = {
    {"QLinearConv", "Conv", 1, 3, 4, 5, 0, 0},      {"QLinearConv", "Conv", 2, 8, 4, -1, 0, 1},
    {"QLinearMatMul", "MatMul", 0, 0, 1, 2, -2, 0}, {"QLinearMatMul", "MatMul", 1, 3, 4, 5, -1, 0},
    {"QGemm", "Gemm", 1, 3, 4, 5, -1, 0},           {"QGemm", "Gemm", 2, 6, 4, -1, 0, 1},
    {"QLinearAdd", "Add", 0, 0, 1, 2, 0, 0},        {"QLinearAdd", "Add", 1, 3, 4, 5, 0, 0},
    {"QLinearMul", "Mul", 0, 0, 1, 2, 0, 0},        {"QLinearMul", "Mul", 1, 3, 4, 5, 0, 0},
};

/* The operand of the place that is that input of the original's; NULL: there is none. */
static const struct operand *find_operand(struct ulp_lint_place place, size_t input)
{
    for (size_t o = 0; o < sizeof operands / sizeof *operands; o++)
        if (ulp_lint_is(place, operands[o].op) && operands[o].input == input)
            return &operands[o];
    return NULL;
}

static bool read_operand(struct ulp_lint_place place, const struct operand *operand,
                         struct source *out)
{
    const int codes = ulp_lint_input(place, operand->codes),
              zero = operand->zero < 0 ? -1 : ulp_lint_input(place, (size_t)operand->zero);
    const struct ulp_tensor *values = ulp_lint_constant(place.graph, codes),
                            *scale = ulp_lint_constant(place.graph,
                                                       ulp_lint_input(place, operand->scale));
    *out = (struct source){.values = values,
                           .zero = ulp_lint_constant(place.graph, zero),
                           .operand = true,
                           .factor = 1,
                           .name = ulp_lint_value_name(place.graph, codes),
                           .stored = {.values = values, .scale = scale}};
    if (!values || !scale || values->rank > RANK_MAX || !values->count || !scale->count ||
        (zero >= 0 && !out->zero) ||
        (out->zero && out->zero->count != 1 && out->zero->count != scale->count) ||
        (operand->by &&
         !ulp_lint_scalar(place.graph, ulp_lint_input(place, operand->by), &out->factor)))
        return false;
    lay(out, values);
    const bool turned = ulp_lint_is(place, "QGemm") && ulp_lint_int(place, "transB", 0);
    const int axis = operand->axis >= 0 || turned ? 0 : values->rank + operand->axis;
    if (scale->count > 1 &&
        (axis < 0 || axis >= values->rank || (size_t)values->dims[axis] != scale->count))
        return false;
    ulp_stored_lay(&out->stored, scale->count > 1 ? axis : -1, scale->count > 1);
    return true;
}

static void find_range(const struct source *s, double *bottom, double *top)
{
    *bottom = 0;
    *top = ldexp(1, (int)s->bits) - 1;
    if (!s->bits)
        ulp_integer_range(s->values->type, bottom, top);
}

static bool find_source(struct ulp_lint_place place, size_t i, struct source *out)
{
    const int value = ulp_lint_input(place, i);
    const struct operand *operand = find_operand(place, i);
    if (ulp_lint_is(place, "MatMulNBits"))
        return i == 1 && find_packed(place, out);
    if (operand ? !read_operand(place, operand, out)
                : value < 0 || !find_source_at(place.graph, value, 0, out))
        return false;
    if (i == 1 && out->rank == 2 && ulp_lint_is_any(place, "Gemm QGemm") &&
        ulp_lint_int(place, "transB", 0)) {
        const struct source from = *out;
        for (int d = 0; d < 2; d++) {
            out->dims[d] = from.dims[1 - d];
            out->strides[d] = from.strides[1 - d];
        }
    }
    return operand || out->dequantizer.node || ulp_type_is_float(out->values->type);
}

static double find_zero(const struct source *s, size_t scale)
{
    return s->zero ? ulp_tensor_get(s->zero, s->zero->count == 1 ? 0 : scale) : 0;
}

/* From x to its neighbours in a type of floats; of others, `other`. */
static double find_gap(enum ulp_type type, double x, double other)
{
    struct ulp_format format;
    if (!ulp_type_is_float(type) ||
        ulp_format_find(ulp_type_rows[type].format, &format, NULL) != ULP_OK)
        return other;
    return ldexp(1, ilogb(ulp_math_max(fabs(x), ldexp(1, format.emin))) - format.precision + 1);
}

/* Stored element i as its reader has it; *step: between its neighbours there. */
static double read_element(const struct source *s, size_t i, double *step, double *code)
{
    if (s->bits)
        return read_packed(s, i, step, code);
    const double x = ulp_tensor_get(s->values, i);
    *code = x;
    if (s->operand || s->dequantizer.node) {
        const size_t scale = ulp_stored_find(&s->stored, i);
        const double width = ulp_stored_scale(&s->stored, scale) * (s->operand ? s->factor : 1);
        *step = fabs(width) * find_gap(s->values->type, x, 1);
        return (x - find_zero(s, scale)) * width;
    }
    *step = find_gap(s->values->type, x, fabs(x));
    return x;
}

/* The stored number of the reader's element i. */
static size_t find_stored(const struct source *s, size_t i)
{
    size_t at = 0;
    for (int d = s->rank; d-- > 0;) {
        at += i % (size_t)s->dims[d] * s->strides[d];
        i /= (size_t)s->dims[d];
    }
    return at;
}

static size_t count_elements(const struct source *s)
{
    size_t count = 1;
    for (int d = 0; d < s->rank; d++)
        count *= (size_t)s->dims[d];
    return count;
}

static bool has_same_shape(const struct source *a, const struct source *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->dims[d] == b->dims[d];
    return same;
}

/* ---- beside the original ---- */

/* The node of the original that computes what the node does: by the name of its result, else by its
 * own, to which quantisers add words behind '_'. */
struct twins {
    struct ulp_lint other;
    struct ulp_names results, nodes; /* by name: places of `other` */
};

static bool list_twins(const struct ulp_lint *lint, struct twins *out)
{
    struct ulp_error ignored;
    out->other = (struct ulp_lint){.model = lint->options->original,
                                   .options = lint->options,
                                   .arena = lint->arena,
                                   .targets = lint->targets};
    if (ulp_lint_view(&out->other, &ignored) != ULP_OK)
        return false;
    for (size_t n = 0; n < out->other.node_count; n++) {
        const struct ulp_lint_place place = out->other.places[n];
        const char *result = ulp_lint_value_name(place.graph, ulp_lint_output(place, 0));
        if (place.graph != out->other.graphs)
            continue;
        if ((result && *result && !ulp_names_add(&out->results, result, (int)n)) ||
            (*place.node->name && ulp_names_find(&out->nodes, place.node->name) < 0 &&
             !ulp_names_add(&out->nodes, place.node->name, (int)n)))
            return false;
    }
    return true;
}

static int find_name(const struct ulp_names *names, const char *name, bool shorter)
{
    char text[512];
    int found = name ? ulp_names_find(names, name) : -1;
    if (!name || snprintf(text, sizeof text, "%s", name) >= (int)sizeof text)
        return found;
    for (char *end; shorter && found < 0 && (end = strrchr(text, '_'));) {
        *end = '\0';
        found = ulp_names_find(names, text);
    }
    return found;
}

static struct ulp_lint_place find_twin(const struct twins *twins, struct ulp_lint_place place)
{
    const char *result = ulp_lint_value_name(place.graph, ulp_lint_output(place, 0)),
               *was = ulp_lint_is(place, "MatMulNBits") ? "MatMul" : place.node->op_type;
    bool coded = false;
    for (size_t o = 0; o < sizeof operands / sizeof *operands; o++)
        if (ulp_lint_is(place, operands[o].op)) {
            was = operands[o].was;
            coded = true;
        }
    int n = find_name(&twins->results, result, coded);
    if (n < 0)
        n = find_name(&twins->nodes, place.node->name, coded);
    const struct ulp_lint_place twin = n < 0 ? (struct ulp_lint_place){0} : twins->other.places[n];
    const bool alike = ulp_lint_is(twin, place.node->op_type) || ulp_lint_is(twin, was);
    return alike ? twin : (struct ulp_lint_place){0};
}

/* How a constant differs: elements that are off by more than a step, and what they have in common.
 */
struct off {
    size_t count;
    size_t cut;     /* their codes are an end of the type */
    size_t lost;    /* they are 0, and were all of one sign */
    size_t flipped; /* off by half of the codes: the highest bit is another one */
    size_t wrapped; /* off by all codes of the type at once */
    size_t zeros, negative;
    double most;              /* in steps */
    double low, high;         /* of all differences, in steps */
    double power, meant;      /* of what is off, and of the original */
    double squares, products; /* of the constant; of it and the original */
    bool varied;              /* not all codes are equal */
};

/* Of what is stored wider than it was computed. */
#define HALF_WIDTH 0x1p-10

static void compare_with(const struct source *is, const struct source *was, struct off *off)
{
    double bottom = 0, top = 0, before = NAN;
    const bool codes = is_coded(is);
    const size_t count = count_elements(is);
    if (codes)
        find_range(is, &bottom, &top);
    *off = (struct off){.low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < count; i++) {
        double step, code, ignored;
        const double x = read_element(is, find_stored(is, i), &step, &code),
                     y = read_element(was, find_stored(was, i), &ignored, &ignored),
                     steps = step > 0 ? (x - y) / step
                             : x == y ? 0
                                      : INFINITY;
        off->varied |= i > 0 && code != before;
        before = code;
        off->meant += y * y;
        off->squares += x * x;
        off->products += x * y;
        off->low = ulp_math_min(off->low, steps);
        off->high = ulp_math_max(off->high, steps);
        if (fabs(x - y) <= step * (1 + HALF_WIDTH) + fabs(y) * HALF_WIDTH)
            continue;
        off->count++;
        off->cut += codes && (code == bottom || code == top);
        off->lost += x == 0;
        off->negative += y < 0;
        off->flipped += codes && fabs(fabs(steps) - (top - bottom + 1) / 2) <= 1;
        off->wrapped += codes && fabs(fabs(steps) - (top - bottom + 1)) <= 1;
        off->most = ulp_math_max(off->most, fabs(steps));
        off->power += (x - y) * (x - y);
    }
}

/* What is off by less than this share of the original's power is what quantisers do that mend one
 * error by another, or cut outliers: a tenth of the rms. */
#define OFF_POWER 0.01

/* Codes that a quantiser has rounded or cut are off by a step in either direction, or by less than
 * one in one; all of several by three quarters and more are not, unless they are one value. */
static bool is_shifted(const struct source *is, const struct off *off)
{
    enum { SEVERAL = 4 };
    const double middle = fabs(off->low + off->high) / 2;
    return is_coded(is) && off->high - off->low <= 2 &&
           (off->count == count_elements(is) ||
            (off->varied && count_elements(is) >= SEVERAL && middle >= 0.75 &&
             off->high - off->low <= 1 + 1e-3));
}

static const char *explain(const struct source *is, const struct off *off, char text[96])
{
    const double factor = off->products / off->meant, rest = off->squares - off->products * factor;
    if (is_shifted(is, off)) {
        const double middle = (off->low + off->high) / 2;
        snprintf(text, 96, "all by %.4g step%s: another zero point", middle,
                 fabs(middle) == 1 ? "" : "s");
        return text;
    }
    if (2 * off->flipped > off->count)
        return "which the highest bit of a code makes: signed ones are stored as unsigned, or the "
               "other way";
    if (2 * off->wrapped > off->count)
        return "which all codes of the type make at once: signed ones are read as unsigned, or the "
               "other way";
    if (2 * off->cut > off->count) {
        snprintf(text, 96, "cut at the end of %s", ulp_type_name(is->values->type));
        return text;
    }
    if (2 * off->lost > off->count && (off->negative == off->count || off->negative == 0))
        return off->negative ? "negative ones are 0" : "positive ones are 0";
    if (rest <= OFF_POWER * off->squares) {
        snprintf(text, 96, "all are the original's times %.4g", factor);
        return text;
    }
    return "in no common way";
}

static bool is_told(const struct ulp_lint *lint, const char *value)
{
    bool is = false;
    for (size_t f = 0; f < lint->finding_count; f++)
        is |= lint->findings[f].row == lint->common.row && lint->findings[f].value &&
              strcmp(lint->findings[f].value, value) == 0;
    return is;
}

static void compare_input(struct ulp_lint *lint, struct ulp_lint_place place,
                          struct ulp_lint_place twin, size_t i)
{
    struct source is, was;
    struct off off;
    char text[96];
    if (!find_source(place, i, &is) || !find_source(twin, i, &was) || !has_same_shape(&is, &was) ||
        is_told(lint, is.name))
        return;
    compare_with(&is, &was, &off);
    const bool shifted = is_shifted(&is, &off);
    if (!shifted && !(off.count && off.power > OFF_POWER * off.meant))
        return;
    if (!off.count) /* by a step, and alike: of sums that is more than steps at random are */
        ulp_lint_add(lint, is.dequantizer.node ? is.dequantizer : place, is.name,
                     "all %zu values that '%s' (%s) reads of '%s' are those of the original's '%s' "
                     "shifted the same way, %s",
                     count_elements(&is), place.node->name, place.node->op_type, is.name, was.name,
                     explain(&is, &off, text));
    else
        ulp_lint_add(
            lint, is.dequantizer.node ? is.dequantizer : place, is.name,
            "%zu of %zu values that '%s' (%s) reads of '%s' are not those of the original's "
            "'%s' within a step, by up to %.3g steps: %s",
            off.count, count_elements(&is), place.node->name, place.node->op_type, is.name,
            was.name, off.most, explain(&is, &off, text));
}

void ulp_lint_constant_off(struct ulp_lint *lint)
{
    struct twins twins = {0};
    if (!lint->options->original)
        return;
    lint->failed |= !list_twins(lint, &twins);
    for (size_t n = 0; n < lint->node_count && !lint->failed; n++) {
        const struct ulp_lint_place place = lint->places[n];
        const struct ulp_lint_place twin =
            place.graph == lint->graphs ? find_twin(&twins, place) : (struct ulp_lint_place){0};
        for (size_t i = 0; twin.node && i < place.node->input_count; i++)
            compare_input(lint, place, twin, i);
    }
    ulp_names_free(&twins.results);
    ulp_names_free(&twins.nodes);
    ulp_names_free(&twins.other.names);
}
