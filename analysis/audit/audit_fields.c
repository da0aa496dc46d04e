/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_basis(int value)
{
    return ulp_basis_name((enum ulp_basis)value);
}
static const char *word_grade(int value)
{
    return ulp_grade_name((enum ulp_grade)value);
}
static const char *word_share_cause(int value)
{
    return ulp_share_cause_name((enum ulp_share_cause)value, NULL, NULL);
}
static const char *word_task(int value)
{
    return ulp_task_name((enum ulp_task)value);
}
static const char *word_type(int value)
{
    return ulp_type_name((enum ulp_type)value);
}

static const struct ulp_field audit_input[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_input, name)},
    {.name = "sample", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_input, sample)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_input, count)},
};
const struct ulp_struct ulp_struct_audit_input = {
    "ulp_audit_input", sizeof(struct ulp_audit_input), audit_input, sizeof audit_input / sizeof *audit_input};

static const struct ulp_field birth[] = {
    {.name = "node", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_birth, node)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_birth, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_birth, op)},
    {.name = "value", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_birth, value)},
    {.name = "is", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_birth, is)},
    {.name = "why", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_birth, why)},
    {.name = "sample", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_birth, sample)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_birth, count)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_birth, elements)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_birth, output_count), .counts = true},
    {.name = "outputs", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_birth, outputs), .points = true, .counted = true, .count = offsetof(struct ulp_birth, output_count)},
};
const struct ulp_struct ulp_struct_birth = {
    "ulp_birth", sizeof(struct ulp_birth), birth, sizeof birth / sizeof *birth};

static const struct ulp_field arithmetic[] = {
    {.name = "name", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_arithmetic, name)},
};
const struct ulp_struct ulp_struct_arithmetic = {
    "ulp_arithmetic", sizeof(struct ulp_arithmetic), arithmetic, sizeof arithmetic / sizeof *arithmetic};

static const struct ulp_field audit_border[] = {
    {.name = "value", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_border, value)},
    {.name = "from", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_border, from)},
    {.name = "to", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_border, to)},
    {.name = "producer", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_border, producer), .node = true},
    {.name = "first_reader", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_border, first_reader), .node = true},
    {.name = "reader_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_border, reader_count)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_border, elements)},
};
const struct ulp_struct ulp_struct_audit_border = {
    "ulp_audit_border", sizeof(struct ulp_audit_border), audit_border, sizeof audit_border / sizeof *audit_border};

static const struct ulp_field audit_constant[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_constant, name)},
    {.name = "in", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_constant, in)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_constant, elements)},
    {.name = "overflowed", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_constant, overflowed)},
    {.name = "underflowed", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_constant, underflowed)},
    {.name = "largest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_constant, largest)},
    {.name = "first_reader", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_constant, first_reader), .node = true},
    {.name = "reader_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_constant, reader_count)},
};
const struct ulp_struct ulp_struct_audit_constant = {
    "ulp_audit_constant", sizeof(struct ulp_audit_constant), audit_constant, sizeof audit_constant / sizeof *audit_constant};

static const struct ulp_field audit_overflow[] = {
    {.name = "node", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_overflow, node), .node = true},
    {.name = "constant", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_overflow, constant), .whole = true},
    {.name = "absorbed_by", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_overflow, absorbed_by), .node = true},
    {.name = "absorber_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_overflow, absorber_count)},
    {.name = "spoils", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_overflow, spoils), .node = true},
    {.name = "reaches_output", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_overflow, reaches_output)},
    {.name = "joins", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_overflow, joins)},
};
const struct ulp_struct ulp_struct_audit_overflow = {
    "ulp_audit_overflow", sizeof(struct ulp_audit_overflow), audit_overflow, sizeof audit_overflow / sizeof *audit_overflow};

static const struct ulp_field node_types[] = {
    {.name = "product", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_node_types, product)},
    {.name = "integer", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_node_types, integer)},
    {.name = "weight", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_node_types, weight), .word = word_type, .words = 27},
    {.name = "compute", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_node_types, compute)},
    {.name = "moves", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_node_types, moves)},
};
const struct ulp_struct ulp_struct_node_types = {
    "ulp_node_types", sizeof(struct ulp_node_types), node_types, sizeof node_types / sizeof *node_types};

