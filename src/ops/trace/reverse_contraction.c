/* The adjoint of a contraction: what each factor is owed is a contraction of the sums' cotangents
 * with the other factor, laid over where the factor's lines were read. */
#include "ops/trace/gate.h"

#include "base/error.h"
#include "base/tuning.h"

/* One factor's side of a contraction: its lines, and the other factor's. */
struct side {
    const struct ulp_trace_part *part;
    const struct ulp_factor *own, *other;
    size_t lines, others;
    int64_t *line, *other_line; /* of the sums' numbers */
    int64_t *rows, *columns, *batches;
    double *places;   /* what each element of the part is owed */
    double *owed;     /* [line][k] where a line's elements are adjacent, or [k][line] */
    double *products; /* of one other line, by k; NULL: there are more */
    bool adjacent;
};

static void add_products(double *to, int64_t stride, const double *from, double factor,
                         size_t count)
{
    for (size_t i = 0; stride == 1 && i < count; i++)
        to[i] += from[i] * factor;
    for (size_t i = 0; stride != 1 && i < count; i++)
        to[(int64_t)i * stride] += from[i] * factor;
}

/* Lines are gone through in runs at equal distances, each element of all of a run at once: the next
 * element of a line may be far away, but that of the next line is near. sums: by line, of one
 * product each, whose factors are side->products; or NULL. */
static void owe_lines(const struct side *side, size_t k, size_t batch, size_t first, size_t lines,
                      const double *owed, const double *sums)
{
    const struct ulp_factor *own = side->own;
    const int64_t *offset = own->line_offset + first;
    double *places = side->places + (own->batch_offset ? own->batch_offset[batch] : 0);
    for (size_t i = 0, run; i < lines; i += run) {
        const int64_t stride = i + 1 < lines ? offset[i + 1] - offset[i] : 1;
        run = 1;
        if (side->adjacent) {
            add_products(places + offset[i] + own->k_offset[0], 1,
                         sums ? side->products : owed + i * k, sums ? sums[i] : 1, k);
            continue;
        }
        while (i + run < lines && offset[i + run] - offset[i + run - 1] == stride)
            run++;
        for (size_t e = 0; e < k; e++)
            add_products(places + offset[i] + own->k_offset[e], stride,
                         sums ? sums + i : owed + e * lines + i, sums ? side->products[e] : 1, run);
    }
}

/* The factors of the products that lines are owed one of each, as those of a convolution of one
 * channel are. */
static void take_products(const struct side *side, size_t k, size_t batch)
{
    const struct ulp_factor *other = side->other;
    const bool floats = other->tensor->element == ULP_ELEMENT_F32;
    const int64_t start =
        (other->batch_offset ? other->batch_offset[batch] : 0) + other->line_offset[0];
    for (size_t e = 0; e < k; e++) {
        const int64_t at = start + other->k_offset[e];
        side->products[e] = other->padding && other->padding[at] ? 0
                            : floats ? ((const float *)other->tensor->data)[at]
                                     : ((const double *)other->tensor->data)[at];
    }
}

static enum ulp_status reverse_lines(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                     const struct side *side, size_t batch, size_t batches,
                                     size_t first, size_t lines, struct ulp_error *error)
{
    const struct ulp_contraction *p = &gate->problem;
    struct ulp_tensor sums = ulp_view_numbers(trace->cotangents + gate->start,
                                              p->batch_count * p->m * p->n),
                      out = ulp_view_numbers(side->owed, batches * lines * p->k);
    for (size_t g = 0; g < batches; g++)
        side->rows[g] = (int64_t)(g * lines * p->k);
    for (size_t i = 0; i < p->k; i++)
        side->columns[i] = (int64_t)(side->adjacent ? i : i * lines);
    for (size_t i = 0; i < lines; i++)
        side->columns[p->k + i] = (int64_t)(side->adjacent ? i * p->k : i);
    const struct ulp_contraction adjoint = {
        .batch_count = batches,
        .m = lines,
        .n = p->k,
        .k = side->others,
        .a = {.tensor = &sums,
              .batch_offset = side->batches + batch,
              .line_offset = side->line + first,
              .k_offset = side->other_line},
        .b = {.tensor = side->other->tensor,
              .batch_offset = side->other->batch_offset ? side->other->batch_offset + batch : NULL,
              .line_offset = side->other->k_offset,
              .k_offset = side->other->line_offset,
              .padding = side->other->padding},
        .out = &out,
        .out_batch_offset = side->rows,
        .out_row_offset = side->columns + p->k,
        .out_column_offset = side->columns,
        .store = true,
    };
    if (!side->products)
        ULP_TRY(ulp_contract(&trace->arithmetic, &adjoint, trace->pool, error));
    for (size_t g = 0; g < batches; g++) {
        if (side->products)
            take_products(side, p->k, batch + g);
        owe_lines(side, p->k, batch + g, first, lines,
                  side->products ? NULL : side->owed + g * lines * p->k,
                  side->products ? (const double *)sums.data + side->batches[batch + g] + first
                                 : NULL);
    }
    return ULP_OK;
}

