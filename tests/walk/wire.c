/* Where a node's inputs come from. */
#include "builder.h"
#include "tests/support/test.h"

/* ---- other shapes ---- */

int reshape(struct builder *b, size_t v, int rank, const int64_t *dims)
{
    int64_t places[ELEMENTS_MAX];
    size_t count = 1;
    const struct ulp_tensor *from = &b->values[v].tensor;
    for (int d = 0; d < rank; d++)
        count *= (size_t)dims[d];
    if (from->rank == rank && memcmp(from->dims, dims, (size_t)rank * sizeof *dims) == 0)
        return (int)v;
    if (count == 0 || from->count == 0 || count > ELEMENTS_MAX || rank > 8)
        return -1;
    if (count == from->count)
        return add_simple(b, "Reshape", (int)v, (int)add_integers(b, (size_t)rank, false, dims),
                          NULL, 0);
    const size_t held = from->count, flat = add_integers(b, 1, false, (const int64_t[]){-1});
    const int line = add_simple(b, "Reshape", (int)v, (int)flat, NULL, 0);
    const size_t step = 1 + below(b, 3);
    for (size_t i = 0; i < count; i++)
        places[i] = (int64_t)(i * step % held);
    struct ulp_tensor index = {.type = ULP_TYPE_INT64,
                               .element = ULP_ELEMENT_I64,
                               .rank = rank,
                               .count = count,
                               .element_bytes = sizeof *places,
                               .data = places};
    memcpy(index.dims, dims, (size_t)rank * sizeof *dims);
    return line < 0 ? -1 : add_simple(b, "Gather", line, (int)add_constant(b, &index), NULL, 0);
}

int find_float(struct builder *b)
{
    for (int attempt = 0; attempt < 12 && b->value_count; attempt++) {
        /* younger values more often, so that nodes stand behind each other */
        const size_t v = chance(b, 50) && b->value_count > 6 ? b->value_count - 1 - below(b, 6)
                                                             : below(b, b->value_count);
        if (b->values[v].tensor.type == ULP_TYPE_FLOAT && !b->values[v].fixed &&
            b->values[v].tensor.count)
            return (int)v;
    }
    return -1;
}

/* ---- ranges ---- */

struct range {
    double low, high;
};

static struct range range_of(const struct ulp_tensor *tensor)
{
    struct range range = {INFINITY, -INFINITY};
    for (size_t e = 0; e < tensor->count; e++) {
        const double x = ulp_tensor_get(tensor, e);
        range.low = fmin(range.low, x);
        range.high = fmax(range.high, x);
    }
    if (!isfinite(range.low) || !isfinite(range.high) || range.low > range.high)
        range = (struct range){0, 1};
    return range;
}

/* Ends that the type has; where one is beyond its largest number, that of FP32 remains. FLOAT8E8M0
 * has powers of two alone. */
static struct range round_ends(struct range range, enum ulp_type type)
{
    if (type == ULP_TYPE_FLOAT8E8M0)
        return (struct range){exp2(floor(log2(fmax(range.low, 0x1p-20)))),
                              exp2(ceil(log2(fmin(fmax(range.high, 0x1p-20), 0x1p20))))};
    double *const ends[] = {&range.low, &range.high};
    const struct ulp_format format = test_format(ulp_type_rows[type].format);
    for (int i = 0; i < 2; i++) {
        const double x = (double)(float)fmin(fmax(*ends[i], -FLT_MAX), FLT_MAX),
                     rounded = ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
        *ends[i] = isfinite(rounded) && fabs(rounded) < FLT_MAX ? rounded : x;
    }
    if (range.low > range.high)
        range.low = range.high;
    return range;
}