static const struct ulp_field node_kernel[] = {
    {.name = "kernel", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_node_kernel, kernel)},
    {.name = "unstored", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_node_kernel, unstored)},
};
const struct ulp_struct ulp_struct_node_kernel = {
    "ulp_node_kernel", sizeof(struct ulp_node_kernel), node_kernel, sizeof node_kernel / sizeof *node_kernel};

static const struct ulp_field metrics[] = {
    {.name = "max_abs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, max_abs)},
    {.name = "rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, rms)},
    {.name = "mean", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, mean)},
    {.name = "max_rel", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, max_rel)},
    {.name = "max_ulp", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, max_ulp)},
    {.name = "median_ulp", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, median_ulp)},
    {.name = "cosine", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, cosine)},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, sqnr_db)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_metrics, nonfinite)},
    {.name = "worst_index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_metrics, worst_index)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_metrics, count)},
    {.name = "unmeasured", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_metrics, unmeasured)},
    {.name = "value_norm", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, value_norm), .apart = true},
    {.name = "base_norm", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_metrics, base_norm), .apart = true},
    {.name = "diverged", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_metrics, diverged)},
};
const struct ulp_struct ulp_struct_metrics = {
    "ulp_metrics", sizeof(struct ulp_metrics), metrics, sizeof metrics / sizeof *metrics};

static const struct ulp_field audit_samples[] = {
    {.name = "single_mean", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, single_mean), .type = &ulp_struct_metrics},
    {.name = "entire_mean", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, entire_mean), .type = &ulp_struct_metrics},
    {.name = "introduced_mean", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, introduced_mean), .type = &ulp_struct_metrics},
    {.name = "carried_mean", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, carried_mean), .type = &ulp_struct_metrics},
    {.name = "single_limit", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, single_limit), .type = &ulp_struct_metrics},
    {.name = "entire_limit", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, entire_limit), .type = &ulp_struct_metrics},
    {.name = "introduced_limit", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, introduced_limit), .type = &ulp_struct_metrics},
    {.name = "carried_limit", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_samples, carried_limit), .type = &ulp_struct_metrics},
};
const struct ulp_struct ulp_struct_audit_samples = {
    "ulp_audit_samples", sizeof(struct ulp_audit_samples), audit_samples, sizeof audit_samples / sizeof *audit_samples};

static const struct ulp_field followed[] = {
    {.name = "given", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_followed, given)},
    {.name = "metrics", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_followed, metrics), .type = &ulp_struct_metrics},
};
const struct ulp_struct ulp_struct_followed = {
    "ulp_followed", sizeof(struct ulp_followed), followed, sizeof followed / sizeof *followed};

static const struct ulp_field matched[] = {
    {.name = "given", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_matched, given)},
    {.name = "rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_matched, rms)},
    {.name = "max_abs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_matched, max_abs)},
    {.name = "rows", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_matched, rows)},
    {.name = "moved", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_matched, moved)},
    {.name = "differing", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_matched, differing)},
};
const struct ulp_struct ulp_struct_matched = {
    "ulp_matched", sizeof(struct ulp_matched), matched, sizeof matched / sizeof *matched};

static const struct ulp_field divergence[] = {
    {.name = "reshaped", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_divergence, reshaped)},
    {.name = "differing", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_divergence, differing)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_divergence, count)},
    {.name = "first", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_divergence, first)},
    {.name = "margin", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_divergence, margin)},
    {.name = "margin_error", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_divergence, margin_error)},
    {.name = "followed", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_divergence, followed), .type = &ulp_struct_followed},
    {.name = "matched", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_divergence, matched), .type = &ulp_struct_matched},
};
const struct ulp_struct ulp_struct_divergence = {
    "ulp_divergence", sizeof(struct ulp_divergence), divergence, sizeof divergence / sizeof *divergence};

static const struct ulp_field range[] = {
    {.name = "ref_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_range, ref_rms)},
    {.name = "ref_max", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_range, ref_max)},
    {.name = "ref_min_nonzero", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_range, ref_min_nonzero)},
    {.name = "headroom_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_range, headroom_bits)},
};
const struct ulp_struct ulp_struct_range = {
    "ulp_range", sizeof(struct ulp_range), range, sizeof range / sizeof *range};

