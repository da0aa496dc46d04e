/* Einsum. One operand: a sum over rows, or a movement when nothing is summed. Two: one contraction.
 * More: from left to right. */
#include <string.h>

#include "base/error.h"
#include "ops/ops_move.h"

/* Letters by their code - 32, then the axes of "..." from the last one: ELLIPSIS + 0, 1, ... */
#define LABELS 96
#define ELLIPSIS (LABELS - ULP_RANK_MAX)

/* An operand as offsets: an index of label l moves strides[l] elements; has[l]: the label
 * occurs. */
struct labelled {
    const struct ulp_tensor *tensor;
    bool has[LABELS];
    int64_t strides[LABELS];
};

struct einsum {
    size_t count; /* of operands */
    int64_t sizes[LABELS];
    int order[ULP_RANK_MAX]; /* labels of the output */
    int rank;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int letter_label(char c)
{
    return c >= 'a' ? c - 'a' : c - 'A' + 26;
}

/* The labels of a term of `rank` axes (-1: of an output, whose "..." has ellipsis_rank axes). */
static enum ulp_status read_term(const char *term, size_t length, int rank, int ellipsis_rank,
                                 int *labels, int *count, struct ulp_error *error)
{
    int letters = 0;
    for (size_t i = 0; i < length; i++)
        letters += is_letter(term[i]);
    *count = 0;
    for (size_t i = 0; i < length; i++) {
        int hidden = rank >= 0 ? rank - letters : ellipsis_rank;
        if (term[i] == ' ')
            continue;
        if (is_letter(term[i]) && *count < ULP_RANK_MAX) {
            labels[(*count)++] = letter_label(term[i]);
        } else if (strncmp(term + i, "...", 3) == 0 && hidden >= 0 &&
                   *count + hidden <= ULP_RANK_MAX) {
            for (int e = hidden - 1; e >= 0; e--)
                labels[(*count)++] = ELLIPSIS + e;
            i += 2;
        } else {
            return ulp_fail(error, ULP_ERROR_INPUT, "the equation's term '%.*s' is not understood",
                            (int)length, term);
        }
    }
    return rank < 0 || *count == rank
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT, "the equation's term '%.*s' does not fit rank %d",
                          (int)length, term, rank);
}

static enum ulp_status read_operand(const struct ulp_tensor *tensor, const int *labels,
                                    struct labelled *out, struct einsum *e, struct ulp_error *error)
{
    int64_t strides[ULP_RANK_MAX];
    *out = (struct labelled){.tensor = tensor};
    ulp_strides(tensor, strides);
    for (int d = 0; d < tensor->rank; d++) {
        int64_t *size = &e->sizes[labels[d]], dim = tensor->dims[d];
        if (*size >= 0 && *size != dim && *size != 1 && dim != 1)
            return ulp_fail(error, ULP_ERROR_INPUT, "one label has sizes %lld and %lld",
                            (long long)*size, (long long)dim);
        *size = *size < 0 || *size == 1 ? dim : *size;
        out->has[labels[d]] = true;
        out->strides[labels[d]] += dim == 1 ? 0 : strides[d];
    }
    return ULP_OK;
}

/* Without "->": labels that occur once, in alphabetical order (upper case first), behind the
 * ellipsis. */
static void default_output(struct einsum *e, const int *seen)
{
    e->rank = 0;
    for (int l = LABELS - 1; l >= ELLIPSIS; l--)
        if (seen[l])
            e->order[e->rank++] = l;
    for (int upper = 1; upper >= 0; upper--)
        for (int l = 0; l < 26; l++)
            if (seen[l + 26 * upper] == 1 && e->rank < ULP_RANK_MAX)
                e->order[e->rank++] = l + 26 * upper;
}

