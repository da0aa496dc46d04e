/* Which arithmetic gave these bits: the cases, the sieve over all candidates, and the nearest. */
#include <stdlib.h>
#include <string.h>

#include "analysis/fit/fit.h"
#include "analysis/measure/judge.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/text/text.h"

enum { NEAREST = 4, NEAREST_OF_NONE = 8, NEAREST_SAMPLED = 32 };

/* ---- cases ---- */

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The formats that the operands (or the results) of all products can have, and that are wanted. */
static size_t common_formats(const struct ulp_fit_product *products, size_t count, bool results,
                             const char *wanted, const char *names[ULP_FIT_FORMATS])
{
    const char *found[ULP_FIT_FORMATS], *other[ULP_FIT_FORMATS];
    const size_t found_count = results ? ulp_fit_result_formats(products[0].c, found)
                                       : ulp_fit_operand_formats(products[0].a, found);
    size_t kept = 0;
    for (size_t f = 0; f < found_count; f++) {
        bool everywhere = !wanted || strcmp(found[f], wanted) == 0;
        for (size_t p = 1; p < count && everywhere; p++) {
            const size_t others = results ? ulp_fit_result_formats(products[p].c, other)
                                          : ulp_fit_operand_formats(products[p].a, other);
            everywhere = is_among(found[f], other, others);
        }
        if (everywhere)
            names[kept++] = found[f];
    }
    return kept;
}

/* Whether a library computes such a result of such operands. */
static bool is_computed(const char *operands, const char *result, bool exact)
{
    const bool eight = strncmp(operands, "fp8", 3) == 0;
    if (strcmp(result, "fp64") == 0 || strcmp(operands, "fp64") == 0)
        return strcmp(operands, result) == 0;
    if (eight && !exact)
        return false;
    return strcmp(operands, result) == 0 || strcmp(result, "fp32") == 0 ||
           (eight && strncmp(result, "fp8", 3) != 0);
}

static bool all_hold(const struct ulp_fit_product *products, size_t count, const char *format)
{
    for (size_t p = 0; p < count; p++)
        if (ulp_type_is_float(products[p].a->type) &&
            !(ulp_fit_holds(format, products[p].a) && ulp_fit_holds(format, products[p].b)))
            return false;
    return true;
}

/* Values that are given as floats are the same in every case; so are their chains. */
static bool has_chains(const struct ulp_fit_problem *problem, bool patterns, const char *operands,
                       const char *result)
{
    for (size_t c = 0; c < problem->case_count; c++)
        if (problem->cases[c].chains && strcmp(problem->cases[c].result, result) == 0 &&
            (!patterns || strcmp(problem->cases[c].operands, operands) == 0))
            return true;
    return false;
}

static enum ulp_status make_cases(struct ulp_fit_problem *problem,
                                  const struct ulp_fit_product *products,
                                  const struct ulp_fit_options *options, struct ulp_error *error)
{
    const char *operands[ULP_FIT_FORMATS], *results[ULP_FIT_FORMATS];
    const size_t operand_count =
        common_formats(products, problem->product_count, false, options->operands, operands);
    const size_t result_count =
        common_formats(products, problem->product_count, true, options->result, results);
    const bool patterns = !ulp_type_is_float(products[0].a->type);
    for (size_t o = 0; o < operand_count; o++) {
        const bool exact = all_hold(products, problem->product_count, operands[o]);
        for (size_t r = 0; r < result_count; r++) {
            if (!is_computed(operands[o], results[r], exact))
                continue;
            const bool whole = exact || strcmp(operands[o], results[r]) == 0;
            problem->cases[problem->case_count] =
                (struct ulp_fit_case){.operands = operands[o],
                                      .result = results[r],
                                      .exact = exact,
                                      .chains = whole && !has_chains(problem, patterns, operands[o],
                                                                     results[r])};
            problem->case_count++;
        }
    }
    if (problem->case_count)
        return ULP_OK;
    return ulp_fail(error, ULP_ERROR_USAGE,
                    "no library multiplies operands of %s into results of %s: a is %s, c is %s",
                    options->operands ? options->operands : "this type",
                    options->result ? options->result : "that type",
                    ulp_type_name(products[0].a->type), ulp_type_name(products[0].c->type));
}

/* ---- the problem ---- */

static void free_problem(struct ulp_fit_problem *problem)
{
    for (size_t i = 0; i < problem->product_count * problem->case_count && problem->values; i++) {
        ulp_tensor_free(&problem->values[i].a);
        ulp_tensor_free(&problem->values[i].b);
        ulp_tensor_free(&problem->values[i].c);
    }
    ulp_free(problem->values);
    ulp_free(problem->shapes);
}

