/* Names for intervals, and what is known of a tensor. */
#include <stdio.h>

#include "base/error.h"
#include "ops/trace/affine.h"
#include "number/function/math.h"

/* ---- enclosures ---- */

enum ulp_status ulp_enclosure_create(struct ulp_enclosure *out, size_t count, size_t joint_count,
                                     struct ulp_budget *budget, struct ulp_error *error)
{
    const size_t element = 2 * sizeof(double) + sizeof(uint32_t) + 1;
    size_t bytes, more;
    *out = (struct ulp_enclosure){0};
    if (!ulp_size_mul(count, element, &bytes) ||
        !ulp_size_mul(joint_count, sizeof *out->joints, &more) ||
        !ulp_size_add(bytes, more, &bytes))
        return ulp_trace_fail(error);
    ULP_TRY(ulp_allocate(&out->memory, bytes + 1, 1, budget, "bounds of a tensor", error));
    out->count = count;
    out->joint_count = joint_count;
    out->joints = out->memory;
    out->at.lo = (double *)(out->joints + joint_count);
    out->at.hi = out->at.lo + count;
    out->joint = (uint32_t *)(out->at.hi + count);
    out->at.may = (uint8_t *)(out->joint + count);
    for (size_t i = 0; i < count; i++)
        out->joint[i] = ULP_NO_JOINT;
    return ULP_OK;
}

enum ulp_status ulp_enclosure_copy(struct ulp_enclosure *out, const struct ulp_enclosure *from,
                                   struct ulp_budget *budget, struct ulp_error *error)
{
    size_t terms = 0;
    double *row;
    ULP_TRY(ulp_enclosure_create(out, from->count, from->joint_count, budget, error));
    for (size_t i = 0; i < from->count; i++) {
        ulp_interval_copy(&out->at, i, &from->at, i);
        out->joint[i] = from->joint[i];
        terms += from->affine ? from->affine[i].count : 0;
    }
    for (size_t j = 0; j < from->joint_count; j++)
        out->joints[j] = from->joints[j];
    if (from->affine)
        ULP_TRY(ulp_affine_allocate(from->count, terms, budget, &out->affine, &row, error));
    out->affine_memory = out->affine;
    for (size_t i = 0; from->affine && i < from->count; i++)
        out->affine[i] = ulp_affine_copy(&from->affine[i], &row);
    return ULP_OK;
}

void ulp_enclosure_free(struct ulp_enclosure *enclosure)
{
    ulp_free(enclosure->memory);
    ulp_free(enclosure->affine_memory);
    *enclosure = (struct ulp_enclosure){0};
}

/* Rounding to nearest is monotone: the endpoints' roundings enclose those of what is between. The
 * unrounded values stay enclosed, too, since a gate's result is not always stored. */