static enum ulp_status read_einsum(const struct ulp_call *call, struct einsum *e,
                                   struct labelled *operands)
{
    const char *equation = ulp_call_attribute(call, "equation")->s, *arrow = strstr(equation, "->"),
               *term = equation;
    const char *end = arrow ? arrow : equation + strlen(equation);
    int labels[ULP_RANK_MAX], seen[LABELS] = {0}, count, ellipsis_rank = 0;
    *e = (struct einsum){.count = call->input_count};
    for (int l = 0; l < LABELS; l++)
        e->sizes[l] = -1;
    for (size_t i = 0; i < e->count; i++) {
        if (term > end)
            return ULP_REFUSE(call, "the equation '%s' has fewer terms than there are inputs",
                              equation);
        size_t length = strcspn(term, ",");
        length = length < (size_t)(end - term) ? length : (size_t)(end - term);
        ULP_TRY(read_term(term, length, call->in[i]->rank, 0, labels, &count, call->error));
        ULP_TRY(read_operand(call->in[i], labels, &operands[i], e, call->error));
        for (int d = 0; d < count; d++) {
            seen[labels[d]]++;
            if (labels[d] >= ELLIPSIS && labels[d] - ELLIPSIS + 1 > ellipsis_rank)
                ellipsis_rank = labels[d] - ELLIPSIS + 1;
        }
        term += length + 1;
    }
    if (term <= end)
        return ULP_REFUSE(call, "the equation '%s' has more terms than there are inputs", equation);
    if (!arrow) {
        default_output(e, seen);
        return ULP_OK;
    }
    ULP_TRY(read_term(arrow + 2, strlen(arrow + 2), -1, ellipsis_rank, e->order, &e->rank,
                      call->error));
    bool used[LABELS] = {false};
    for (int d = 0; d < e->rank; d++) {
        if (e->sizes[e->order[d]] < 0 || used[e->order[d]])
            return ULP_REFUSE(call,
                              "the output of '%s' has a label that no input has, or one twice",
                              equation);
        used[e->order[d]] = true;
    }
    return ULP_OK;
}

static enum ulp_status infer_einsum(struct ulp_call *call)
{
    struct einsum e;
    int64_t dims[ULP_RANK_MAX];
    ULP_CALL_TAKE(struct labelled, operands, call, call->input_count);
    ULP_TRY(read_einsum(call, &e, operands));
    for (int d = 0; d < e.rank; d++)
        dims[d] = e.sizes[e.order[d]];
    return ulp_call_describe(call, 0, call->in[0]->type, e.rank, dims);
}

/* Offsets of an operand over all indices of the labels, row-major. */
static enum ulp_status label_table(const struct ulp_call *call, const struct einsum *e,
                                   const struct labelled *operand, const int *labels, int count,
                                   int64_t **out)
{
    size_t total = 1;
    for (int l = 0; l < count; l++)
        if (!ulp_size_mul(total, (size_t)e->sizes[labels[l]], &total))
            return ulp_fail(call->error, ULP_ERROR_MEMORY, "too many elements");
    ULP_TRY(ulp_call_take(call, total, sizeof **out, out));
    for (size_t i = 0; i < total; i++) {
        size_t rest = i;
        for (int l = count - 1; l >= 0; l--) {
            (*out)[i] +=
                (int64_t)(rest % (size_t)e->sizes[labels[l]]) * operand->strides[labels[l]];
            rest /= (size_t)e->sizes[labels[l]];
        }
    }
    return ULP_OK;
}

static size_t count_indices(const struct einsum *e, const int *labels, int count)
{
    size_t total = 1;
    for (int l = 0; l < count; l++)
        total *= (size_t)e->sizes[labels[l]];
    return total;
}

static const struct ulp_formula summed_labels = {"x", "y", "row_sum(x)"};

static enum ulp_status sum_one(struct ulp_call *call, const struct einsum *e,
                               const struct labelled *in)
{
    int summed[LABELS], count = 0;
    int64_t *row, *position = NULL;
    for (int l = 0; l < LABELS; l++) {
        bool kept = false;
        for (int d = 0; d < e->rank; d++)
            kept = kept || e->order[d] == l;
        if (in->has[l] && !kept)
            summed[count++] = l;
    }
    ULP_TRY(label_table(call, e, in, e->order, e->rank, &row));
    if (count == 0)
        return ulp_move_blocks(&call->out[0], in->tensor, row, 1, NULL, call->pool, call->error);
    ULP_TRY(label_table(call, e, in, summed, count, &position));
    const struct ulp_rows rows = {.row_count = call->out[0].count,
                                  .row_length = count_indices(e, summed, count)};
    const struct ulp_named_operand x = {
        "x", {.tensor = in->tensor, .row_offset = row, .position_offset = position}};
    const struct ulp_named_operand y = {"y", {.tensor = &call->out[0], .row_stride = 1}};
    return ulp_call_formula(call, &summed_labels, call->arithmetic, &rows, 1, &x, 1, &y);
}