static const struct ulp_field judged[] = {
    {.name = "task", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_judged, task), .word = word_task, .words = 10},
    {.name = "basis", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_judged, basis), .word = word_basis, .words = 6},
    {.name = "varies", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_judged, varies)},
    {.name = "grade", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_judged, grade), .word = word_grade, .words = 4, .whole = true},
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_judged, text), .whole = true},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, sqnr_db), .whole = true},
    {.name = "rows", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, rows)},
    {.name = "columns", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, columns)},
    {.name = "channels", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, channels)},
    {.name = "elements", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, elements)},
    {.name = "top1_flips", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, top1_flips)},
    {.name = "top1_clear", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, top1_clear)},
    {.name = "top1_margin", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, top1_margin)},
    {.name = "top5_changes", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, top5_changes)},
    {.name = "logprob", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, logprob)},
    {.name = "kl", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, kl)},
    {.name = "iou", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, iou)},
    {.name = "row_cosine", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, row_cosine)},
    {.name = "mask_flips", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, mask_flips)},
    {.name = "score_shift", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, score_shift)},
    {.name = "differing", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, differing)},
    {.name = "constant_rows", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, constant_rows)},
    {.name = "constant_columns", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, constant_columns)},
    {.name = "constant_channels", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, constant_channels)},
    {.name = "group_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, group_db)},
    {.name = "faint_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, faint_db)},
    {.name = "group_kind", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, group_kind)},
    {.name = "group_at", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, group_at)},
    {.name = "group_carries", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, group_carries)},
    {.name = "faint_kind", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, faint_kind)},
    {.name = "faint_at", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, faint_at)},
    {.name = "faint_carries", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_judged, faint_carries)},
};
const struct ulp_struct ulp_struct_judged = {
    "ulp_judged", sizeof(struct ulp_judged), judged, sizeof judged / sizeof *judged};

static const struct ulp_field vacant[] = {
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_vacant, count)},
    {.name = "sample", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_vacant, sample)},
    {.name = "undefined", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_vacant, undefined)},
};
const struct ulp_struct ulp_struct_vacant = {
    "ulp_vacant", sizeof(struct ulp_vacant), vacant, sizeof vacant / sizeof *vacant};

static const struct ulp_field audit_output[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_output, name)},
    {.name = "type", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_audit_output, type), .word = word_type, .words = 27},
    {.name = "rank", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_audit_output, rank), .counts = true},
    {.name = "dims", .kind = ULP_FIELD_INT64, .offset = offsetof(struct ulp_audit_output, dims), .length = 16, .counted = true, .count = offsetof(struct ulp_audit_output, rank), .count_is_int = true},
    {.name = "single", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, single), .type = &ulp_struct_metrics},
    {.name = "entire", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, entire), .type = &ulp_struct_metrics},
    {.name = "introduced", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, introduced), .type = &ulp_struct_metrics},
    {.name = "carried", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, carried), .type = &ulp_struct_metrics},
    {.name = "samples", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, samples), .type = &ulp_struct_audit_samples, .points = true, .whole = true},
    {.name = "divergence", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, divergence), .type = &ulp_struct_divergence, .points = true},
    {.name = "range", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, range), .type = &ulp_struct_range},
    {.name = "worst_sample", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_output, worst_sample), .whole = true},
    {.name = "unpaired", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_output, unpaired)},
    {.name = "judged", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, judged), .type = &ulp_struct_judged},
    {.name = "vacant", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_output, vacant), .type = &ulp_struct_vacant, .whole = true},
};
const struct ulp_struct ulp_struct_audit_output = {
    "ulp_audit_output", sizeof(struct ulp_audit_output), audit_output, sizeof audit_output / sizeof *audit_output};

static const struct ulp_field audit_node[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_node, index), .whole = true},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_node, name), .whole = true},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_node, op), .whole = true},
    {.name = "kept", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_node, kept), .whole = true},
    {.name = "types", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_node, types), .type = &ulp_struct_node_types, .whole = true},
    {.name = "kernel", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_node, kernel), .type = &ulp_struct_node_kernel, .whole = true},
    {.name = "executions", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_node, executions)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_node, output_count), .counts = true},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_node, outputs), .type = &ulp_struct_audit_output, .points = true, .counted = true, .count = offsetof(struct ulp_audit_node, output_count)},
    {.name = "born", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_node, born)},
    {.name = "poisoned", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_node, poisoned)},
    {.name = "reads_overflow", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_node, reads_overflow)},
    {.name = "overflow", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_node, overflow)},
    {.name = "absorbs", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_node, absorbs)},
    {.name = "constant", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_node, constant), .whole = true},
    {.name = "decided", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_node, decided)},
    {.name = "source", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_node, source), .node = true},
    {.name = "share", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, share)},
    {.name = "gain", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, gain)},
    {.name = "condition", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, condition)},
    {.name = "causes", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, causes), .key = word_share_cause, .length = 7},
    {.name = "share_worst", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, share_worst)},
    {.name = "decision", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, decision)},
    {.name = "missing", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, missing)},
    {.name = "stops", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_node, stops)},
    {.name = "zeroed", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_node, zeroed)},
    {.name = "zeroed_by", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_node, zeroed_by), .node = true},
    {.name = "zeroes", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_node, zeroes)},
    {.name = "grew", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_node, grew)},
};
const struct ulp_struct ulp_struct_audit_node = {
    "ulp_audit_node", sizeof(struct ulp_audit_node), audit_node, sizeof audit_node / sizeof *audit_node};