/* A tensor's values under a case: decoded, or what an earlier case decoded alike. */
static enum ulp_status decode_part(struct ulp_fit_problem *problem, size_t product, size_t at,
                                   const struct ulp_tensor *tensor, bool transposed, size_t offset,
                                   bool result, struct ulp_error *error)
{
    struct ulp_fit_values *values = &problem->values[product * problem->case_count];
    struct ulp_tensor *out = (struct ulp_tensor *)(void *)((char *)&values[at] + offset);
    const bool alike = ulp_type_is_float(tensor->type);
    const char *format = result ? problem->cases[at].result : problem->cases[at].operands;
    for (size_t c = 0; c < at; c++)
        if (alike ||
            strcmp(result ? problem->cases[c].result : problem->cases[c].operands, format) == 0) {
            *out = *(struct ulp_tensor *)(void *)((char *)&values[c] + offset);
            out->owned = false;
            return ULP_OK;
        }
    return ulp_fit_decode(out, tensor, transposed, format, error);
}

static enum ulp_status make_problem(struct ulp_fit_problem *problem,
                                    const struct ulp_fit_product *products, size_t count,
                                    const struct ulp_fit_options *options, struct ulp_error *error)
{
    *problem =
        (struct ulp_fit_problem){.product_count = count, .thread_count = options->thread_count};
    ULP_TRY(ulp_allocate((void **)&problem->shapes, count, sizeof *problem->shapes, NULL, "shapes",
                         error));
    for (size_t p = 0; p < count; p++) {
        ULP_TRY(ulp_fit_measure(&products[p], &problem->shapes[p], error));
        if (products[p].a->type != products[0].a->type)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "the products' operands are %s and %s: expected one type",
                            ulp_type_name(products[0].a->type), ulp_type_name(products[p].a->type));
    }
    ULP_TRY(make_cases(problem, products, options, error));
    ULP_TRY(ulp_allocate_zero((void **)&problem->values, count * problem->case_count,
                              sizeof *problem->values, NULL, "products", error));
    for (size_t p = 0; p < count; p++)
        for (size_t c = 0; c < problem->case_count; c++) {
            const struct ulp_fit_product *product = &products[p];
            ULP_TRY(decode_part(problem, p, c, product->a, product->transposed_a,
                                offsetof(struct ulp_fit_values, a), false, error));
            ULP_TRY(decode_part(problem, p, c, product->b, product->transposed_b,
                                offsetof(struct ulp_fit_values, b), false, error));
            ULP_TRY(decode_part(problem, p, c, product->c, false,
                                offsetof(struct ulp_fit_values, c), true, error));
        }
    return ULP_OK;
}

/* ---- the sieve's stages ---- */

static int by_score(const void *left, const void *right)
{
    const struct ulp_fit_score *a = left, *b = right;
    return a->equal != b->equal ? (a->equal < b->equal ? 1 : -1)
                                : (a->way > b->way) - (a->way < b->way);
}

static size_t count_commas(const char *name)
{
    size_t count = 0;
    for (; *name; name++)
        count += *name == ',';
    return count;
}

static int by_name(const void *left, const void *right)
{
    const struct ulp_fit_candidate *a = left, *b = right;
    const size_t x = count_commas(a->name), y = count_commas(b->name);
    if (x != y)
        return x < y ? -1 : 1;
    const size_t l = strlen(a->name), m = strlen(b->name);
    return l != m ? (l < m ? -1 : 1) : strcmp(a->name, b->name);
}

static int by_equal(const void *left, const void *right)
{
    const struct ulp_fit_candidate *a = left, *b = right;
    return a->equal != b->equal ? (a->equal < b->equal ? 1 : -1) : by_name(left, right);
}

struct fitting {
    struct ulp_fit_problem problem;
    struct ulp_fit_ways ways;
    struct ulp_fit_score *scores; /* of all ways */
    struct ulp_fit_candidate *candidates;
    size_t count, capacity;
    uint8_t *differs; /* of the last ones, when none is consistent */
};

static enum ulp_status add_candidate(struct fitting *fitting, size_t way, uint8_t *differs,
                                     struct ulp_error *error)
{
    ULP_TRY(ulp_grow(&fitting->candidates, fitting->count, &fitting->capacity,
                     sizeof *fitting->candidates, NULL, "candidates", error));
    ULP_TRY(ulp_fit_score_all(&fitting->problem, &fitting->ways, way,
                              &fitting->candidates[fitting->count], differs, error));
    fitting->count++;
    return ULP_OK;
}