/* out = sum of a * b over the labels that out does not have. */
static enum ulp_status contract_two(struct ulp_call *call, const struct einsum *e,
                                    const struct labelled *a, const struct labelled *b,
                                    struct labelled *out, struct ulp_tensor *tensor)
{
    enum { BATCH, LINE_A, LINE_B, SUM, GROUPS };
    int labels[GROUPS][LABELS], counts[GROUPS] = {0};
    int64_t *at[GROUPS], *bt[GROUPS], *ot[GROUPS];
    for (int l = 0; l < LABELS; l++) {
        if (!a->has[l] && !b->has[l])
            continue;
        int group = !out->has[l]             ? SUM
                    : a->has[l] && b->has[l] ? BATCH
                    : a->has[l]              ? LINE_A
                                             : LINE_B;
        labels[group][counts[group]++] = l;
    }
    for (int g = 0; g < GROUPS; g++) {
        ULP_TRY(label_table(call, e, a, labels[g], counts[g], &at[g]));
        ULP_TRY(label_table(call, e, b, labels[g], counts[g], &bt[g]));
        ULP_TRY(label_table(call, e, out, labels[g], counts[g], &ot[g]));
    }
    if (tensor->count == 0)
        return ULP_OK;
    struct ulp_contraction problem = {
        .batch_count = count_indices(e, labels[BATCH], counts[BATCH]),
        .m = count_indices(e, labels[LINE_A], counts[LINE_A]),
        .n = count_indices(e, labels[LINE_B], counts[LINE_B]),
        .k = count_indices(e, labels[SUM], counts[SUM]),
        .a = {.tensor = a->tensor,
              .batch_offset = at[BATCH],
              .line_offset = at[LINE_A],
              .k_offset = at[SUM]},
        .b = {.tensor = b->tensor,
              .batch_offset = bt[BATCH],
              .line_offset = bt[LINE_B],
              .k_offset = bt[SUM]},
        .out = tensor,
        .store = true,
        .out_batch_offset = ot[BATCH],
        .out_row_offset = ot[LINE_A],
        .out_column_offset = ot[LINE_B],
    };
    return ulp_call_contract(call, &problem);
}

/* The product of the first operands keeps every label that a later operand or the output has. */
static enum ulp_status describe_partial(struct ulp_call *call, const struct einsum *e,
                                        const struct labelled *operands, size_t next,
                                        const struct labelled *left, struct labelled *out,
                                        struct ulp_tensor *tensor)
{
    int64_t dims[ULP_RANK_MAX], stride = 1;
    int kept[LABELS], rank = 0;
    for (int l = 0; l < LABELS; l++) {
        bool wanted = false;
        for (int d = 0; d < e->rank; d++)
            wanted = wanted || e->order[d] == l;
        for (size_t i = next + 1; i < e->count; i++)
            wanted = wanted || operands[i].has[l];
        if ((left->has[l] || operands[next].has[l]) && wanted)
            kept[rank++] = l;
    }
    ULP_TRY(ulp_check_rank((size_t)rank, call->error));
    *out = (struct labelled){.tensor = tensor};
    for (int d = rank - 1; d >= 0; d--) {
        dims[d] = e->sizes[kept[d]];
        out->has[kept[d]] = true;
        out->strides[kept[d]] = stride;
        stride = ulp_dim_mul(stride, dims[d]);
    }
    return ulp_call_make_here(call, tensor, call->in[0]->type, rank, dims);
}

static enum ulp_status run_einsum(struct ulp_call *call)
{
    struct einsum e;
    struct labelled *operands, final = {.tensor = &call->out[0]}, left;
    int64_t strides[ULP_RANK_MAX];
    ULP_TRY(ulp_call_take(call, call->input_count, sizeof *operands, &operands));
    ULP_CALL_TAKE(struct ulp_tensor, partial, call, call->input_count);
    ULP_TRY(read_einsum(call, &e, operands));
    if (call->out[0].count == 0)
        return ULP_OK;
    if (e.count == 1)
        return sum_one(call, &e, &operands[0]);
    ulp_strides(&call->out[0], strides);
    for (int d = 0; d < e.rank; d++) {
        final.has[e.order[d]] = true;
        final.strides[e.order[d]] = strides[d];
    }
    left = operands[0];
    for (size_t i = 1; i < e.count; i++) {
        const bool last = i + 1 == e.count;
        struct labelled next = final;
        if (!last)
            ULP_TRY(describe_partial(call, &e, operands, i, &left, &next, &partial[i]));
        ULP_TRY(
            contract_two(call, &e, &left, &operands[i], &next, last ? &call->out[0] : &partial[i]));
        left = next;
    }
    return ULP_OK;
}

/* clang-format off */
const struct ulp_operator ulp_ops_einsum[] = {
    {.name = "Einsum", .since = 12, .inputs = "inputs*", .outputs = "output",
     .attributes = "equation:!string",
     .infer = infer_einsum, .run = run_einsum, .work = ULP_WORK_CONTRACTION, .weights = "inputs1",
     .formulas = ULP_FORMULAS(&summed_labels)},
    {0},
};
/* clang-format on */