/* Around what the case has, or elsewhere: points, zero, tiny, huge, beyond FP16 and FP32's half. */
static struct range draw_range(struct builder *b, const struct ulp_tensor *wanted)
{
    const struct range own = range_of(wanted);
    const double sign = chance(b, 50) ? 1 : -1;
    double ends[2];
    switch (below(b, 24)) {
    case 0: return (struct range){0, 1};
    case 1: return (struct range){own.high, own.high};
    case 2: return (struct range){0, 0};
    case 3: ends[0] = 0, ends[1] = sign * pow(10, -uniform(b, 3, 44)); break;
    case 4: ends[1] = pow(10, -uniform(b, 3, 9)), ends[0] = -ends[1]; break;
    case 5: ends[1] = pow(10, uniform(b, 2, 4.8)), ends[0] = -ends[1]; break;
    case 6: ends[1] = pow(10, uniform(b, 4, 6)), ends[0] = -ends[1]; break;
    case 7: ends[0] = sign * pow(10, uniform(b, 0, 5)), ends[1] = ends[0] * 1.5; break;
    case 8:
        ends[1] = sign * pow(10, uniform(b, 5, 38.5));
        ends[0] = chance(b, 50) ? 0 : ends[1];
        break;
    case 9: ends[0] = -uniform(b, 0, 4), ends[1] = uniform(b, 0, 30); break;
    case 10: ends[1] = own.high * pow(2, (double)below(b, 12)), ends[0] = own.low; break;
    /* squares, and sums of them, are beyond FP16 and numbers are not */
    case 11:
    case 12: ends[1] = pow(10, uniform(b, 1.5, 4)), ends[0] = -ends[1]; break;
    case 13: ends[1] = pow(10, uniform(b, 1.5, 4)), ends[0] = 0; break;
    default: return own;
    }
    return ends[0] <= ends[1] ? (struct range){ends[0], ends[1]} : (struct range){ends[1], ends[0]};
}

/* ---- integers and decisions ---- */

/* Of an integer type the numbers that it has, and a double, too. */
static void clip_ends(enum ulp_type type, double *low, double *high)
{
    static const struct {
        enum ulp_type type;
        double least, most;
    } types[] = {
        {ULP_TYPE_UINT8, 0, 255},         {ULP_TYPE_INT8, -128, 127},
        {ULP_TYPE_UINT16, 0, 65535},      {ULP_TYPE_INT16, -32768, 32767},
        {ULP_TYPE_UINT32, 0, 0xffffffff}, {ULP_TYPE_INT32, -0x1p31, 0x7fffffff},
        {ULP_TYPE_UINT64, 0, 0x1p53},     {ULP_TYPE_INT64, -0x1p53, 0x1p53},
        {ULP_TYPE_UINT4, 0, 15},          {ULP_TYPE_INT4, -8, 7},
        {ULP_TYPE_UINT2, 0, 3},           {ULP_TYPE_INT2, -2, 1},
    };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (types[t].type == type) {
            *low = fmin(fmax(*low, types[t].least), types[t].most);
            *high = fmin(fmax(*high, types[t].least), types[t].most);
        }
}

static size_t give(struct builder *b, const struct ulp_tensor *wanted, double low, double high)
{
    clip_ends(wanted->type, &low, &high);
    const int v = add_input(b, wanted->type, wanted->rank, wanted->dims, low, high);
    return v < 0 ? add_constant(b, wanted) : (size_t)v;
}

/* The dimensions of something that has these; where that is a size no tensor should have, a
 * constant. */
static int measure(struct builder *b, const struct ulp_tensor *wanted)
{
    int64_t dims[8];
    size_t count = 1;
    if (wanted->type != ULP_TYPE_INT64 || wanted->rank != 1 || wanted->count > 8)
        return -1;
    for (size_t e = 0; e < wanted->count; e++) {
        dims[e] = ulp_tensor_get_int(wanted, e);
        if (dims[e] < 1 || dims[e] > 64 || (count *= (size_t)dims[e]) > ELEMENTS_MAX)
            return -1;
    }
    const int v = add_input(b, ULP_TYPE_FLOAT, (int)wanted->count, dims, -1, 1);
    return v < 0 ? -1 : add_simple(b, "Shape", v, -1, NULL, 0);
}