void ulp_interval_store(const struct ulp_arithmetic *arithmetic, const struct ulp_format *format,
                        const struct ulp_intervals *x, size_t i)
{
    const bool nearest = arithmetic->rounding == ULP_ROUND_NEAREST_EVEN ||
                         arithmetic->rounding == ULP_ROUND_NEAREST_AWAY;
    if (x->may[i] & ULP_MAY_BE_ANYTHING)
        return;
    if (x->may[i] && format->carrier != ULP_CARRIER_MPFR &&
        format->overflow != ULP_OVERFLOW_INFINITY) {
        /* a format without infinity makes another value of the model's own */
        ulp_interval_set(x, i, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
        return;
    }
    if (x->lo[i] > x->hi[i])
        return;
    double lo = x->lo[i], hi = x->hi[i];
    if (format->carrier != ULP_CARRIER_MPFR) {
        const double low = ulp_format_round(format, nearest ? arithmetic->rounding : ULP_ROUND_DOWN,
                                            lo, 0, 0),
                     high = ulp_format_round(format, nearest ? arithmetic->rounding : ULP_ROUND_UP,
                                             hi, 0, 0);
        lo = ulp_math_min(lo, low);
        hi = ulp_math_max(hi, high);
        /* what saturates is too large all the same */
        if (isnan(low) || isnan(high) ||
            (ulp_math_max(fabs(x->lo[i]), fabs(x->hi[i])) > format->max_finite &&
             format->overflow != ULP_OVERFLOW_INFINITY))
            lo = -INFINITY;
        if (lo < -format->max_finite || hi > format->max_finite) {
            const double most = ulp_math_max(fabs(low), fabs(high));
            if (!(most <= format->max_finite) || lo == -INFINITY) {
                ulp_interval_set(x, i, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
                return;
            }
        }
    }
    x->lo[i] = lo;
    x->hi[i] = hi;
}

/* ---- arithmetics ---- */

static const char *const format_parts[] = {"storage", "factor", "accumulator",
                                           "compute", "rows",   "sum"};
enum { FORMAT_PARTS = sizeof format_parts / sizeof *format_parts };

static struct ulp_format carry_names(const struct ulp_format *format, const char *name)
{
    struct ulp_format out;
    if (ulp_format_find("fp64", &out, NULL) != ULP_OK)
        out = *format;
    snprintf(out.name, sizeof out.name, "%s", name);
    return out;
}

struct ulp_arithmetic ulp_enclosing_names(const struct ulp_arithmetic *lane)
{
    struct ulp_arithmetic out = *lane;
    struct ulp_format *const formats[] = {&out.storage, &out.factor, &out.accumulator,
                                          &out.compute, &out.rows,   &out.sum};
    for (int f = 0; f < FORMAT_PARTS; f++) {
        const int precision = formats[f]->precision;
        *formats[f] = carry_names(formats[f], format_parts[f]);
        if (f > 0) /* nothing is converted to these; operators ask how precise they are */
            formats[f]->precision = precision;
    }
    snprintf(out.name, sizeof out.name, "names");
    return out;
}

void ulp_enclosing_carry(const struct ulp_trace *trace, struct ulp_arithmetic *arithmetic)
{
    struct ulp_format *const formats[] = {&arithmetic->accumulator, &arithmetic->compute,
                                          &arithmetic->rows};
    for (size_t f = 0; trace && trace->enclosing && f < sizeof formats / sizeof *formats; f++) {
        const struct ulp_format own = *formats[f];
        *formats[f] = carry_names(&own, own.name);
        formats[f]->precision = own.precision;
    }
}

struct ulp_format ulp_enclosing_format(const struct ulp_enclosing *e,
                                       const struct ulp_format *format)
{
    const struct ulp_format *const formats[] = {&e->lane.storage,     &e->lane.factor,
                                                &e->lane.accumulator, &e->lane.compute,
                                                &e->lane.rows,        &e->lane.sum};
    for (int f = 0; f < FORMAT_PARTS; f++)
        if (strcmp(format->name, format_parts[f]) == 0)
            return *formats[f];
    struct ulp_format own;
    return format->carrier == ULP_CARRIER_DOUBLE &&
                   ulp_format_find(format->name, &own, NULL) == ULP_OK
               ? own
               : *format;
}

struct ulp_arithmetic ulp_enclosing_arithmetic(const struct ulp_enclosing *e,
                                               const struct ulp_arithmetic *arithmetic)
{
    struct ulp_arithmetic out = *arithmetic;
    out.storage = ulp_enclosing_format(e, &arithmetic->storage);
    out.factor = ulp_enclosing_format(e, &arithmetic->factor);
    out.accumulator = ulp_enclosing_format(e, &arithmetic->accumulator);
    out.compute = ulp_enclosing_format(e, &arithmetic->compute);
    out.rows = ulp_enclosing_format(e, &arithmetic->rows);
    out.sum = ulp_enclosing_format(e, &arithmetic->sum);
    if (strcmp(arithmetic->name, "names") == 0)
        memcpy(out.name, e->lane.name, sizeof out.name);
    return out;
}

/* ---- numbers ---- */

static enum ulp_status grow(void *array, size_t count, size_t wanted, size_t bytes,
                            struct ulp_budget *budget, struct ulp_error *error)
{
    void *before, *grown;
    memcpy(&before, array, sizeof before);
    ULP_TRY(ulp_allocate(&grown, wanted, bytes, budget, "bounds of a node", error));
    if (count)
        memcpy(grown, before, count * bytes);
    ulp_free(before);
    memcpy(array, &grown, sizeof grown);
    return ULP_OK;
}

enum ulp_status ulp_enclosing_reserve(struct ulp_trace *trace, size_t count,
                                      struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    size_t wanted;
    if (!ulp_size_add(e->count, count, &wanted))
        return ulp_trace_fail(error);
    if (wanted <= e->capacity)
        return ULP_OK;
    wanted = wanted > 2 * e->capacity ? wanted : 2 * e->capacity;
    ULP_TRY(grow(&e->at.lo, e->count, wanted, sizeof *e->at.lo, trace->budget, error));
    ULP_TRY(grow(&e->at.hi, e->count, wanted, sizeof *e->at.hi, trace->budget, error));
    ULP_TRY(grow(&e->at.may, e->count, wanted, sizeof *e->at.may, trace->budget, error));
    ULP_TRY(grow(&e->joint, e->count, wanted, sizeof *e->joint, trace->budget, error));
    ULP_TRY(grow(&e->stamp, e->count, wanted, sizeof *e->stamp, trace->budget, error));
    if (e->symbols_max)
        ULP_TRY(grow(&e->affine, e->count, wanted, sizeof *e->affine, trace->budget, error));
    e->capacity = wanted;
    return ULP_OK;
}

static bool keep_status(struct ulp_enclosing *e, enum ulp_status status,
                        const struct ulp_error *error)
{
    if (status != ULP_OK && e->status == ULP_OK) {
        e->status = status;
        e->failure = *error;
    }
    return status == ULP_OK;
}

bool ulp_enclosing_take(struct ulp_trace *trace, size_t count, size_t bytes, void *out)
{
    struct ulp_error error;
    const enum ulp_status status = ulp_trace_take(trace, count, bytes, out, &error);
    return keep_status(trace->enclosing, status, &error);
}

uint32_t ulp_enclosing_add_joint(struct ulp_trace *trace, struct ulp_joint joint)
{
    struct ulp_enclosing *e = trace->enclosing;
    struct ulp_error error;
    if (e->joint_count >= ULP_NO_JOINT ||
        !keep_status(e,
                     ulp_grow(&e->joints, e->joint_count, &e->joint_capacity, sizeof *e->joints,
                              trace->budget, "bounds of a node", &error),
                     &error))
        return ULP_NO_JOINT;
    e->joints[e->joint_count] = joint;
    return (uint32_t)e->joint_count++;
}

void ulp_enclosing_set_affine(struct ulp_trace *trace, size_t number, const struct ulp_affine *form)
{
    struct ulp_enclosing *e = trace->enclosing;
    double *terms;
    if (!e->affine)
        return;
    e->affine[number] = (struct ulp_affine){.rest = INFINITY};
    if (!ulp_affine_is(form) || form->count > ULP_AFFINE_TERMS_MAX - e->term_count ||
        !ulp_enclosing_take(trace, form->count, sizeof *terms, &terms))
        return;
    e->term_count += form->count;
    e->affine[number] = ulp_affine_copy(form, &terms);
}

void ulp_enclosing_hide(struct ulp_trace *trace, struct ulp_hidden_bound hidden)
{
    struct ulp_enclosing *e = trace->enclosing;
    for (size_t h = 0; h < e->hidden_count; h++)
        if (e->hidden[h].tape == hidden.tape && e->hidden[h].instruction == hidden.instruction) {
            e->hidden[h].largest = ulp_math_max(e->hidden[h].largest, hidden.largest);
            return;
        }
    struct ulp_error error;
    if (keep_status(e,
                    ulp_grow(&e->hidden, e->hidden_count, &e->hidden_capacity, sizeof *e->hidden,
                             trace->budget, "bounds of a node", &error),
                    &error))
        e->hidden[e->hidden_count++] = hidden;
}

const struct ulp_hidden_bound *ulp_trace_hidden(const struct ulp_trace *trace, size_t *count)
{
    *count = trace->enclosing->hidden_count;
    return trace->enclosing->hidden;
}

bool ulp_trace_is_number(double element)
{
    return ulp_number_of(element) == ULP_NO_NUMBER;
}

enum ulp_status ulp_trace_enclosed(const struct ulp_trace *trace, struct ulp_error *error)
{
    if (trace->enclosing->status != ULP_OK && error)
        *error = trace->enclosing->failure;
    return trace->enclosing->status;
}

bool ulp_trace_has_unknown_integers(const struct ulp_trace *trace)
{
    return trace->enclosing->unknown_integers;
}

/* Joints that some elements belong to, at most: of more only the intervals count. */
#define JOINTS_MAX 64

struct part {
    uint32_t joint;
    double l1, l2; /* by intervals, of its elements here; l2 squared */
};

static struct part *find_part(struct part *parts, size_t *count, uint32_t joint)
{
    for (size_t p = 0; p < *count; p++)
        if (parts[p].joint == joint)
            return &parts[p];
    if (*count == JOINTS_MAX)
        return NULL;
    parts[*count] = (struct part){joint, 0, 0};
    return &parts[(*count)++];
}

/* Elements of one joint have its norms at most, when each is met once: by joint the better of these
 * and the intervals'. */
struct ulp_norms ulp_enclosing_norms(struct ulp_enclosing *e, const double *elements,
                                     const int64_t *places, size_t count,
                                     const struct ulp_factor *factor)
{
    struct part parts[JOINTS_MAX];
    struct ulp_norms out = {0, 0, 0};
    size_t part_count = 0;
    e->stamps++;
    for (size_t k = 0; k < count; k++) {
        const size_t place = places ? (size_t)places[k] : k;
        if (factor && ulp_factor_is_padding(factor, (int64_t)place))
            continue;
        const size_t number = ulp_enclosing_number(e, elements[place]);
        double x = fabs(elements[place]);
        struct part *part = NULL;
        if (number != ULP_NO_NUMBER) {
            x = e->at.may[number] ? INFINITY : ulp_interval_magnitude(&e->at, number);
            if (e->joint[number] != ULP_NO_JOINT && e->stamp[number] != e->stamps)
                part = find_part(parts, &part_count, e->joint[number]);
            e->stamp[number] = e->stamps;
        }
        x = isnan(x) ? INFINITY : x;
        *(part ? &part->l1 : &out.l1) += x;
        *(part ? &part->l2 : &out.l2) += ulp_interval_square(x);
        out.most = ulp_math_max(out.most, x);
    }
    const double slack = 1 + ((double)count + 8) * 0x1p-50;
    for (size_t p = 0; p < part_count; p++) {
        const struct ulp_joint *joint = &e->joints[parts[p].joint];
        out.l1 += ulp_math_min(parts[p].l1, joint->l1);
        out.l2 += ulp_math_min(parts[p].l2, ulp_interval_square(joint->l2));
    }
    out.l1 *= slack;
    out.l2 = sqrt(out.l2) * slack;
    out.most = ulp_math_min(out.most, out.l2);
    return out;
}

/* ---- names ---- */

void ulp_trace_enclose_clear(struct ulp_trace *trace)
{
    struct ulp_enclosing *e = trace->enclosing;
    e->base += e->count;
    e->count = e->joint_count = e->hidden_count = e->term_count = 0;
    e->stamps = 0;
    e->unknown_integers = false;
    e->status = ULP_OK;
    ulp_trace_clear(trace);
}

enum ulp_status ulp_trace_name_enclosure(struct ulp_trace *trace, struct ulp_tensor *out,
                                         const struct ulp_tensor *shape,
                                         const struct ulp_enclosure *enclosure,
                                         struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    ULP_TRY(
        ulp_tensor_describe(out, shape->type, ULP_ELEMENT_F64, 0, shape->rank, shape->dims, error));
    if (out->count != enclosure->count)
        return ulp_fail(error, ULP_ERROR_INPUT, "bounds of another shape");
    ULP_TRY(ulp_enclosing_reserve(trace, enclosure->count, error));
    ULP_TRY(ulp_tensor_allocate(out, trace->budget, error));
    const size_t first = e->joint_count;
    bool joined = true;
    for (size_t j = 0; j < enclosure->joint_count && joined; j++)
        joined = ulp_enclosing_add_joint(trace, enclosure->joints[j]) != ULP_NO_JOINT;
    for (size_t i = 0; i < out->count; i++) {
        ulp_interval_copy(&e->at, e->count, &enclosure->at, i);
        e->joint[e->count] = joined && enclosure->joint[i] != ULP_NO_JOINT
                                 ? (uint32_t)first + enclosure->joint[i]
                                 : ULP_NO_JOINT;
        e->stamp[e->count] = 0;
        if (e->affine)
            e->affine[e->count] =
                enclosure->affine ? enclosure->affine[i] : (struct ulp_affine){.rest = INFINITY};
        ((double *)out->data)[i] = ulp_enclosing_name(e, e->count++);
    }
    return ULP_OK;
}

/* Which joints the elements are in, numbered anew: map[joint] - 1. A copy of an element is another
 * one, outside its joint. */
static size_t number_joints(struct ulp_enclosing *e, const struct ulp_tensor *named, uint32_t *map)
{
    const double *elements = named->data;
    size_t count = 0;
    for (size_t i = 0; i < named->count; i++) {
        const size_t number = ulp_enclosing_number(e, elements[i]);
        const uint32_t joint = number == ULP_NO_NUMBER ? ULP_NO_JOINT : e->joint[number];
        if (joint != ULP_NO_JOINT && !map[joint])
            map[joint] = (uint32_t)++count;
    }
    return count;
}

/* The forms that elements have, copied. */
static enum ulp_status take_affine(struct ulp_trace *trace, const struct ulp_tensor *named,
                                   struct ulp_enclosure *out, struct ulp_error *error)
{
    const struct ulp_enclosing *e = trace->enclosing;
    const double *elements = named->data;
    size_t terms = 0;
    double *row;
    for (size_t i = 0; i < named->count; i++) {
        const size_t number = ulp_enclosing_number(e, elements[i]);
        if (number != ULP_NO_NUMBER && ulp_affine_is(&e->affine[number]))
            terms += e->affine[number].count;
    }
    if (terms == 0 || terms > ULP_AFFINE_TERMS_MAX)
        return ULP_OK;
    ULP_TRY(ulp_affine_allocate(named->count, terms, trace->budget, &out->affine, &row, error));
    out->affine_memory = out->affine;
    for (size_t i = 0; i < named->count; i++) {
        const size_t number = ulp_enclosing_number(e, elements[i]);
        if (number != ULP_NO_NUMBER && ulp_affine_is(&e->affine[number]))
            out->affine[i] = ulp_affine_copy(&e->affine[number], &row);
    }
    return ULP_OK;
}

enum ulp_status ulp_trace_take_enclosure(struct ulp_trace *trace, const struct ulp_tensor *named,
                                         struct ulp_enclosure *out, struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    const double *elements = named->data;
    uint32_t *map;
    *out = (struct ulp_enclosure){0};
    ULP_TRY(ulp_trace_take(trace, e->joint_count, sizeof *map, &map, error));
    ULP_TRY(ulp_enclosure_create(out, named->count, number_joints(e, named, map), trace->budget,
                                 error));
    for (size_t j = 0; j < e->joint_count; j++)
        if (map[j])
            out->joints[map[j] - 1] = e->joints[j];
    e->stamps++;
    for (size_t i = 0; i < named->count; i++) {
        const size_t number = ulp_enclosing_number(e, elements[i]);
        if (number == ULP_NO_NUMBER) {
            ulp_interval_set_point(&out->at, i, elements[i]);
            continue;
        }
        ulp_interval_copy(&out->at, i, &e->at, number);
        if (e->stamp[number] != e->stamps && e->joint[number] != ULP_NO_JOINT)
            out->joint[i] = map[e->joint[number]] - 1;
        e->stamp[number] = e->stamps;
    }
    return e->affine ? take_affine(trace, named, out, error) : ULP_OK;
}
