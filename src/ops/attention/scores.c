/* The parts of attention: products over heads, and the softmax between them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ops/attention/mask.h"
#include "ops/attention/scores.h"
#include "ops/ops_move.h"

enum ulp_status ulp_attention_multiply(struct ulp_call *call, const struct ulp_attention_product *p)
{
    const int64_t batches = p->a_heads.batch * p->a_heads.heads, m = p->a_heads.length;
    const int64_t repeat = p->a_heads.heads / p->b_heads.heads;
    int64_t *a_batch, *b_batch, *o_batch, *a_line, *a_k, *b_line, *b_k, *row, *column;
    ULP_TRY(ulp_call_take(call, (size_t)batches, sizeof *a_batch, &a_batch));
    ULP_TRY(ulp_call_take(call, (size_t)batches, sizeof *b_batch, &b_batch));
    ULP_TRY(ulp_call_take(call, (size_t)batches, sizeof *o_batch, &o_batch));
    ULP_TRY(ulp_move_table(call, &a_line, (size_t)m, 0, p->a_heads.step));
    ULP_TRY(ulp_move_table(call, &a_k, (size_t)p->k, p->first, 1));
    ULP_TRY(ulp_move_table(call, &b_line, (size_t)p->n, 0, p->b_line_step));
    ULP_TRY(ulp_move_table(call, &b_k, (size_t)p->k, p->first * p->b_k_step, p->b_k_step));
    ULP_TRY(ulp_move_table(call, &row, (size_t)m, 0, p->out_heads.step));
    ULP_TRY(ulp_move_table(call, &column, (size_t)p->n, 0, 1));
    for (int64_t g = 0; g < batches; g++) {
        int64_t b = g / p->a_heads.heads, h = g % p->a_heads.heads;
        a_batch[g] = b * p->a_heads.batch_step + h * p->a_heads.head_step;
        b_batch[g] = b * p->b_heads.batch_step + h / repeat * p->b_heads.head_step;
        o_batch[g] = b * p->out_heads.batch_step + h * p->out_heads.head_step;
    }
    struct ulp_contraction problem = {
        .batch_count = (size_t)batches,
        .m = (size_t)m,
        .n = (size_t)p->n,
        .k = (size_t)p->k,
        .out = p->out,
        .store = p->store,
        .onto = p->onto,
        .a = {.tensor = p->a, .batch_offset = a_batch, .line_offset = a_line, .k_offset = a_k},
        .b = {.tensor = p->b, .batch_offset = b_batch, .line_offset = b_line, .k_offset = b_k},
        .out_batch_offset = o_batch,
        .out_row_offset = row,
        .out_column_offset = column,
    };
    return ulp_call_contract(call, &problem);
}

bool ulp_attention_is_wide(const struct ulp_call *call)
{
    return call->arithmetic->steps == ULP_STEPS_ORT_CPU && call->bound->op->domain;
}

enum ulp_status ulp_attention_scores(struct ulp_call *call, const struct ulp_attention *a,
                                     int64_t total, const struct ulp_tensor *acc,
                                     const struct ulp_tensor *allowed, const char *wanted,
                                     struct ulp_tensor *out, struct ulp_tensor *sums)
{
    char text[1184], number[40], cap[40], filter[40], capped[80];
    struct ulp_operand bias, hidden, sink;
    const bool has_sink = a->sink || a->smooth, scaled = !isnan(a->scale);
    const bool stored = call->arithmetic->steps == ULP_STEPS_ORT_CPU &&
                        call->arithmetic->storage.precision == 11 && !ulp_attention_is_wide(call);
    snprintf(number, sizeof number, scaled ? "%a" : "%.0f", scaled ? a->scale : (double)a->q.size);
    snprintf(cap, sizeof cap, "%a", (double)a->softcap);
    snprintf(filter, sizeof filter, "%a", (double)a->filter);
    snprintf(capped, sizeof capped, "capped = %s; ",
             a->softcap > 0 ? "cap * tanh(raw / cap)" : "raw");
    snprintf(text, sizeof text,
             "raw = acc * %s; %su = capped + bias%s; %smasked = allowed ? %s : -inf; "
             "%stop = %s; sees = !(top == -inf); e = sees ? exp(masked - top) : 0; all = "
             "row_sum(e)%s; p = sees ? e / all : 0; %s",
             scaled ? "number" : "(1 / sqrt(number))",
             a->between && a->between[0] ? a->between : capped,
             a->hidden ? " + (hidden == 0 ? 0 : filter)" : "", stored ? "c = 8193 * u; " : "",
             stored ? "(is_inf(u) ? u : c - (c - u))" : "u",
             a->show && strcmp(a->show, "seen") == 0 ? "seen = allowed ? u : 0; " : "",
             has_sink ? "max(row_max(masked), sink)" : "row_max(masked)",
             has_sink ? " + exp(sink - top)" : "", wanted);
    const bool adds = a->mask && a->mask->type != ULP_TYPE_BOOL;
    ULP_TRY(ulp_attention_lay_mask(call, a, total, adds ? a->mask : NULL, &bias));
    ULP_TRY(ulp_attention_lay_mask(call, a, total, a->hidden, &hidden));
    ULP_TRY(ulp_attention_lay_sink(call, a, &sink));
    const struct ulp_rows rows = {.row_count = (size_t)(a->q.batch * a->q.heads * a->q.length),
                                  .row_length = (size_t)total};
    const struct ulp_operand full = {.row_stride = total, .position_stride = 1};
    static const char *const names[] = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};
    enum { NAMES = sizeof names / sizeof *names };
    struct ulp_named_operand operands[8 + NAMES] = {
        {"acc", full},
        {"allowed", full},
        {"bias", bias},
        {"number", {.constant = number}},
        {"cap", {.constant = cap}},
        {"hidden", hidden},
        {"filter", {.constant = filter}},
        {"sink", sink},
    };
    size_t count = 8;
    for (size_t m = 0; m < a->operand_count && m < NAMES; m++) {
        operands[count].name = names[m];
        ULP_TRY(
            ulp_attention_lay_mask(call, a, total, &a->operands[m], &operands[count++].operand));
    }
    operands[0].operand.tensor = acc;
    operands[1].operand.tensor = allowed;
    struct ulp_named_operand outputs[] = {
        {"", full},
        {"all", {.tensor = sums, .row_stride = 1, .storage = &call->arithmetic->rows}},
        {a->show, full}};
    outputs[0].operand.tensor = out;
    if (ulp_attention_is_wide(call))
        outputs[0].operand.storage = &call->arithmetic->accumulator;
    outputs[2].operand.tensor = a->shown;
    return ulp_call_text(call, text, call->arithmetic, &rows, count, operands, a->shown ? 3 : 2,
                         outputs);
}