/* All ways on the first sample, what gave it all on the second, what gave that on everything. What
 * a stage rejects keeps that stage's score. `left`: ways that were not rejected by a sample, at the
 * front of the scores. */
static enum ulp_status sieve(struct fitting *fitting, size_t *left, struct ulp_error *error)
{
    *left = fitting->ways.count;
    for (size_t i = 0; i < *left; i++)
        fitting->scores[i] = (struct ulp_fit_score){.way = i};
    for (int stage = 0; stage < ULP_FIT_STAGES; stage++) {
        size_t total, passed = 0;
        ULP_TRY(ulp_fit_score_sample(&fitting->problem, &fitting->ways, stage, fitting->scores,
                                     *left, &total, error));
        qsort(fitting->scores, *left, sizeof *fitting->scores, by_score);
        while (passed < *left && fitting->scores[passed].equal == total)
            passed++;
        *left = passed;
    }
    for (size_t i = 0; i < *left; i++)
        ULP_TRY(add_candidate(fitting, fitting->scores[i].way, NULL, error));
    return ULP_OK;
}

/* The nearest of the ways that a sample rejected. Those of the first stage are compared on the
 * second sample. */
static enum ulp_status add_nearest(struct fitting *fitting, size_t left, size_t wanted,
                                   size_t elements, struct ulp_error *error)
{
    struct ulp_fit_score *rejected = fitting->scores + left;
    size_t count = fitting->ways.count - left, total;
    /* what the second stage rejected stands before what the first did */
    count = ulp_size_min(count, NEAREST_SAMPLED);
    ULP_TRY(
        ulp_fit_score_sample(&fitting->problem, &fitting->ways, 1, rejected, count, &total, error));
    qsort(rejected, count, sizeof *rejected, by_score);
    count = ulp_size_min(count, wanted);
    if (wanted == NEAREST_OF_NONE)
        ULP_TRY(ulp_allocate((void **)&fitting->differs, count * elements, 1, NULL, "differences",
                             error));
    for (size_t i = 0; i < count; i++)
        ULP_TRY(add_candidate(fitting, rejected[i].way,
                              fitting->differs ? fitting->differs + i * elements : NULL, error));
    return ULP_OK;
}

/* Two of the candidates, one of which gives each element. */
static void find_parts(const struct fitting *fitting, size_t elements, struct ulp_text *text)
{
    const struct ulp_fit_candidate *candidates = fitting->candidates;
    for (size_t a = 0; a < fitting->count; a++)
        for (size_t b = a + 1; b < fitting->count; b++) {
            size_t i = 0;
            while (i < elements &&
                   !(fitting->differs[a * elements + i] && fitting->differs[b * elements + i]))
                i++;
            if (i < elements)
                continue;
            ulp_text_add(text,
                         "every element has the bits of %s or of %s, which differ in rows %zu to "
                         "%zu and columns %zu to %zu: the kernel's schedule depends on the tile",
                         candidates[a].name, candidates[b].name, candidates[b].first_row,
                         candidates[b].last_row, candidates[b].first_column,
                         candidates[b].last_column);
            return;
        }
}

/* ---- the result ---- */

static char *keep(struct ulp_arena *memory, const char *text)
{
    return ulp_arena_text(memory, text, strlen(text));
}

static enum ulp_status read_order(struct fitting *fitting, struct ulp_fit *out,
                                  struct ulp_error *error)
{
    const struct ulp_fit_problem *problem = &fitting->problem;
    enum ulp_status status = ULP_OK;
    for (size_t p = 0; p < problem->product_count; p++)
        for (size_t c = 0; c < problem->case_count && status == ULP_OK && !out->order; c++) {
            char *words = NULL;
            status = ulp_fit_order_read(&problem->values[p * problem->case_count + c],
                                        &problem->cases[c], &problem->shapes[p], &words, error);
            if (words && !(out->order = keep(out->memory, words)))
                status = ulp_out_of_memory(error);
            free(words);
        }
    return status;
}