static const struct ulp_field node_shares[] = {
    {.name = "share", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_node_shares, share)},
    {.name = "gain", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_node_shares, gain)},
    {.name = "condition", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_node_shares, condition)},
    {.name = "share_worst", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_node_shares, share_worst)},
    {.name = "decision", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_node_shares, decision)},
    {.name = "missing", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_node_shares, missing)},
    {.name = "causes", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_node_shares, causes), .key = word_share_cause, .length = 7},
    {.name = "stops", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_node_shares, stops)},
};
const struct ulp_struct ulp_struct_node_shares = {
    "ulp_node_shares", sizeof(struct ulp_node_shares), node_shares, sizeof node_shares / sizeof *node_shares};

static const struct ulp_field output_shares[] = {
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_output_shares, output)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_output_shares, sample_count)},
    {.name = "sum", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_output_shares, sum)},
    {.name = "worst", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_output_shares, worst)},
    {.name = "inputs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_output_shares, inputs)},
    {.name = "decisions", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_output_shares, decisions)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_output_shares, node_count), .apart = true, .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_output_shares, nodes), .type = &ulp_struct_node_shares, .points = true, .counted = true, .count = offsetof(struct ulp_output_shares, node_count), .apart = true},
};
const struct ulp_struct ulp_struct_output_shares = {
    "ulp_output_shares", sizeof(struct ulp_output_shares), output_shares, sizeof output_shares / sizeof *output_shares};

static const struct ulp_field share_group[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_share_group, name)},
    {.name = "share", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_share_group, share)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_share_group, node_count)},
};
const struct ulp_struct ulp_struct_share_group = {
    "ulp_share_group", sizeof(struct ulp_share_group), share_group, sizeof share_group / sizeof *share_group};

static const struct ulp_field verified[] = {
    {.name = "node", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_verified, node), .node = true},
    {.name = "share", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_verified, share)},
    {.name = "held", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_verified, held)},
    {.name = "gain", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_verified, gain)},
    {.name = "kept", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_verified, kept)},
};
const struct ulp_struct ulp_struct_verified = {
    "ulp_verified", sizeof(struct ulp_verified), verified, sizeof verified / sizeof *verified};

static const struct ulp_field attribution[] = {
    {.name = "given", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_attribution, given)},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_attribution, reason)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_attribution, output)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_attribution, output_count), .counts = true},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_attribution, outputs), .type = &ulp_struct_output_shares, .points = true, .counted = true, .count = offsetof(struct ulp_attribution, output_count)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_attribution, sample_count), .whole = true},
    {.name = "sum", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_attribution, sum)},
    {.name = "residual", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_attribution, residual)},
    {.name = "worst", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_attribution, worst)},
    {.name = "inputs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_attribution, inputs)},
    {.name = "decisions", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_attribution, decisions)},
    {.name = "group_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_attribution, group_count), .whole = true, .counts = true},
    {.name = "groups", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_attribution, groups), .type = &ulp_struct_share_group, .points = true, .counted = true, .count = offsetof(struct ulp_attribution, group_count), .whole = true},
    {.name = "verified_output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_attribution, verified_output)},
    {.name = "verified_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_attribution, verified_count), .counts = true},
    {.name = "verified", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_attribution, verified), .type = &ulp_struct_verified, .points = true, .counted = true, .count = offsetof(struct ulp_attribution, verified_count)},
    {.name = "kept_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_attribution, kept_count), .whole = true, .counts = true},
    {.name = "kept", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_attribution, kept), .points = true, .counted = true, .count = offsetof(struct ulp_attribution, kept_count), .whole = true},
    {.name = "kept_output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_attribution, kept_output), .whole = true},
    {.name = "kept_sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_attribution, kept_sqnr_db), .whole = true},
};
const struct ulp_struct ulp_struct_attribution = {
    "ulp_attribution", sizeof(struct ulp_attribution), attribution, sizeof attribution / sizeof *attribution};

static const struct ulp_field audit_remedy[] = {
    {.name = "tried", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit_remedy, tried)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_remedy, node_count), .whole = true, .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_remedy, nodes), .points = true, .counted = true, .count = offsetof(struct ulp_audit_remedy, node_count), .whole = true},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_remedy, output)},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_remedy, sqnr_db)},
    {.name = "before_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit_remedy, before_db)},
    {.name = "ran", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_remedy, ran)},
    {.name = "left_out", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_remedy, left_out)},
};
const struct ulp_struct ulp_struct_audit_remedy = {
    "ulp_audit_remedy", sizeof(struct ulp_audit_remedy), audit_remedy, sizeof audit_remedy / sizeof *audit_remedy};

