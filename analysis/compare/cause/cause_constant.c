/* A quantised bias that is another one in some channels than the recording's, as one that was cut:
 * what the recorded tensor is ahead by is put in its place, and the run goes on to the tensor.
 * Other constants are readings (reading.def). */
#include <math.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "analysis/scales/scales_stored.h"
#include "base/error.h"
#include "base/text/text.h"
#include "number/function/math.h"
#include "ops/product/quantize_rows.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* It must leave no more of the error than this, a part that roundings behind it may make. */
#define EXPLAINED 0.01
/* Offsets this small beside the largest are roundings. */
#define SAME 1e-3
/* Constants looked at: those nearest to the tensor. */
#define CONSTANTS_MAX 8

struct trying {
    struct ulp_comparing *comparing;
    size_t file, tensor;
    struct ulp_program *program;
    const struct ulp_step *step; /* the DequantizeLinear */
    const struct ulp_tensor *codes, *zero;
    struct ulp_stored stored;
    double low, high; /* of the codes' type */
    double largest;   /* of OFFSETS: the largest one, */
    size_t changed;   /* and the channels that have another bias */
    size_t cut;       /* codes at an end of the type among the changed */
};

static const struct ulp_program_slot *find_slot(const struct trying *trying, int slot)
{
    return slot < 0 ? NULL : &trying->program->main->slots[slot];
}

static bool read_constant(struct trying *trying)
{
    const struct ulp_step *step = trying->step;
    const struct ulp_program_slot *codes = find_slot(trying, step->inputs[0]),
                                  *scale = find_slot(trying, step->inputs[1]),
                                  *zero = step->input_count > 2 ? find_slot(trying, step->inputs[2])
                                                                : NULL;
    trying->codes = codes ? codes->constant : NULL;
    trying->zero = zero ? zero->constant : NULL;
    if (!trying->codes || !scale || !scale->constant || (zero && !zero->constant) ||
        ulp_type_is_float(trying->codes->type) ||
        !ulp_stored_read(step->bound.node, trying->codes, scale->constant, &trying->stored))
        return false;
    ulp_integer_range(trying->codes->type, &trying->low, &trying->high);
    return true;
}

/* The channel of the tensor's elements that the bias' element c is added to: `after` elements of it
 * follow each other. False: the constant is no bias of the node that computes the tensor. */
static bool find_channels(const struct trying *trying, size_t *after)
{
    const struct ulp_compared_tensor *target = &trying->comparing->out->tensors[trying->tensor];
    const struct ulp_step *node = trying->program->nodes[target->index].step;
    const bool conv = strncmp(node->bound.op->name, "Conv", 4) == 0;
    const int axis = conv ? 1 : target->rank - 1;
    bool reads = false;
    for (size_t i = 0; i < node->own_input_count; i++)
        reads |= node->inputs[i] == trying->step->outputs[0] &&
                 (i == 2 || strcmp(node->bound.op->name, "Add") == 0);
    *after = 1;
    for (int d = axis + 1; d < target->rank; d++)
        *after *= (size_t)target->dims[d];
    return reads && axis >= 0 && axis < target->rank &&
           trying->codes->count == (size_t)target->dims[axis];
}

/* What the recorded tensor is ahead by in each channel, on average. */
static bool find_offsets(struct trying *trying, double *offsets)
{
    const struct ulp_compared_work *work = &trying->comparing->work[trying->tensor];
    const struct ulp_tensor *recorded = ulp_recorded(work, trying->file);
    const size_t channels = trying->codes->count;
    size_t after;
    if (!find_channels(trying, &after) || !work->reference || recorded->count != work->count)
        return false;
    for (size_t i = 0; i < work->count; i++)
        offsets[i / after % channels] +=
            (ulp_tensor_get(recorded, i) - work->reference[i]) / (double)(work->count / channels);
    trying->largest = 0;
    for (size_t c = 0; c < channels; c++)
        trying->largest = ulp_math_max(trying->largest, fabs(offsets[c]));
    return true;
}

static double change_element(struct trying *trying, const double *offsets, size_t i)
{
    const size_t scale = ulp_stored_find(&trying->stored, i);
    const double zero = !trying->zero
                            ? 0
                            : ulp_tensor_get(trying->zero, trying->zero->count == 1 ? 0 : scale),
                 width = ulp_stored_scale(&trying->stored, scale),
                 code = ulp_tensor_get(trying->codes, i);
    if (fabs(offsets[i]) > ulp_math_max(fabs(width), SAME * trying->largest)) {
        trying->changed++;
        trying->cut += code == trying->low || code == trying->high;
    }
    return (code - zero) * width + offsets[i];
}

