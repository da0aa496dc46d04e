/* Where queries, keys, values and masks of attention that a graph writes out lie: batches and heads
 * of a MatMul's leading dimensions or an Einsum's letters. */
#include <string.h>

#include "run/idiom/idiom_read.h"
#include "run/program/written.h"

/* Leading dimensions of a factor or mask beside those of the scores: how many batches and heads it
 * has, of which each is all of them, one for all, or (heads) one for several neighbours. */
static bool split_lead(const struct ulp_written_search *f, const struct ulp_tensor *t, int behind,
                       const struct ulp_tensor *full, int64_t *batch, int64_t *heads)
{
    const int rank = full->rank - 2, own = t->rank - behind, less = rank - own;
    int64_t all = 1, mine = 1;
    int d = 0;
    bool fits = own <= rank, ended = false;
    *batch = *heads = 1;
    for (; fits && d < rank && all < f->batch; d++) {
        const int64_t here = d < less ? 1 : t->dims[d - less];
        all *= full->dims[d];
        mine *= here;
        fits = here == full->dims[d] || here == 1;
    }
    if (fits && all == f->batch * f->heads && mine == all && d == rank) { /* batches of heads */
        *batch = f->batch;
        *heads = f->heads;
        return true;
    }
    *batch = mine;
    fits = fits && (mine == 1 || mine == f->batch) && (all == f->batch || mine == 1);
    for (; fits && d < rank; d++) {
        const int64_t here = d < less ? 1 : t->dims[d - less];
        fits = here == 1 || (here == full->dims[d] && !ended);
        ended |= here != full->dims[d];
        *heads *= here;
    }
    return fits;
}

/* A factor of a MatMul: rows x columns of each head, rows being positions unless `turned`. */
static bool place_factor(const struct ulp_written_search *f, const struct ulp_tensor *t,
                         const struct ulp_tensor *full, bool turned, struct ulp_heads *out)
{
    int64_t batch, heads;
    if (t->rank < 2 || full->rank < 2 || !split_lead(f, t, 2, full, &batch, &heads))
        return false;
    const int64_t rows = t->dims[t->rank - 2], columns = t->dims[t->rank - 1];
    *out = turned ? ulp_heads_first(batch, heads, columns, rows)
                  : ulp_heads_first(batch, heads, rows, columns);
    if (turned) {
        out->step = 1;
        out->across = columns;
    }
    out->batch_step = batch == f->batch ? out->batch_step : 0;
    out->batch = f->batch;
    return true;
}

bool ulp_written_place_operand(const struct ulp_written_search *f, const struct ulp_tensor *t,
                               const struct ulp_tensor *full, int64_t dims[4])
{
    struct ulp_tensor padded = *t;
    for (; padded.rank < 2; padded.rank++) { /* 1 in front */
        padded.dims[1] = padded.rank ? padded.dims[0] : 1;
        padded.dims[0] = 1;
    }
    if (t->type == ULP_TYPE_UNDEFINED || !split_lead(f, &padded, 2, full, &dims[0], &dims[1]))
        return false;
    dims[2] = padded.dims[padded.rank - 2];
    dims[3] = padded.dims[padded.rank - 1];
    return (dims[1] == 1 || dims[1] == f->heads) && (dims[2] == 1 || dims[2] == f->queries) &&
           (dims[3] == 1 || dims[3] == f->keys);
}

/* ---- Einsum ---- */

/* The letters of term `which` of two and a result, at most 8; false: it has others. */
static bool read_term(const char *equation, int which, char out[9])
{
    size_t count = 0;
    int term = 0;
    for (const char *c = equation; *c; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        term += *c == ',' || *c == '>';
        if (!letter && *c != ' ' && *c != ',' && *c != '-' && *c != '>')
            return false;
        if (letter && term == which && count == 8)
            return false;
        if (letter && term == which)
            out[count++] = *c;
    }
    out[count] = 0;
    return term == 2;
}

/* Where a factor with these letters lies: batch and heads are `lead`, one letter each; the position
 * is `at` and the feature `feature`. */
static bool place_term(const struct ulp_tensor *t, const char *letters, const char *lead, char at,
                       char feature, struct ulp_heads *out)
{
    int64_t *const steps[] = {&out->batch_step, &out->head_step, &out->step, &out->across},
                   *const sizes[] = {&out->batch, &out->heads, &out->length, &out->size};
    const char wanted[] = {lead[0], lead[1], at, feature};
    if (strlen(letters) != 4 || t->rank != 4)
        return false;
    for (int w = 0; w < 4; w++) {
        const char *c = strchr(letters, wanted[w]);
        if (!c || !wanted[w])
            return false;
        *sizes[w] = t->dims[c - letters];
        *steps[w] = 1;
        for (ptrdiff_t d = c - letters + 1; d < 4; d++)
            *steps[w] *= t->dims[d];
    }
    return true;
}

