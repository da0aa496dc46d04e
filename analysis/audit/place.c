/* See place.h. */
#include "analysis/audit/place.h"

#include <string.h>

#include "analysis/measure/histogram.h"
#include "base/error.h"
#include "base/text/text.h"

static enum ulp_status refuse(struct ulp_error *error)
{
    return ulp_out_of_memory(error);
}

/* The formula of the row that the node is bound to, as `ulpscope list` shows it: of a contraction
 * what follows the sum, of others the formulas that it evaluates, one a line. NULL: it has none. */
static enum ulp_status copy_formula(const struct ulp_operator *op, struct ulp_arena *memory,
                                    const char **out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (op->formula || op->epilogue)
        ulp_text_add(&text, "%s", op->formula ? op->formula : op->epilogue);
    for (size_t i = 0; op->formulas && op->formulas[i]; i++)
        ulp_text_add(&text, "%s%s", text.length ? "\n" : "", op->formulas[i]->text);
    *out = text.length ? ulp_arena_text(memory, text.data, text.length) : NULL;
    const bool failed = text.failed || (text.length && !*out);
    return failed ? refuse(error) : ULP_OK;
}

static const struct ulp_tensor *shape_of(const struct ulp_block *block, const struct ulp_step *step,
                                         size_t input)
{
    const int slot = input < step->own_input_count ? step->inputs[input] : -1;
    return slot < 0                      ? NULL
           : block->slots[slot].constant ? block->slots[slot].constant
                                         : &block->slots[slot].shape;
}

static size_t count_terms(const struct ulp_program_node *node)
{
    const struct ulp_step *step = node->step;
    const char *op = step->bound.op->name;
    const struct ulp_tensor *read = shape_of(node->block, step, 0),
                            *factor = shape_of(node->block, step, 1),
                            *out = step->output_count && step->outputs[0] >= 0
                                       ? &node->block->slots[step->outputs[0]].shape
                                       : NULL;
    if (step->bound.op->domain || !read || !out || !out->count || !read->rank)
        return 0;
    if (strcmp(op, "MatMul") == 0)
        return (size_t)read->dims[read->rank - 1];
    if (strcmp(op, "Gemm") == 0)
        return out->dims[0] ? read->count / (size_t)out->dims[0] : 0;
    if (strcmp(op, "Conv") == 0)
        return factor && factor->rank && factor->dims[0] ? factor->count / (size_t)factor->dims[0]
                                                         : 0;
    if (strcmp(op, "LayerNormalization") == 0 || strcmp(op, "RMSNormalization") == 0)
        return factor ? factor->count : 0;
    if (strcmp(op, "InstanceNormalization") == 0)
        return read->dims[0] && read->dims[1]
                   ? read->count / (size_t)(read->dims[0] * read->dims[1])
                   : 0;
    if (strncmp(op, "Reduce", 6) == 0 || strcmp(op, "GlobalAveragePool") == 0)
        return read->count / out->count;
    return strcmp(op, "CumSum") == 0 && read->rank == 1 ? read->count : 0;
}

/* The node that computes the slot; of a body's own inputs none: its If, Loop or Scan comes later.
 */
static ptrdiff_t find_source(const struct ulp_block *block, int slot, size_t reader)
{
    const size_t holder = ulp_slot_holder(block, slot);
    return holder == ULP_NO_NODE || holder >= reader ? -1 : (ptrdiff_t)holder;
}

static enum ulp_status add_link(struct ulp_place *place, const struct ulp_block *block, int slot,
                                size_t reader, struct ulp_arena *memory, struct ulp_error *error)
{
    const char *name = block->slots[slot].name;
    struct ulp_link *link = &place->inputs[place->input_count++];
    *link = (struct ulp_link){.name = ulp_arena_copy(memory, name),
                              .node = find_source(block, slot, reader),
                              .constant = block->slots[slot].constant != NULL};
    return link->name ? ULP_OK : refuse(error);
}

