/* The bounds of every operator that has a case: walks the table, puts intervals around a case's
 * inputs, bounds the results through the row's own gates (ops/trace/trace_enclose.h), and compares
 * them with results that lanes compute from inputs inside: no value may lie outside its interval,
 * and none be NaN or infinite where it is bounded, no joint have a larger norm than it says, no
 * value be farther from what its affine form says for these inputs than the form's rest. What the
 * oracle is: the lanes' own arithmetic, which check_operators compares with MPFR. */
#include "harness/rows.h"
#include "ops/trace/gate.h"
#include "ops/trace/trace_enclose.h"
#include "tests/support/test.h"

#define OUTPUTS CASE_INPUTS
#define SAMPLES 24

static const char *const lanes[] = {
    "fp16",         "fp16-strict", "bf16", "fp32,order=pairwise", "fp16,acc=fp16,order=blocked:8",
    "e5m7,round=rz"};
enum { LANES = sizeof lanes / sizeof *lanes, ROOM_STEP = 1024, ROOM_MAX = 1 << 22 };

/* In memory that the forked tests share. */
static struct totals {
    size_t cases, followed, elements, unknown, samples, joints, forms, starved;
} * total;

#define UNKNOWNS_MAX 20000
/* Of which input's element an unknown of affine forms is: (element - centre) / reach, in [-1, 1].
 */
static struct unknown {
    size_t input, element;
    double centre, reach;
} unknowns[UNKNOWNS_MAX];

/* Element k's interval: a third of them are points, the others reach a quarter of their magnitude
 * to both sides, so that ends and middle are numbers of ten bits. */
static double radius_of(size_t i, size_t k, double x)
{
    return ulp_random_uniform(5 + i, k) < 1. / 3 ? 0 : fabs(x) / 4;
}

static void set(struct ulp_tensor *tensor, size_t k, double x)
{
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[k] = (float)x;
    else
        ((double *)tensor->data)[k] = x;
}

/* The inputs at one point of the box; sample 0: the low ends, 1: the high ends. */
static void place_inputs(struct node_case *c, const struct ulp_bound *bound, size_t sample)
{
    for (size_t i = 0; i < c->node.input_count; i++)
        for (size_t k = 0; case_is_variable(c, bound, i) && k < c->inputs[i].count; k++) {
            const double x = ulp_tensor_get(&c->inputs[i], k), r = radius_of(i, k, x),
                         u = ulp_random_uniform(100 * sample + i, k);
            const double way = sample == 0 ? -1 : sample == 1 ? 1 : u < 0.4 ? -1 : u < 0.8 ? 1 : 0;
            set(&c->inputs[i], k, x + way * r);
        }
}

static enum ulp_status run(const struct ulp_bound *bound, const struct node_case *c,
                           const struct ulp_tensor *const *in, const struct ulp_arithmetic *lane,
                           struct ulp_trace *trace, struct ulp_tensor *outputs,
                           struct ulp_error *error)
{
    const struct ulp_call call = {.bound = bound, .arithmetic = lane, .in = in, .trace = trace};
    return case_call(c, call, ulp_call_run, outputs, error);
}

static void note_unknowns(size_t input, const struct ulp_enclosure *box)
{
    for (size_t k = 0; box->affine && k < box->count; k++)
        if (box->affine[k].rest == 0 && box->affine[k].count) {
            ck_assert_uint_eq(box->affine[k].count, 1);
            unknowns[box->affine[k].first] =
                (struct unknown){input, k, box->affine[k].centre, box->affine[k].terms[0]};
        }
}

/* The bounds of the row's outputs over the box. False: it cannot be followed, or not within so many
 * bytes (0: no limit), after which the trace has its own memory still. */
