/* A tile's sums: through the segments of k that an arithmetic's schedule cuts it into (slices,
 * promoted chains, blocks of a sum), and to their places in the output. */
#include "kernels/chain/block.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "base/tuning.h"
#include "number/round/round.h"

/* Sums of slices and of promoted chains are FP32, or the accumulator's when that is wider. */
static struct ulp_format partial_format(const struct ulp_format *sum)
{
    struct ulp_format fp32;
    return ulp_format_find("fp32", &fp32, NULL) == ULP_OK && ulp_format_holds(&fp32, sum) ? fp32
                                                                                          : *sum;
}

/* Add a cut unless its segments would be the whole of what they lie in, and that is not added to
 * what is there. */
static void add_cut(struct ulp_chains *chains, size_t length, size_t enclosing, bool onto,
                    const struct ulp_format *format)
{
    struct ulp_cuts *cuts = &chains->cuts;
    if (length == 0 || (length >= enclosing && !onto))
        return;
    cuts->length[cuts->level_count] = length;
    cuts->partial[cuts->level_count++] = ulp_step_rule_partial(&chains->rule, format);
    chains->result = *format;
}

struct ulp_chains ulp_chains_make(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem)
{
    const struct ulp_schedule *schedule = &arithmetic->schedule;
    struct ulp_chains chains = {
        .rule = ulp_step_rule_make(arithmetic),
        .pairwise = arithmetic->order == ULP_ORDER_PAIRWISE,
        .result = arithmetic->accumulator,
    };
    chains.rule.stream = problem->node_key;
    size_t split = schedule->split_k > 1 ? (size_t)schedule->split_k : 1;
    size_t slice = ulp_size_divide_up(problem->k, split);
    if (split > 1 && schedule->slice_tile)
        slice = ulp_size_round_up(slice, (size_t)schedule->slice_tile);
    size_t promoted = schedule->promote > 0 && (size_t)schedule->promote < slice
                          ? (size_t)schedule->promote
                          : slice;
    size_t block = arithmetic->order == ULP_ORDER_BLOCKED ? (size_t)arithmetic->order_block : 0;
    const bool partial = promoted < slice || slice < problem->k;
    struct ulp_format wide =
        partial ? partial_format(&arithmetic->accumulator) : arithmetic->accumulator;
    bool each_step = arithmetic->place == ULP_ROUND_EACH_STEP;
    chains.stored = schedule->partials && slice < problem->k ? &arithmetic->storage : NULL;
    add_cut(&chains, block, promoted, problem->onto, &arithmetic->accumulator);
    add_cut(&chains, promoted, slice, false, &wide);
    add_cut(&chains, slice, problem->k, false,
            each_step                         ? &chains.result
            : chains.stored && problem->store ? chains.stored /* else a bias follows */
                                              : &wide);
    return chains;
}

/* x += y, strips of n elements of the job's type, in the rule's steps. */
static void add_partial(const struct ulp_step_rule *rule, enum ulp_element element, void *x,
                        const void *y, size_t n, struct ulp_draw draw)
{
    const struct ulp_step_row *step = &ulp_step_rows[rule->step];
    enum ulp_element wanted = ulp_step_element(rule->step);
    if (wanted == element) {
        step->add(rule, x, x, y, n, draw);
        return;
    }
    float narrow[2][ULP_TILE_COLUMNS_MAX];
    double wide[2][ULP_TILE_COLUMNS_MAX];
    for (size_t i = 0; i < n; i++) {
        wide[0][i] = element == ULP_ELEMENT_F32 ? (double)((float *)x)[i] : ((double *)x)[i];
        wide[1][i] =
            element == ULP_ELEMENT_F32 ? (double)((const float *)y)[i] : ((const double *)y)[i];
        narrow[0][i] = (float)wide[0][i];
        narrow[1][i] = (float)wide[1][i];
    }
    if (wanted == ULP_ELEMENT_F32)
        step->add(rule, narrow[0], narrow[0], narrow[1], n, draw);
    else
        step->add(rule, wide[0], wide[0], wide[1], n, draw);
    for (size_t i = 0; i < n; i++) {
        double sum = wanted == ULP_ELEMENT_F32 ? (double)narrow[0][i] : wide[0][i];
        if (element == ULP_ELEMENT_F32)
            ((float *)x)[i] = (float)sum;
        else
            ((double *)x)[i] = sum;
    }
}

/* The segments of every level that k lies in; [level_count] is the whole. */
struct segments {
    size_t begin[ULP_CUT_LEVELS + 1], end[ULP_CUT_LEVELS + 1];
};

static struct segments find_segments(const struct ulp_cuts *cuts, size_t k_count, size_t k)
{
    struct segments segments = {0};
    segments.end[cuts->level_count] = k_count;
    for (int level = cuts->level_count - 1; level >= 0; level--) {
        size_t begin = segments.begin[level + 1], end = segments.end[level + 1],
               length = cuts->length[level];
        segments.begin[level] = begin + (k - begin) / length * length;
        segments.end[level] =
            segments.begin[level] + ulp_size_min(length, end - segments.begin[level]);
    }
    return segments;
}

/* Sums of slices as values of storage. */
static void store_partial(const struct ulp_chains_job *job, void *sums, size_t count, size_t k,
                          struct ulp_tile_place place)
{
    const struct ulp_step_rule *rule = &job->chains->rule;
    const uint64_t first = place.output + k;
    for (size_t i = 0; i < count; i += ULP_TILE_COLUMNS_MAX) {
        const size_t n = ulp_size_min(count - i, ULP_TILE_COLUMNS_MAX);
        if (job->element == ULP_ELEMENT_F32)
            ulp_round_floats(job->chains->stored, rule->rounding, (float *)sums + i, n, rule->seed,
                             rule->stream, first);
        else
            ulp_round_doubles(job->chains->stored, rule->rounding, (double *)sums + i, n,
                              rule->seed, rule->stream, first);
    }
}

