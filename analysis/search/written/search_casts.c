/* Where an allocation converts values: Casts of a graph with its types, one for each value and type
 * that it is read in; between nodes, and where inputs and outputs of the graph have another type.
 */
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "run/program/program_mixed.h"

ULP_FREES(ulp_borders_free, struct ulp_border)

struct casting {
    struct ulp_searcher *search;
    const struct ulp_program *program;
    const size_t *place;
    struct ulp_search *out;
};

/* The choice whose values a graph has in that type; choice_count: none. */
static size_t find_choice(const struct ulp_searcher *search, enum ulp_type type)
{
    size_t c = 0;
    while (c < search->choice_count && ulp_mixed_type(&search->choices[c].arithmetic) != type)
        c++;
    return c;
}

static enum ulp_status add_cast(const struct casting *casting, const char *value, size_t elements,
                                size_t readers, size_t from_bits, size_t to,
                                struct ulp_error *error)
{
    struct ulp_search *out = casting->out;
    const size_t bits =
        from_bits + (size_t)casting->search->choices[to].arithmetic.storage.storage_bits;
    for (size_t c = 0; c < out->cast_count; c++)
        if (strcmp(out->casts[c].value, value) == 0 && out->casts[c].format == casting->place[to]) {
            out->casts[c].reader_count += readers;
            return ULP_OK;
        }
    struct ulp_search_cast *cast = &out->casts[out->cast_count++];
    *cast = (struct ulp_search_cast){.elements = elements,
                                     .reader_count = readers,
                                     .format = casting->place[to]};
    out->cast_elements += elements;
    out->cast_bytes += elements * bits / 8;
    cast->value = ulp_arena_copy(out->memory, value);
    return ulp_taken(cast->value, error);
}

static bool is_half_or_float(enum ulp_type type)
{
    return type == ULP_TYPE_FLOAT || type == ULP_TYPE_FLOAT16 || type == ULP_TYPE_BFLOAT16;
}

/* That float inputs and outputs of the graph have: their own, or the lower one. */
static enum ulp_type find_io(const struct casting *casting, enum ulp_type declared)
{
    const struct ulp_searcher *search = casting->search;
    return search->options->lower_io && declared == ULP_TYPE_FLOAT
               ? ulp_mixed_type(&search->choices[search->base].arithmetic)
               : declared;
}

static enum ulp_status add_reader(const struct casting *casting, const struct ulp_step *step,
                                  int slot, enum ulp_type io, struct ulp_error *error)
{
    const struct ulp_searcher *search = casting->search;
    const struct ulp_program_slot *input = &casting->program->main->slots[slot];
    const size_t choice = ulp_search_choice_of(search, search->best, step->number);
    const enum ulp_type type = ulp_mixed_type(&search->choices[choice].arithmetic);
    bool any = false;
    for (size_t i = 0; i < step->own_input_count && !step->folded; i++)
        any |= step->inputs[i] == slot && !ulp_is_parameter(step, i);
    return any && is_half_or_float(type) && type != io
               ? add_cast(casting, input->name, input->shape.count, 1,
                          (size_t)ulp_type_rows[io].file_bits, choice, error)
               : ULP_OK;
}

static enum ulp_status add_inputs(const struct casting *casting, struct ulp_error *error)
{
    const struct ulp_block *block = casting->program->main;
    for (size_t i = 0; i < block->input_count; i++) {
        const int slot = block->inputs[i];
        const enum ulp_type io = find_io(casting, block->slots[slot].shape.type);
        for (size_t s = 0; s < block->step_count && is_half_or_float(io); s++)
            ULP_TRY(add_reader(casting, &block->steps[s], slot, io, error));
    }
    return ULP_OK;
}

static enum ulp_status add_outputs(const struct casting *casting, struct ulp_error *error)
{
    const struct ulp_searcher *search = casting->search;
    const struct ulp_block *block = casting->program->main;
    for (size_t o = 0; o < block->output_count; o++) {
        const int slot = block->outputs[o];
        const struct ulp_program_slot *output = &block->slots[slot];
        const size_t holder = ulp_slot_holder(block, slot);
        if (holder == ULP_NO_NODE || !ulp_block_computes(block, slot))
            continue;
        const struct ulp_arithmetic *own =
            &search->choices[ulp_search_choice_of(search, search->best, holder)].arithmetic;
        const enum ulp_type held = ulp_mixed_type(own), io = find_io(casting, output->shape.type);
        const size_t choice = find_choice(search, io);
        if (is_half_or_float(held) && is_half_or_float(io) && held != io &&
            choice < search->choice_count)
            ULP_TRY(add_cast(casting, output->name, output->shape.count, 1,
                             (size_t)own->storage.storage_bits, choice, error));
    }
    return ULP_OK;
}

static enum ulp_status add_borders(const struct casting *casting, const struct ulp_border *borders,
                                   size_t count, struct ulp_error *error)
{
    const struct ulp_searcher *search = casting->search;
    for (size_t b = 0; b < count; b++) {
        size_t to = 0;
        for (size_t c = 0; c < search->choice_count; c++)
            if (strcmp(borders[b].to->name, search->choices[c].arithmetic.name) == 0)
                to = c;
        ULP_TRY(add_cast(casting, borders[b].value, borders[b].elements, borders[b].reader_count,
                         (size_t)borders[b].from->storage.storage_bits, to, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_search_report_casts(struct ulp_searcher *search, const size_t *place,
                                        struct ulp_search *out, struct ulp_error *error)
{
    const struct ulp_program *program = search->emulation.program;
    const struct casting casting = {search, program, place, out};
    ULP_SCOPED(ulp_borders_free_of) struct ulp_border *borders = NULL;
    size_t count = 0;
    ULP_TRY(ulp_search_keep(search, search->best, error));
    ULP_TRY(ulp_program_borders(program, 1, &borders, &count, error));
    ULP_TAKE(out->casts, out->memory,
             count + program->main->input_count * search->choice_count +
                 program->main->output_count + 1,
             error);
    ULP_TRY(add_borders(&casting, borders, count, error));
    ULP_TRY(add_inputs(&casting, error));
    return add_outputs(&casting, error);
}