static bool enclose(const struct ulp_operator *row, const struct hint *hint,
                    const struct ulp_arithmetic *lane, size_t room, struct ulp_enclosure *out)
{
    static struct ulp_budget budget; /* what is given outlives the call */
    const struct ulp_arithmetic names = ulp_enclosing_names(lane);
    struct ulp_error error;
    struct node_case c;
    struct ulp_bound bound;
    scoped_arena *arena = NULL;
    struct ulp_trace *trace;
    struct ulp_tensor named[OUTPUTS] = {{0}}, outputs[OUTPUTS];
    struct ulp_enclosure boxes[OUTPUTS] = {{0}};
    const struct ulp_tensor *in[OUTPUTS];
    uint8_t *taken;
    ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
    case_make(&c, row, hint, &names);
    ck_ok(ulp_bind(&bound, &c.node, row->since, arena, &why));
    ck_ok(ulp_trace_create(&trace, &budget, NULL, &why));
    ck_ok(ulp_trace_enclose(trace, lane, UNKNOWNS_MAX, &why));
    for (size_t i = 0; i < c.node.input_count; i++) {
        struct ulp_enclosure box;
        in[i] = c.in[i];
        if (!case_is_variable(&c, &bound, i) || c.in[i]->element != ULP_ELEMENT_F64)
            continue;
        ck_ok(ulp_enclosure_create(&box, c.in[i]->count, 0, NULL, &why));
        for (size_t k = 0; k < box.count; k++) {
            const double x = ulp_tensor_get(c.in[i], k), r = radius_of(i, k, x);
            ulp_interval_set_point(&box.at, k, x);
            if (isfinite(x))
                ulp_interval_set(&box.at, k, x - r, x + r, 0);
        }
        ck_ok(ulp_trace_give_symbols(trace, &box, &why));
        note_unknowns(i, &box);
        ck_ok(ulp_trace_name_enclosure(trace, &named[i], c.in[i], &box, &why));
        boxes[i] = box; /* names point to its forms */
        in[i] = &named[i];
    }
    ck_ok(ulp_trace_take(trace, 1, 1, &taken, &why));
    const struct ulp_arena *own = trace->arena;
    budget.limit_bytes = room ? budget.used_bytes + room : 0;
    const bool ran = run(&bound, &c, in, &names, trace, outputs, &error) == ULP_OK,
               followed = ran && (row->formula || !ulp_trace_has_unknown_integers(trace));
    budget.limit_bytes = 0;
    ck_assert_ptr_eq(trace->arena, own);
    for (size_t o = 0; o < c.node.output_count && followed; o++) {
        out[o] = (struct ulp_enclosure){0};
        if (outputs[o].data && outputs[o].element == ULP_ELEMENT_F64) {
            ck_ok(ulp_trace_take_enclosure(trace, &outputs[o], &out[o], &why));
            for (size_t k = 0; k < out[o].count; k++)
                if (ulp_trace_is_number(((const double *)outputs[o].data)[k]))
                    ulp_interval_store(lane, &lane->storage, &out[o].at, k);
        }
    }
    for (size_t i = 0; i < OUTPUTS; i++) {
        ulp_tensor_free(&named[i]);
        ulp_enclosure_free(&boxes[i]);
    }
    if (ran)
        case_free_outputs(outputs);
    ulp_trace_free(trace);
    ulp_unbind(&bound);
    case_free(&c);
    return followed;
}

static void check_joints(const struct ulp_operator *row, const struct ulp_enclosure *range,
                         const struct ulp_tensor *values)
{
    double *l1 = calloc(2 * range->joint_count + 1, sizeof *l1), *l2 = l1 + range->joint_count;
    ck_assert_ptr_nonnull(l1);
    for (size_t k = 0; k < range->count; k++)
        if (range->joint[k] != ULP_NO_JOINT) {
            const double x = ulp_tensor_get(values, k);
            l1[range->joint[k]] += fabs(x);
            l2[range->joint[k]] += x * x;
            total->joints++;
        }
    for (size_t j = 0; j < range->joint_count; j++)
        ck_expect(l1[j] <= range->joints[j].l1 && sqrt(l2[j]) <= range->joints[j].l2,
                  "%s since %d: a row has norms %g, %g, not %g, %g", row->name, row->since, l1[j],
                  sqrt(l2[j]), range->joints[j].l1, range->joints[j].l2);
    free(l1);
}

/* The result against centre + sum of terms e_s, with e_s from the inputs: sums of doubles, which
 * err by count units of their magnitudes. */
static void check_form(const struct ulp_operator *row, const struct ulp_arithmetic *lane,
                       const struct ulp_affine *form, const struct node_case *c, double x)
{
    double said = form->centre, size = fabs(form->centre);
    for (uint32_t t = 0; t < form->count; t++) {
        const struct unknown *u = &unknowns[form->first + t];
        if (form->terms[t] == 0)
            continue;
        const double e = (ulp_tensor_get(&c->inputs[u->input], u->element) - u->centre) / u->reach;
        ck_expect(fabs(e) <= 1, "an unknown is %.17g", e);
        said += form->terms[t] * e;
        size += fabs(form->terms[t]);
    }
    total->forms++;
    ck_expect(fabs(x - said) <= form->rest + size * ((double)form->count + 4) * 0x1p-52,
              "%s since %d in %s: %.17g is not within %.3g of its affine form's %.17g", row->name,
              row->since, lane->name, x, form->rest, said);
}