/* The outputs of the tile as they are; lines of padding have none. */
static void load_outputs(const struct ulp_chains_job *job, float *sums, size_t row_count,
                         struct ulp_tile_place place)
{
    const struct ulp_contraction *problem = job->problem;
    const size_t column = place.output % job->row_pitch, line = place.output / job->row_pitch,
                 row = line % job->row_count, batch = line / job->row_count,
                 rows = ulp_size_min(row_count, job->row_count - row),
                 columns = ulp_size_min(job->tile_columns, job->column_count - column);
    const float *out = (const float *)problem->out->data +
                       (problem->out_batch_offset ? problem->out_batch_offset[batch] : 0);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            sums[i * job->tile_columns + j] =
                out[job->out_row[row + i] + job->out_column[column + j]];
}

/* Add the sums of the segments that end with the innermost one to those they lie in. */
static void close_segments(const struct ulp_chains_job *job, char *sums, size_t row_count,
                           const struct segments *segments, struct ulp_tile_place place)
{
    const struct ulp_cuts *cuts = &job->chains->cuts;
    size_t strip = job->tile_columns * job->element_bytes;
    for (int level = 0; level < cuts->level_count && segments->end[level] == segments->end[0];
         level++) {
        char *inner = sums + (size_t)level * job->tile_bytes, *outer = inner + job->tile_bytes;
        if (job->chains->stored && level == cuts->level_count - 1)
            store_partial(job, inner, row_count * job->tile_columns, segments->end[0], place);
        const bool first = segments->begin[level] == segments->begin[level + 1];
        if (first && job->problem->onto) { /* of one level, of floats */
            memset(outer, 0, row_count * strip);
            load_outputs(job, (float *)outer, row_count, place);
        } else if (first) {
            memcpy(outer, inner, row_count * strip);
            continue;
        }
        struct ulp_draw draw = {.first = place.output,
                                .number = segments->end[0] * ULP_DRAWS + ULP_DRAW_PARTIAL +
                                          (unsigned)level};
        for (size_t i = 0; i < row_count; i++, draw.first += place.row_pitch)
            add_partial(&cuts->partial[level], job->element, outer + i * strip, inner + i * strip,
                        job->tile_columns, draw);
    }
}

/* Go on with one tile through k in [first, last), whose panels begin at k = first. */
void ulp_chains_run_tile(const struct ulp_chains_job *job, char *sums, size_t row_count,
                         const char *rows, const char *columns, size_t first, size_t last,
                         struct ulp_tile_place place, void *stack)
{
    const struct ulp_chains *chains = job->chains;
    if (chains->cuts.level_count == 0 && !chains->pairwise) {
        place.k = first;
        if (first == 0)
            memset(sums, 0, row_count * job->tile_columns * job->element_bytes);
        job->tile->run[row_count](&chains->rule, sums, rows, columns, last - first, place);
        return;
    }
    for (size_t k = first; k < last;) {
        struct segments segments = find_segments(&chains->cuts, job->k_count, k);
        size_t end = ulp_size_min(segments.end[0], last);
        const char *a = rows + (k - first) * row_count * job->element_bytes;
        const char *b = columns + (k - first) * job->tile_columns * job->element_bytes;
        place.k = k;
        if (k == segments.begin[0])
            memset(sums, 0, job->tile_bytes);
        if (chains->pairwise)
            ulp_pairwise(&chains->rule, sums, a, b, row_count, job->tile_columns, end - k, place,
                         stack);
        else
            job->tile->run[row_count](&chains->rule, sums, a, b, end - k, place);
        if (end == segments.end[0])
            close_segments(job, sums, row_count, &segments, place);
        k = end;
    }
}

struct ulp_tile_place ulp_chains_place(const struct ulp_chains_job *job, size_t batch, size_t row,
                                       size_t column)
{
    return (struct ulp_tile_place){.output =
                                       (batch * job->row_count + row) * job->row_pitch + column,
                                   .row_pitch = job->row_pitch};
}

void ulp_chains_store_tile(const struct ulp_chains_job *job, char *sums, size_t batch, size_t row,
                           size_t row_count, size_t column, size_t column_count)
{
    size_t strip = job->tile_columns * job->element_bytes;
    char *result = sums + (size_t)job->chains->cuts.level_count * job->tile_bytes;
    int64_t base = job->problem->out_batch_offset ? job->problem->out_batch_offset[batch] : 0;
    struct ulp_draw draw = {.first = ulp_chains_place(job, batch, row, column).output,
                            .number = job->k_count * ULP_DRAWS + ULP_DRAW_STORE};
    const int64_t *out_column = job->out_column + column;
    const bool run = ulp_output_is_run(out_column, column_count);
    for (size_t i = 0; i < row_count; i++, draw.first += job->row_pitch)
        ulp_output_strip(&job->output, base + job->out_row[row + i], out_column, run,
                         result + i * strip, column_count, draw);
}

/* Is any of the tile's sums NaN? Columns beyond the last are sums of zeros. */
bool ulp_chains_has_nan(const struct ulp_chains_job *job, const char *sums, size_t row_count)
{
    const void *result = sums + (size_t)job->chains->cuts.level_count * job->tile_bytes;
    size_t count = row_count * job->tile_columns;
    int found = 0;
    for (size_t i = 0; i < count && job->element == ULP_ELEMENT_F32; i++)
        found |= ((const float *)result)[i] != ((const float *)result)[i];
    for (size_t i = 0; i < count && job->element == ULP_ELEMENT_F64; i++)
        found |= ((const double *)result)[i] != ((const double *)result)[i];
    return found;
}