/* The numbers as floats, given or constant, behind a Cast. */
static int cast(struct builder *b, const struct ulp_tensor *wanted)
{
    const struct range range = range_of(wanted);
    scoped_tensor floats = {0};
    int v = -1;
    if (fabs(range.low) > 0x1p24 || fabs(range.high) > 0x1p24)
        return -1;
    ck_ok(ulp_tensor_create(&floats, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, wanted->rank, wanted->dims,
                            &why));
    for (size_t e = 0; e < floats.count; e++)
        ((float *)floats.data)[e] = (float)ulp_tensor_get_int(wanted, e);
    if (range.low == range.high || chance(b, 30))
        v = add_input(b, ULP_TYPE_FLOAT, wanted->rank, wanted->dims, range.low, range.high);
    if (v < 0)
        v = (int)add_constant(b, &floats);
    return add_simple(b, "Cast", v, -1, "to", (int64_t)wanted->type);
}

/* The numbers less one, and an input that is one, or at most one. */
static int add(struct builder *b, const struct ulp_tensor *wanted)
{
    scoped_tensor less = {0};
    if (wanted->type != ULP_TYPE_INT64 && wanted->type != ULP_TYPE_INT32)
        return -1;
    ck_ok(ulp_tensor_copy(&less, wanted, NULL, &why));
    for (size_t e = 0; e < less.count; e++)
        ulp_tensor_set_int(&less, e,
                           (int64_t)((uint64_t)ulp_tensor_get_int(wanted, e) - UINT64_C(1)));
    const int constant = (int)add_constant(b, &less),
              one = add_input(b, wanted->type, 0, NULL, chance(b, 30) ? 0 : 1, 1);
    return one < 0 ? -1 : add_simple(b, "Add", constant, one, NULL, 0);
}

static int find_like(struct builder *b, const struct ulp_tensor *wanted)
{
    for (int attempt = 0; attempt < 12 && b->value_count; attempt++) {
        const size_t v = below(b, b->value_count);
        if (b->values[v].tensor.type == wanted->type &&
            ulp_tensor_same_shape(&b->values[v].tensor, wanted))
            return (int)v;
    }
    return -1;
}

static size_t wire_integers(struct builder *b, const struct ulp_tensor *wanted)
{
    const struct range range = range_of(wanted);
    int v = -1;
    switch (below(b, 10)) {
    case 0:
    case 1: return give(b, wanted, range.low, range.high);
    case 2: return give(b, wanted, range.low - 1, range.high + (double)below(b, 3));
    case 3: v = measure(b, wanted); break;
    case 4: v = cast(b, wanted); break;
    case 5: v = add(b, wanted); break;
    case 6: v = find_like(b, wanted); break;
    default: break;
    }
    return v < 0 ? add_constant(b, wanted) : (size_t)v;
}

static size_t wire_truth(struct builder *b, const struct ulp_tensor *wanted)
{
    const int source = chance(b, 40) ? find_float(b) : -1;
    int v = source < 0 ? -1 : reshape(b, (size_t)source, wanted->rank, wanted->dims);
    if (v >= 0) {
        float half = 0.5f;
        const struct ulp_tensor limit = {.type = ULP_TYPE_FLOAT,
                                         .element = ULP_ELEMENT_F32,
                                         .count = 1,
                                         .element_bytes = sizeof half,
                                         .data = &half};
        v = add_simple(b, "Greater", v, (int)add_constant(b, &limit), NULL, 0);
    }
    return v >= 0 ? (size_t)v : chance(b, 50) ? give(b, wanted, 0, 1) : add_constant(b, wanted);
}

/* ---- all ---- */

size_t wire(struct builder *b, const struct ulp_tensor *wanted, bool existing)
{
    if (wanted->type == ULP_TYPE_BOOL)
        return wire_truth(b, wanted);
    if (!ulp_type_is_float(wanted->type))
        return wire_integers(b, wanted);
    int v = existing && chance(b, 55) ? find_like(b, wanted) : -1;
    if (v < 0 && existing && wanted->type == ULP_TYPE_FLOAT && chance(b, 50) &&
        (v = find_float(b)) >= 0)
        v = reshape(b, (size_t)v, wanted->rank, wanted->dims);
    if (v >= 0)
        return (size_t)v;
    if (chance(b, 30))
        return add_constant(b, wanted);
    const struct range range = round_ends(draw_range(b, wanted), wanted->type);
    return give(b, wanted, range.low, range.high);
}