/* An If, Loop or Scan also reads what its bodies compute. */
static enum ulp_status link_inputs(struct ulp_place *place, const struct ulp_program_node *node,
                                   struct ulp_arena *memory, struct ulp_error *error)
{
    const struct ulp_step *step = node->step;
    struct ulp_block *const *blocks = step->bound.blocks;
    const size_t own = blocks ? step->input_count : step->own_input_count;
    size_t most = own + 1;
    for (int a = 0; blocks && a < ULP_ATTRIBUTES_MAX; a++)
        most += blocks[a] ? blocks[a]->output_count : 0;
    if (!(place->inputs = ulp_arena_take(memory, most, sizeof *place->inputs)))
        return refuse(error);
    for (size_t i = 0; i < own; i++)
        if (step->inputs[i] >= 0)
            ULP_TRY(add_link(place, node->block, step->inputs[i], step->number, memory, error));
    for (int a = 0; blocks && a < ULP_ATTRIBUTES_MAX; a++)
        for (size_t o = 0; blocks[a] && o < blocks[a]->output_count; o++)
            ULP_TRY(add_link(place, blocks[a], blocks[a]->outputs[o], step->number, memory, error));
    return ULP_OK;
}

enum ulp_status ulp_places_make(const struct ulp_program *program, struct ulp_arena *memory,
                                struct ulp_place **out, struct ulp_error *error)
{
    struct ulp_place *places = ulp_arena_take(memory, program->node_count + 1, sizeof *places);
    ULP_TRY((*out = places) ? ULP_OK : refuse(error));
    for (size_t n = 0; n < program->node_count; n++) {
        struct ulp_place *place = &places[n];
        const struct ulp_operator *op = program->nodes[n].step->bound.op;
        const struct ulp_place *before = n ? &places[n - 1] : NULL;
        /* rows are few: the text of the node before often serves */
        if (before && program->nodes[n - 1].step->bound.op == op)
            place->formula = before->formula;
        else
            ULP_TRY(copy_formula(op, memory, &place->formula, error));
        place->name = ulp_arena_copy(memory, ulp_program_node_name(program, n));
        place->op = ulp_arena_copy(memory, ulp_program_node_op(program, n));
        if (!place->name || !place->op)
            return refuse(error);
        place->terms = count_terms(&program->nodes[n]);
        ULP_TRY(link_inputs(place, &program->nodes[n], memory, error));
    }
    return ULP_OK;
}

static enum ulp_status prepare_histograms(struct ulp_audit *audit, struct ulp_place *place,
                                          size_t count, struct ulp_error *error)
{
    if (place->histograms)
        return ULP_OK;
    place->histograms = ulp_arena_take(audit->memory, count ? count : 1, sizeof *place->histograms);
    place->output_count = place->histograms ? count : 0;
    return place->histograms ? ULP_OK : refuse(error);
}

enum ulp_status ulp_place_count(struct ulp_audit *audit, const struct ulp_event *event, size_t o,
                                const struct ulp_exponents *counts, struct ulp_error *error)
{
    struct ulp_place *place = &audit->places[event->index];
    ULP_TRY(prepare_histograms(audit, place, event->output_count, error));
    return ulp_histogram_add(&place->histograms[o], counts, audit->memory, error);
}

enum ulp_status ulp_places_add(struct ulp_audit *audit, const struct ulp_audit *sample,
                               struct ulp_error *error)
{
    for (size_t n = 0; n < sample->place_count; n++) {
        const struct ulp_place *from = &sample->places[n];
        struct ulp_place *place = &audit->places[n];
        if (!from->histograms)
            continue;
        ULP_TRY(prepare_histograms(audit, place, from->output_count, error));
        for (size_t o = 0; o < from->output_count; o++)
            ULP_TRY(ulp_histogram_join(&place->histograms[o], &from->histograms[o], audit->memory,
                                       error));
    }
    return ULP_OK;
}