static const struct ulp_field qdq_pair[] = {
    {.name = "value", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_qdq_pair, value)},
    {.name = "quantizer", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_qdq_pair, quantizer), .node = true},
    {.name = "dequantizer", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_qdq_pair, dequantizer), .node = true},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_qdq_pair, elements)},
    {.name = "clipped", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_qdq_pair, clipped)},
    {.name = "step_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_qdq_pair, step_rms)},
    {.name = "gained_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_qdq_pair, gained_db)},
    {.name = "channels_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_qdq_pair, channels_db)},
    {.name = "blocks_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_qdq_pair, blocks_db)},
};
const struct ulp_struct ulp_struct_qdq_pair = {
    "ulp_qdq_pair", sizeof(struct ulp_qdq_pair), qdq_pair, sizeof qdq_pair / sizeof *qdq_pair};

static const struct ulp_field scaled_tensor[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, name)},
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, node)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, op)},
    {.name = "format", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, format)},
    {.name = "weight", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_scaled_tensor, weight)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, elements)},
    {.name = "blocks", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, blocks)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, nonfinite)},
    {.name = "zeros", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, zeros)},
    {.name = "clipped", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, clipped)},
    {.name = "product_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, product_db)},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, sqnr_db)},
    {.name = "clipping", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, clipping)},
    {.name = "scaling", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, scaling)},
    {.name = "rounding", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, rounding)},
    {.name = "range_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, range_bits)},
    {.name = "range_bits_most", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, range_bits_most)},
    {.name = "format_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, format_bits)},
    {.name = "worst_line", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, worst_line)},
    {.name = "worst_k", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, worst_k)},
    {.name = "worst_part", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, worst_part)},
    {.name = "outlier", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, outlier)},
    {.name = "outlier_is_line", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_scaled_tensor, outlier_is_line)},
    {.name = "outlier_ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, outlier_ratio)},
    {.name = "outlier_gain_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, outlier_gain_db)},
};
const struct ulp_struct ulp_struct_scaled_tensor = {
    "ulp_scaled_tensor", sizeof(struct ulp_scaled_tensor), scaled_tensor, sizeof scaled_tensor / sizeof *scaled_tensor};

static const struct ulp_field qdq_divergence[] = {
    {.name = "other", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_qdq_divergence, other), .whole = true},
    {.name = "first", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_qdq_divergence, first), .node = true},
    {.name = "first_step", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_qdq_divergence, first_step), .node = true},
    {.name = "steps", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_qdq_divergence, steps)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_qdq_divergence, count)},
};
const struct ulp_struct ulp_struct_qdq_divergence = {
    "ulp_qdq_divergence", sizeof(struct ulp_qdq_divergence), qdq_divergence, sizeof qdq_divergence / sizeof *qdq_divergence};