static enum ulp_status settle(struct fitting *fitting, struct ulp_fit *out, struct ulp_error *error)
{
    while (out->consistent < fitting->count && fitting->candidates[out->consistent].consistent)
        out->consistent++;
    qsort(fitting->candidates, out->consistent, sizeof *fitting->candidates, by_name);
    qsort(fitting->candidates + out->consistent, fitting->count - out->consistent,
          sizeof *fitting->candidates, by_equal);
    out->count = ulp_size_min(fitting->count,
                              out->consistent + (out->consistent ? NEAREST : NEAREST_OF_NONE));
    ULP_TAKE(out->candidates, out->memory, out->count, error);
    memcpy(out->candidates, fitting->candidates, out->count * sizeof *out->candidates);
    return read_order(fitting, out, error);
}

static int by_consistency(const void *left, const void *right)
{
    const struct ulp_fit_candidate *a = left, *b = right;
    return (int)b->consistent - (int)a->consistent;
}

static enum ulp_status find(struct fitting *fitting, struct ulp_fit *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text parts = {0};
    size_t left = 0, consistent = 0;
    for (size_t p = 0; p < fitting->problem.product_count; p++)
        out->elements += fitting->problem.shapes[p].m * fitting->problem.shapes[p].n;
    ULP_TRY(ulp_allocate((void **)&fitting->scores, fitting->ways.count, sizeof *fitting->scores,
                         NULL, "candidates", error));
    ULP_TRY(sieve(fitting, &left, error));
    for (size_t i = 0; i < fitting->count; i++)
        consistent += fitting->candidates[i].consistent;
    if (!consistent) /* what passed the samples is among the nearest */
        fitting->count = left = 0;
    ULP_TRY(
        add_nearest(fitting, left, consistent ? NEAREST : NEAREST_OF_NONE, out->elements, error));
    if (!consistent)
        find_parts(fitting, out->elements, &parts);
    if (parts.failed || (parts.data && !(out->parts = keep(out->memory, parts.data))))
        return ulp_out_of_memory(error);
    if (fitting->count)
        qsort(fitting->candidates, fitting->count, sizeof *fitting->candidates, by_consistency);
    return settle(fitting, out, error);
}

static enum ulp_status check_gpu(const char *gpu, struct ulp_error *error)
{
    const struct ulp_unit *unit;
    for (size_t i = 0; gpu && (unit = ulp_unit_row(i)) != NULL; i++)
        if (strcmp(unit->gpu, ulp_unit_gpu(gpu)) == 0)
            return ULP_OK;
    return gpu ? ulp_fail(error, ULP_ERROR_USAGE,
                          "GPU \"%s\": there is none of that name; `ulpscope mma --list` shows all",
                          gpu)
               : ULP_OK;
}

/* Where no result is finite every candidate gives it, and none is the answer. */
static enum ulp_status check_results(const struct ulp_fit_product *products, size_t count,
                                     struct ulp_error *error)
{
    for (size_t p = 0; p < count; p++)
        if (ulp_judge_reference(products[p].c) != ULP_CROSSED_NOTHING)
            return ULP_OK;
    return ulp_judge_fail(&(struct ulp_unjudged){.name = "c",
                                                 .reason = ulp_judge_reason(ULP_CROSSED_NOTHING)},
                          error);
}

enum ulp_status ulp_fit_run(const struct ulp_fit_product *products, size_t count,
                            const struct ulp_fit_options *options, struct ulp_fit *out,
                            struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    *out = (struct ulp_fit){.product_count = count};
    ULP_OPTIONS_TAKE(ulp_fit_options, options, error);
    const double started = ulp_seconds_now();
    struct fitting fitting = {0};
    if (!count)
        return ulp_fail(error, ULP_ERROR_USAGE, "no products");
    enum ulp_status status = check_results(products, count, error);
    if (status == ULP_OK)
        status = check_gpu(options->gpu, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&out->memory, NULL, error);
    if (status == ULP_OK)
        status = make_problem(&fitting.problem, products, count, options, error);
    if (status == ULP_OK)
        status = ulp_fit_ways_make(&fitting.ways, fitting.problem.cases, fitting.problem.case_count,
                                   fitting.problem.shapes, count, options->gpu, error);
    out->tried = fitting.ways.count;
    if (status == ULP_OK)
        status = find(&fitting, out, error);
    out->seconds = ulp_seconds_now() - started;
    ulp_fit_ways_free(&fitting.ways);
    ulp_free(fitting.scores);
    ulp_free(fitting.candidates);
    ulp_free(fitting.differs);
    free_problem(&fitting.problem);
    if (status != ULP_OK)
        ulp_fit_free(out);
    return status;
}

void ulp_fit_free(struct ulp_fit *fit)
{
    ulp_arena_free(fit->memory);
    *fit = (struct ulp_fit){0};
}