/* The constant with the change; *there: it can have it. */
static enum ulp_status change_constant(struct trying *trying, struct ulp_tensor *out, bool *there,
                                       struct ulp_error *error)
{
    const struct ulp_tensor *like = &trying->program->main->slots[trying->step->outputs[0]].shape;
    double *offsets;
    ULP_TAKE(offsets, trying->comparing->arena, trying->codes->count, error);
    trying->changed = trying->cut = 0;
    *there = like->type == ULP_TYPE_FLOAT && like->count == trying->codes->count &&
             find_offsets(trying, offsets);
    if (!*there)
        return ULP_OK;
    ULP_TRY(
        ulp_tensor_create(out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, like->rank, like->dims, error));
    for (size_t i = 0; i < out->count; i++)
        ((float *)out->data)[i] = (float)change_element(trying, offsets, i);
    return ULP_OK;
}

static enum ulp_status try_change(struct trying *trying, bool *explains, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor changed = {0};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set given = {0};
    const struct ulp_compared_tensor *target = &trying->comparing->out->tensors[trying->tensor];
    double distance;
    bool there;
    *explains = false;
    ULP_TRY(change_constant(trying, &changed, &there, error));
    if (!there)
        return ULP_OK;
    ULP_TRY(ulp_tensor_set_add(&given, trying->program->main->slots[trying->step->outputs[0]].name,
                               &changed, error));
    ULP_TRY(ulp_guess_distance(trying->comparing, trying->program, trying->comparing->inputs,
                               &given, target->name,
                               ulp_recorded(&trying->comparing->work[trying->tensor], trying->file),
                               &distance, error));
    *explains = distance <= EXPLAINED * target->values[trying->file].truth.rms;
    return ULP_OK;
}

static enum ulp_status tell(const struct trying *trying, struct ulp_cause *cause,
                            struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &trying->comparing->out->tensors[trying->tensor];
    const char *constant = trying->program->main->slots[trying->step->inputs[0]].name;
    struct ulp_text text = {0};
    ulp_text_show(&text,
                  "node %s (%s) was computed with another bias than '%s' in %zu of %zu channels: "
                  "with that '%s' is explained.",
                  target->node, target->op, constant, trying->changed, trying->codes->count,
                  target->name);
    if (trying->cut)
        ulp_text_show(&text,
                      " Of these codes %zu are an end of %s: the graph's bias was cut when it was "
                      "quantised.",
                      trying->cut, ulp_type_name(trying->codes->type));
    ULP_TRY(ulp_cause_set(trying->comparing, cause, ULP_CAUSE_NODE, &text, NULL, error));
    ULP_TAKE(cause->nodes, trying->comparing->out->memory, 2, error);
    cause->nodes[0] = ulp_comparing_text(trying->comparing, trying->step->name);
    cause->nodes[1] = ulp_comparing_text(trying->comparing, target->node);
    cause->node_count = 2;
    return ulp_taken(cause->nodes[0] && cause->nodes[1], error);
}

static bool is_suspect(const struct ulp_suspects *suspects, const struct ulp_step *step)
{
    bool is = false;
    for (size_t n = 0; n < suspects->count; n++)
        is |= strcmp(suspects->nodes[n], step->name) == 0;
    return is;
}

enum ulp_status ulp_explain_constant(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                     const struct ulp_suspects *suspects, struct ulp_cause *cause,
                                     struct ulp_error *error)
{
    struct trying trying = {.comparing = comparing, .file = file, .tensor = tensor};
    const struct ulp_program_options options = {.inputs = comparing->inputs};
    struct ulp_arithmetic arithmetic = comparing->options->arithmetics[0];
    struct ulp_program *program = NULL;
    size_t tried = 0;
    arithmetic.schedule.qdq_integer = false; /* such kernels read the codes themselves */
    enum ulp_status status =
        ulp_program_create(comparing->model, &arithmetic, 1, &options, &program, error);
    trying.program = program;
    for (size_t s = status == ULP_OK ? program->main->step_count : 0;
         s-- > 0 && status == ULP_OK && !cause->text && tried < CONSTANTS_MAX;) {
        trying.step = &program->main->steps[s];
        if (trying.step->folded || !ulp_is_dequantizer(trying.step->bound.op) ||
            !is_suspect(suspects, trying.step) || !read_constant(&trying))
            continue;
        tried++;
        bool explains;
        status = try_change(&trying, &explains, error);
        if (status == ULP_OK && explains)
            status = tell(&trying, cause, error);
    }
    ulp_program_free(program);
    return status;
}