static void check_values(const struct ulp_operator *row, const struct ulp_arithmetic *lane,
                         const struct ulp_enclosure *range, const struct ulp_tensor *values,
                         const struct node_case *c, size_t output, size_t sample)
{
    ck_assert_msg(range->count == values->count, "%s since %d: output %zu has another shape",
                  row->name, row->since, output);
    for (size_t k = 0; k < range->count; k++) {
        const double x = ulp_tensor_get(values, k), lo = range->at.lo[k], hi = range->at.hi[k];
        const uint8_t may = range->at.may[k];
        const bool allowed = (may & ULP_MAY_BE_ANYTHING) ||
                             (may & ULP_MAY_BE_LOW && x == -INFINITY) ||
                             (may & ULP_MAY_BE_HIGH && x == INFINITY);
        total->unknown += sample == 0 && (may & ULP_MAY_BE_ANYTHING);
        total->elements += sample == 0;
        total->samples++;
        ck_expect(allowed || (x >= lo && x <= hi),
                  "%s since %d in %s: output %zu, element %zu, sample %zu: %.17g is not in [%.17g, "
                  "%.17g]",
                  row->name, row->since, lane->name, output, k, sample, x, lo, hi);
        if (range->affine && range->affine[k].rest < INFINITY)
            check_form(row, lane, &range->affine[k], c, x);
    }
    check_joints(row, range, values);
}

/* False: not a case of this row. */
static bool check_case(const struct ulp_operator *row, const struct hint *hint, const char *name)
{
    struct ulp_enclosure ranges[OUTPUTS] = {{0}};
    struct ulp_error error;
    struct ulp_arena *arena;
    bool chosen = true, followed = false;
    const struct ulp_arithmetic lane = test_arithmetic(name);
    for (size_t s = 0; s < SAMPLES && chosen; s++) {
        struct node_case c;
        struct ulp_bound bound;
        struct ulp_tensor outputs[OUTPUTS];
        ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
        case_make(&c, row, hint, &lane);
        ck_ok(ulp_bind(&bound, &c.node, row->since, arena, &why));
        chosen = bound.op == row;
        if (s == 0 && chosen) {
            total->cases++;
            size_t room = strcmp(row->name, "Mul") == 0 ? ROOM_STEP : 0;
            while (!(followed = enclose(row, hint, &lane, room, ranges)) && room && room < ROOM_MAX)
                room += ROOM_STEP;
            total->starved += room / ROOM_STEP;
            total->followed += followed;
        }
        if (chosen && followed) {
            place_inputs(&c, &bound, s);
            /* an index out of range, from a float that is one */
            if (run(&bound, &c, c.in, &lane, NULL, outputs, &error) == ULP_OK) {
                for (size_t o = 0; o < c.node.output_count; o++)
                    if (ranges[o].memory && outputs[o].data)
                        check_values(row, &lane, &ranges[o], &outputs[o], &c, o, s);
                case_free_outputs(outputs);
            }
        }
        ulp_unbind(&bound);
        case_free(&c);
        ulp_arena_free(arena);
    }
    for (size_t o = 0; o < OUTPUTS; o++)
        ulp_enclosure_free(&ranges[o]);
    return chosen;
}

static bool draws(const struct ulp_operator *row)
{
    return strncmp(row->name, "Random", 6) == 0 || strcmp(row->name, "Bernoulli") == 0 ||
           strcmp(row->name, "Multinomial") == 0;
}

START_TEST(no_value_is_outside_its_bounds)
{
    const struct ulp_operator *row = ulp_operator_row((size_t)_i);
    if (case_exemption(row) || row->work == ULP_WORK_CONTROL || draws(row))
        return;
    for (int l = 0; l < LANES; l++)
        ck_assert_msg(rows_check_cases(row, check_case, lanes[l]), "%s since %d has no case",
                      row->name, row->since);
}
END_TEST

int main(void)
{
    total = rows_share(sizeof *total);
    const int code = rows_run("enclosures", no_value_is_outside_its_bounds, 120);
    printf("%zu cases, %zu of them followed; %zu elements bounded but for %zu, by %zu values in "
           "samples; %zu values in joints, %zu by affine forms; %zu runs in too little memory\n",
           total->cases, total->followed, total->elements, total->unknown, total->samples,
           total->joints, total->forms, total->starved);
    return code;
}