static const struct ulp_field audit_lane[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_lane, name), .whole = true},
    {.name = "arithmetic", .kind = ULP_FIELD_NAMED, .offset = offsetof(struct ulp_audit_lane, arithmetic), .type = &ulp_struct_arithmetic, .whole = true},
    {.name = "kept_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, kept_count), .whole = true, .counts = true},
    {.name = "kept", .kind = ULP_FIELD_NAMED, .offset = offsetof(struct ulp_audit_lane, kept), .type = &ulp_struct_arithmetic, .points = true, .counted = true, .count = offsetof(struct ulp_audit_lane, kept_count), .whole = true},
    {.name = "border_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, border_count), .whole = true, .counts = true},
    {.name = "borders", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, borders), .type = &ulp_struct_audit_border, .points = true, .counted = true, .count = offsetof(struct ulp_audit_lane, border_count), .whole = true},
    {.name = "constant_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, constant_count), .whole = true, .counts = true},
    {.name = "constants", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, constants), .type = &ulp_struct_audit_constant, .points = true, .counted = true, .count = offsetof(struct ulp_audit_lane, constant_count), .whole = true},
    {.name = "overflow_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, overflow_count), .counts = true},
    {.name = "overflows", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, overflows), .type = &ulp_struct_audit_overflow, .points = true, .counted = true, .count = offsetof(struct ulp_audit_lane, overflow_count)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, node_count), .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, nodes), .type = &ulp_struct_audit_node, .points = true, .counted = true, .count = offsetof(struct ulp_audit_lane, node_count)},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, outputs), .type = &ulp_struct_audit_node, .whole = true, .apart = true},
    {.name = "attribution", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, attribution), .type = &ulp_struct_attribution},
    {.name = "remedy", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, remedy), .type = &ulp_struct_audit_remedy, .whole = true},
    {.name = "qdq_pair_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, qdq_pair_count), .whole = true, .counts = true},
    {.name = "qdq_pairs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, qdq_pairs), .type = &ulp_struct_qdq_pair, .points = true, .counted = true, .count = offsetof(struct ulp_audit_lane, qdq_pair_count), .whole = true},
    {.name = "scaled_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, scaled_count), .whole = true, .counts = true},
    {.name = "scaled", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, scaled), .type = &ulp_struct_scaled_tensor, .points = true, .counted = true, .count = offsetof(struct ulp_audit_lane, scaled_count), .whole = true},
    {.name = "first_born", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_lane, first_born), .node = true, .whole = true},
    {.name = "first_decided", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_audit_lane, first_decided), .node = true},
    {.name = "poisoned_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_lane, poisoned_count), .whole = true},
    {.name = "qdq_divergence", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_lane, qdq_divergence), .type = &ulp_struct_qdq_divergence},
};
const struct ulp_struct ulp_struct_audit_lane = {
    "ulp_audit_lane", sizeof(struct ulp_audit_lane), audit_lane, sizeof audit_lane / sizeof *audit_lane};

static const struct ulp_field link[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_link, name)},
    {.name = "node", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_link, node)},
    {.name = "constant", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_link, constant)},
};
const struct ulp_struct ulp_struct_link = {
    "ulp_link", sizeof(struct ulp_link), link, sizeof link / sizeof *link};

static const struct ulp_field histogram[] = {
    {.name = "zeros", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_histogram, zeros)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_histogram, nonfinite)},
    {.name = "first", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_histogram, first)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_histogram, count), .counts = true},
    {.name = "counts", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_histogram, counts), .points = true, .counted = true, .count = offsetof(struct ulp_histogram, count)},
};
const struct ulp_struct ulp_struct_histogram = {
    "ulp_histogram", sizeof(struct ulp_histogram), histogram, sizeof histogram / sizeof *histogram};

static const struct ulp_field place[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_place, name), .whole = true},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_place, op), .whole = true},
    {.name = "formula", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_place, formula), .whole = true},
    {.name = "input_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_place, input_count), .whole = true, .counts = true},
    {.name = "inputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_place, inputs), .type = &ulp_struct_link, .points = true, .counted = true, .count = offsetof(struct ulp_place, input_count), .whole = true},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_place, output_count), .counts = true},
    {.name = "histograms", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_place, histograms), .type = &ulp_struct_histogram, .points = true, .counted = true, .count = offsetof(struct ulp_place, output_count)},
};
const struct ulp_struct ulp_struct_place = {
    "ulp_place", sizeof(struct ulp_place), place, sizeof place / sizeof *place};

static const struct ulp_field audit_crossing[] = {
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_crossing, arithmetic)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_crossing, output)},
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_crossing, text)},
};
const struct ulp_struct ulp_struct_audit_crossing = {
    "ulp_audit_crossing", sizeof(struct ulp_audit_crossing), audit_crossing, sizeof audit_crossing / sizeof *audit_crossing};