/* ---- both products ---- */

/* A product's own factors and result: its first is turned to (batch, head, position, feature); of
 * the scores the result is (batch, head, query, key). */
static bool place_product(const struct ulp_written_search *f, const struct ulp_step *step,
                          bool scores, struct ulp_heads *a, struct ulp_heads *b,
                          struct ulp_heads *y)
{
    const struct ulp_tensor *first = ulp_written_shape(f, step->inputs[0]),
                            *second = ulp_written_shape(f, step->inputs[1]),
                            *result = ulp_written_shape(f, step->outputs[0]);
    char terms[3][9];
    if (ulp_step_is(step, "MatMul"))
        return place_factor(f, first, result, false, a) &&
               place_factor(f, second, result, scores, b) &&
               place_factor(f, result, result, false, y);
    const struct ulp_attribute *equation = ulp_node_attribute(step->bound.node, "equation");
    for (int t = 0; t < 3; t++)
        if (!equation || !read_term(equation->s, t, terms[t]))
            return false;
    const char *weighed = scores ? terms[2] : terms[0]; /* b h q k */
    if (strlen(weighed) != 4)
        return false;
    char feature = 0;
    for (const char *c = terms[1]; *c; c++)
        feature = strchr(weighed, *c) ? feature : *c;
    if (scores)
        return place_term(first, terms[0], weighed, weighed[2], feature, a) &&
               place_term(second, terms[1], weighed, weighed[3], feature, b) &&
               place_term(result, weighed, weighed, weighed[2], weighed[3], y);
    return place_term(first, weighed, weighed, weighed[2], weighed[3], a) &&
           place_term(second, terms[1], weighed, weighed[3], feature, b) &&
           place_term(result, terms[2], weighed, weighed[2], feature, y);
}

/* Batches and heads: as many as the shape of the scores has that tells most of them. */
static void count_heads(struct ulp_written_search *f)
{
    const struct ulp_tensor *best = ulp_written_shape(f, f->block->steps[f->first].outputs[0]);
    for (size_t l = 0; l < f->length && best->rank < 4; l++) {
        const struct ulp_tensor *here =
            ulp_written_shape(f, f->block->steps[f->chain[l].step].outputs[0]);
        best = here->rank >= 4 ? here : best;
    }
    f->keys = best->dims[best->rank - 1];
    f->queries = best->rank > 1 ? best->dims[best->rank - 2] : 1;
    f->batch = best->rank >= 4 ? best->dims[0] : 1;
    f->heads = 1;
    for (int d = best->rank >= 4; d < best->rank - 2; d++)
        f->heads *= best->dims[d];
}

const char *ulp_written_place(struct ulp_written_search *f)
{
    struct ulp_written *out = f->out;
    const struct ulp_step *second = &f->block->steps[out->steps[0]],
                          *first = &f->block->steps[f->first];
    struct ulp_heads *q = &out->layout[0], *k = &out->layout[1], *v = &out->layout[2],
                     *y = &out->layout[3], scores, weights;
    const enum ulp_type type = ulp_written_shape(f, first->inputs[0])->type;
    count_heads(f);
    if (ulp_written_shape(f, first->inputs[1])->type != type ||
        ulp_written_shape(f, second->inputs[1])->type != type || !ulp_type_is_float(type))
        return "its shapes or types are not known to be alike";
    if (f->heads == 0 || f->batch == 0)
        return "it has no heads";
    if (!place_product(f, first, true, q, k, &scores) ||
        !place_product(f, second, false, &weights, v, y))
        return "its factors are no batches of heads";
    q->head_step = q->heads == 1 ? 0 : q->head_step;
    q->heads = q->heads == 1 ? f->heads : q->heads;
    struct ulp_heads *fewer = k->heads == 1 ? k : v;
    if (k->heads != v->heads && fewer->heads == 1) {
        fewer->head_step = 0;
        fewer->heads = fewer == k ? v->heads : k->heads;
    }
    const bool fits = q->batch == f->batch && q->heads == f->heads && k->batch == f->batch &&
                      v->batch == f->batch && k->heads == v->heads && f->heads % k->heads == 0 &&
                      scores.heads == f->heads && weights.heads == f->heads &&
                      y->heads == f->heads && q->across <= 1 && v->across <= 1 && y->across <= 1;
    const bool long_alike = q->length == f->queries && scores.length == f->queries &&
                            weights.length == f->queries && y->length == f->queries &&
                            k->length == f->keys && v->length == f->keys;
    return !fits         ? "its factors have different batches or heads"
           : !long_alike ? "its queries or keys are not as many on the way"
                         : NULL;
}