/* Tables over the sums' numbers [batch][m][n] and over dense cotangents [line][k]. */
static bool make_tables(struct ulp_trace *trace, const struct ulp_contraction *p, bool second,
                        size_t lines_at_once, struct side *side)
{
    int64_t **const tables[] = {&side->line, &side->other_line, &side->rows, &side->batches,
                                &side->columns};
    const size_t counts[] = {side->lines, side->others, p->batch_count, p->batch_count,
                             p->k + lines_at_once};
    for (int t = 0; t < 5; t++)
        if (!(*tables[t] = ulp_arena_take(trace->arena, counts[t], sizeof **tables[t])))
            return false;
    for (size_t i = 0; i < side->lines; i++)
        side->line[i] = (int64_t)(second ? i : i * p->n);
    for (size_t i = 0; i < side->others; i++)
        side->other_line[i] = (int64_t)(second ? i * p->n : i);
    for (size_t g = 0; g < p->batch_count; g++)
        side->batches[g] = (int64_t)(g * p->m * p->n);
    return true;
}

/* Where the part's elements are owed something: the numbers' cotangents, or a copy of which each
 * element is then handed on. */
static enum ulp_status open_places(struct ulp_trace *trace, struct side *side,
                                   struct ulp_error *error)
{
    if (!side->part->numbers) {
        side->places = trace->cotangents + side->part->start;
        return ULP_OK;
    }
    ULP_TRY(ulp_allocate_zero(&side->places, side->part->tensor.count, sizeof *side->places,
                              trace->budget, "cotangents of a contraction", error));
    return ULP_OK;
}

/* handed: it has come so far that the elements are handed on. */
static void close_places(struct ulp_trace *trace, const struct side *side, bool handed)
{
    const size_t *numbers = side->part->numbers;
    if (!numbers)
        return;
    for (size_t i = 0; handed && i < side->part->tensor.count; i++)
        if (numbers[i] != ULP_NO_NUMBER && !(side->own->padding && side->own->padding[i]))
            trace->cotangents[numbers[i]] += side->places[i];
    ulp_free(side->places);
}

static enum ulp_status reverse_factor(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                      bool second, struct ulp_error *error)
{
    const struct ulp_contraction *p = &gate->problem;
    struct side side = {.part = &gate->parts[second],
                        .own = second ? &p->b : &p->a,
                        .other = second ? &p->a : &p->b,
                        .lines = second ? p->n : p->m,
                        .others = second ? p->m : p->n};
    const enum ulp_element element = side.other->tensor->element;
    const bool single =
        side.others == 1 && (element == ULP_ELEMENT_F32 || element == ULP_ELEMENT_F64);
    const size_t most = ULP_TUNE_REVERSE_ELEMENTS / p->k + 1,
                 lines = ulp_size_min(side.lines, most),
                 batches = lines < side.lines ? 1 : ulp_size_min(p->batch_count, most / lines + 1);
    if (!make_tables(trace, p, second, lines, &side) ||
        (single && !(side.products = ulp_arena_take(trace->arena, p->k, sizeof *side.products))))
        return ulp_trace_fail(error);
    enum ulp_status status =
        ulp_allocate(&side.owed, single ? 0 : batches * lines * p->k, sizeof *side.owed,
                     trace->budget, "cotangents of a contraction", error);
    ULP_THEN(status, open_places(trace, &side, error));
    side.adjacent = true;
    for (size_t k = 1; k < p->k; k++)
        side.adjacent = side.adjacent && side.own->k_offset[k] == side.own->k_offset[k - 1] + 1;
    for (size_t g = 0; g < p->batch_count && status == ULP_OK; g += batches)
        for (size_t i = 0; i < side.lines && status == ULP_OK; i += lines)
            status = reverse_lines(trace, gate, &side, g, ulp_size_min(batches, p->batch_count - g),
                                   i, ulp_size_min(lines, side.lines - i), error);
    close_places(trace, &side, status == ULP_OK);
    ulp_free(side.owed);
    return status;
}

enum ulp_status ulp_gate_reverse_contraction(struct ulp_trace *trace,
                                             const struct ulp_trace_gate *gate,
                                             struct ulp_error *error)
{
    const struct ulp_contraction *p = &gate->problem;
    if (!ulp_trace_is_owed(trace, gate->start, p->batch_count * p->m * p->n))
        return ULP_OK;
    for (int f = 0; f < 2; f++)
        if (gate->parts[f].named) {
            ULP_TRY(ulp_part_resolve(trace, &gate->parts[1 - f], error));
            ULP_TRY(reverse_factor(trace, gate, f, error));
        }
    return ULP_OK;
}