static const struct ulp_field audit_limit[] = {
    {.name = "limit", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit_limit, limit)},
    {.name = "crossing_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit_limit, crossing_count), .counts = true},
    {.name = "crossings", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit_limit, crossings), .type = &ulp_struct_audit_crossing, .points = true, .counted = true, .count = offsetof(struct ulp_audit_limit, crossing_count)},
};
const struct ulp_struct ulp_struct_audit_limit = {
    "ulp_audit_limit", sizeof(struct ulp_audit_limit), audit_limit, sizeof audit_limit / sizeof *audit_limit};

static const struct ulp_field stored_fault[] = {
    {.name = "value", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_stored_fault, value)},
    {.name = "dequantizer", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_stored_fault, dequantizer), .node = true},
    {.name = "blocks", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_stored_fault, blocks)},
    {.name = "loose", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_stored_fault, loose)},
    {.name = "first_loose", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_stored_fault, first_loose)},
    {.name = "axis", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_stored_fault, axis)},
    {.name = "summed", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_stored_fault, summed)},
    {.name = "reader", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_stored_fault, reader), .node = true},
};
const struct ulp_struct ulp_struct_stored_fault = {
    "ulp_stored_fault", sizeof(struct ulp_stored_fault), stored_fault, sizeof stored_fault / sizeof *stored_fault};

static const struct ulp_field certificate[] = {
    {.name = "given", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_certificate, given)},
    {.name = "output_digits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_certificate, output_digits)},
    {.name = "node_digits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_certificate, node_digits)},
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_certificate, node)},
    {.name = "lost", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_certificate, lost)},
    {.name = "lost_at", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_certificate, lost_at)},
};
const struct ulp_struct ulp_struct_certificate = {
    "ulp_certificate", sizeof(struct ulp_certificate), certificate, sizeof certificate / sizeof *certificate};

static const struct ulp_field quick_check[] = {
    {.name = "given", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_quick_check, given)},
    {.name = "exact", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_quick_check, exact)},
    {.name = "sampled", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_quick_check, sampled)},
    {.name = "whole", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_quick_check, whole)},
    {.name = "unjudged", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_quick_check, unjudged)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_quick_check, elements)},
    {.name = "worst_ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_quick_check, worst_ratio)},
    {.name = "worst_node", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_quick_check, worst_node), .node = true},
    {.name = "doubtful", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_quick_check, doubtful)},
};
const struct ulp_struct ulp_struct_quick_check = {
    "ulp_quick_check", sizeof(struct ulp_quick_check), quick_check, sizeof quick_check / sizeof *quick_check};

static const struct ulp_field spread[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_spread, index)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_spread, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_spread, op)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_spread, output)},
    {.name = "ref_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_spread, ref_rms)},
    {.name = "width_max_abs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_spread, width_max_abs)},
    {.name = "width_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_spread, width_rms)},
    {.name = "width_max_ulp", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_spread, width_max_ulp)},
    {.name = "differing", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_spread, differing)},
    {.name = "error_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_spread, error_rms)},
    {.name = "gpu_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_spread, gpu_rms)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_spread, nonfinite)},
};
const struct ulp_struct ulp_struct_spread = {
    "ulp_spread", sizeof(struct ulp_spread), spread, sizeof spread / sizeof *spread};

static const struct ulp_field spreads[] = {
    {.name = "base", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_spreads, base)},
    {.name = "schedule_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_spreads, schedule_count), .counts = true},
    {.name = "schedules", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_spreads, schedules), .points = true, .counted = true, .count = offsetof(struct ulp_spreads, schedule_count)},
    {.name = "other_gpu", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_spreads, other_gpu)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_spreads, count), .counts = true},
    {.name = "items", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_spreads, items), .type = &ulp_struct_spread, .points = true, .counted = true, .count = offsetof(struct ulp_spreads, count)},
};
const struct ulp_struct ulp_struct_spreads = {
    "ulp_spreads", sizeof(struct ulp_spreads), spreads, sizeof spreads / sizeof *spreads};

static const struct ulp_field audit[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit, model_path), .whole = true},
    {.name = "arguments", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit, arguments), .whole = true},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit, reference), .whole = true},
    {.name = "reference_model", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit, reference_model), .whole = true},
    {.name = "paired_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, paired_count), .whole = true},
    {.name = "unpaired_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, unpaired_count), .whole = true},
    {.name = "ir_version", .kind = ULP_FIELD_INT64, .offset = offsetof(struct ulp_audit, ir_version), .whole = true},
    {.name = "opset", .kind = ULP_FIELD_INT64, .offset = offsetof(struct ulp_audit, opset), .whole = true},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, sample_count), .counts = true},
    {.name = "sample_names", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit, sample_names), .points = true, .counted = true, .count = offsetof(struct ulp_audit, sample_count)},
    {.name = "attentions_joined", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, attentions_joined), .whole = true},
    {.name = "attentions_apart", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, attentions_apart), .whole = true},
    {.name = "attention_apart", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit, attention_apart), .whole = true},
    {.name = "attention_why", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_audit, attention_why), .whole = true},
    {.name = "nonfinite_input_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, nonfinite_input_count), .counts = true},
    {.name = "nonfinite_inputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, nonfinite_inputs), .type = &ulp_struct_audit_input, .points = true, .counted = true, .count = offsetof(struct ulp_audit, nonfinite_input_count)},
    {.name = "nonfinite_inputs_meant", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_audit, nonfinite_inputs_meant), .whole = true},
    {.name = "birth_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, birth_count), .counts = true},
    {.name = "births", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, births), .type = &ulp_struct_birth, .points = true, .counted = true, .count = offsetof(struct ulp_audit, birth_count)},
    {.name = "lane_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, lane_count), .counts = true},
    {.name = "lanes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, lanes), .type = &ulp_struct_audit_lane, .points = true, .counted = true, .count = offsetof(struct ulp_audit, lane_count)},
    {.name = "place_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, place_count), .counts = true},
    {.name = "places", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, places), .type = &ulp_struct_place, .points = true, .counted = true, .count = offsetof(struct ulp_audit, place_count)},
    {.name = "limit_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, limit_count), .whole = true, .counts = true},
    {.name = "limits", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, limits), .type = &ulp_struct_audit_limit, .points = true, .counted = true, .count = offsetof(struct ulp_audit, limit_count), .whole = true},
    {.name = "stored_fault_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, stored_fault_count), .whole = true, .counts = true},
    {.name = "stored_faults", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, stored_faults), .type = &ulp_struct_stored_fault, .points = true, .counted = true, .count = offsetof(struct ulp_audit, stored_fault_count), .whole = true},
    {.name = "timings", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, timings), .type = &ulp_struct_timings, .points = true, .whole = true},
    {.name = "certificate", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, certificate), .type = &ulp_struct_certificate},
    {.name = "quick", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, quick), .type = &ulp_struct_quick_check},
    {.name = "spread_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, spread_count), .whole = true, .counts = true},
    {.name = "spreads", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_audit, spreads), .type = &ulp_struct_spreads, .points = true, .counted = true, .count = offsetof(struct ulp_audit, spread_count), .whole = true},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_audit, seconds)},
    {.name = "peak_bytes", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_audit, peak_bytes)},
};
const struct ulp_struct ulp_struct_audit = {
    "ulp_audit", sizeof(struct ulp_audit), audit, sizeof audit / sizeof *audit};

static const struct ulp_field format[] = {
    {.name = "name", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_format, name)},
};
const struct ulp_struct ulp_struct_format = {
    "ulp_format", sizeof(struct ulp_format), format, sizeof format / sizeof *format};

static const struct ulp_field unjudged[] = {
    {.name = "is_input", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_unjudged, is_input)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_unjudged, name)},
    {.name = "sample", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_unjudged, sample)},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_unjudged, reason)},
    {.name = "because", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_unjudged, because)},
};
const struct ulp_struct ulp_struct_unjudged = {
    "ulp_unjudged", sizeof(struct ulp_unjudged), unjudged, sizeof unjudged / sizeof *unjudged};

static const struct ulp_field unjudged_list[] = {
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_unjudged_list, count), .counts = true},
    {.name = "capacity", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_unjudged_list, capacity)},
    {.name = "items", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_unjudged_list, items), .type = &ulp_struct_unjudged, .points = true, .counted = true, .count = offsetof(struct ulp_unjudged_list, count)},
};
const struct ulp_struct ulp_struct_unjudged_list = {
    "ulp_unjudged_list", sizeof(struct ulp_unjudged_list), unjudged_list, sizeof unjudged_list / sizeof *unjudged_list};
