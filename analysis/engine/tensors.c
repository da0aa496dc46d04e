/* Nodes by the tensors around them. An engine's tensors keep the names of the model's values where
 * these survive; the runtime's own copies and changes of layout lead from one name to another. What
 * lies between the values that a layer writes and those that it reads is the layer's. */
#include <string.h>

#include "analysis/engine/mapping.h"
#include "base/error.h"

/* A walk ends there: what has not reached the layer's inputs by then is not between its tensors. */
enum { WALK_MAX = 8192, COPIES_MAX = 64 };

/* ---- tensors and their copies ---- */

static ptrdiff_t find_tensor(struct ulp_layer_map *mapping, const char *name)
{
    return ulp_names_find(&mapping->tensors, name);
}

static enum ulp_status add_tensor(struct ulp_layer_map *mapping, const char *name, size_t *count,
                                  struct ulp_error *error)
{
    if (find_tensor(mapping, name) >= 0)
        return ULP_OK;
    ULP_TRY(ulp_taken(ulp_names_add(&mapping->tensors, name, (int)*count), error));
    mapping->engine_values[(*count)++] =
        (struct ulp_engine_value){ulp_names_find(&mapping->values, name), -1, -1};
    return ULP_OK;
}

static size_t count_tensors(const struct ulp_layer_map *mapping)
{
    size_t count = 0;
    for (size_t l = 0; l < mapping->built->layer_count; l++)
        count += mapping->built->layers[l].layer->input_count +
                 mapping->built->layers[l].layer->output_count;
    return count;
}

/* A copy has one input and one output, and names no node. */
static bool is_copy(const struct ulp_engine_map_layer *layer)
{
    static const char kinds[] =
        "Reformat NoOp MyelinReformat Shuffle kgen Move Cast Reorder Convert";
    const struct ulp_engine_layer *row = layer->layer;
    if (layer->node_count || row->input_count != 1 || row->output_count != 1)
        return false;
    if (ulp_is_word(row->kind, kinds))
        return strcmp(row->kind, "kgen") != 0 || strstr(row->kernel, "__myl_Move_");
    return ulp_layer_is_copy(row);
}

static enum ulp_status index_tensors(struct ulp_layer_map *mapping, struct ulp_error *error)
{
    size_t count = 0;
    ULP_TAKE(mapping->engine_values, mapping->arena, count_tensors(mapping) + 1, error);
    for (size_t l = 0; l < mapping->built->layer_count; l++) {
        const struct ulp_engine_layer *row = mapping->built->layers[l].layer;
        for (size_t t = 0; t < row->input_count; t++)
            ULP_TRY(add_tensor(mapping, row->inputs[t].name, &count, error));
        for (size_t t = 0; t < row->output_count; t++)
            ULP_TRY(add_tensor(mapping, row->outputs[t].name, &count, error));
    }
    for (size_t l = 0; l < mapping->built->layer_count; l++) {
        const struct ulp_engine_layer *row = mapping->built->layers[l].layer;
        if (!is_copy(&mapping->built->layers[l]))
            continue;
        const ptrdiff_t from = find_tensor(mapping, row->inputs[0].name),
                        to = find_tensor(mapping, row->outputs[0].name);
        mapping->engine_values[to].copy_of = from;
        mapping->engine_values[from].copy = to;
    }
    return ULP_OK;
}

/* The value that a tensor is, by its own name or by those of its copies; -1: none is known. */
static int find_tensor_value(struct ulp_layer_map *mapping, const char *name)
{
    const ptrdiff_t start = find_tensor(mapping, name);
    const struct ulp_engine_value *values = mapping->engine_values;
    ptrdiff_t at = start;
    for (int i = 0; i < COPIES_MAX && at >= 0; i++, at = values[at].copy_of)
        if (values[at].slot >= 0)
            return values[at].slot;
    at = start >= 0 ? values[start].copy : -1;
    for (int i = 0; i < COPIES_MAX && at >= 0; i++, at = values[at].copy)
        if (values[at].slot >= 0)
            return values[at].slot;
    return -1;
}

/* ---- between tensors ---- */

/* Going back from what some layers write to what they read. */
struct region {
    struct ulp_layer_map *mapping;
    size_t first, last; /* layers, whose nodes may be met */
    const bool *reads;  /* by slot: an input of theirs */
    size_t count;       /* nodes met, in mapping->stack */
    bool closed;        /* every way ended at an input, a constant or a node of theirs */
};

static void meet(struct region *region, int slot)
{
    struct ulp_layer_map *mapping = region->mapping;
    const struct ulp_block *block = mapping->main;
    if (slot < 0 || block->slots[slot].constant)
        return;
    if (region->reads[slot])
        return;
    const struct ulp_step *step = ulp_block_producer(block, slot);
    if (!step) {
        region->closed = false;
        return;
    }
    if (step->folded || mapping->stamp[step->number] == mapping->stamp_now)
        return;
    const ptrdiff_t owner = mapping->built->nodes[step->number].layer;
    if (owner >= 0 && ((size_t)owner < region->first || (size_t)owner > region->last)) {
        region->closed = false;
        return;
    }
    if (region->count == WALK_MAX) {
        region->closed = false;
        return;
    }
    mapping->stamp[step->number] = mapping->stamp_now;
    mapping->stack[region->count++] = step->number;
}

static void walk(struct region *region, bool *reads)
{
    struct ulp_layer_map *mapping = region->mapping;
    const struct ulp_engine_map *built = mapping->built;
    region->closed = true;
    region->count = 0;
    mapping->stamp_now++;
    for (size_t l = region->first; l <= region->last; l++)
        for (size_t t = 0; t < built->layers[l].layer->input_count; t++) {
            const int slot = find_tensor_value(mapping, built->layers[l].layer->inputs[t].name);
            if (slot >= 0)
                reads[slot] = true;
        }
    /* what one of them writes and another reads is inside, and not where the way ends */
    for (size_t l = region->first; l <= region->last; l++)
        for (size_t t = 0; t < built->layers[l].layer->output_count; t++) {
            const int slot = find_tensor_value(mapping, built->layers[l].layer->outputs[t].name);
            if (slot >= 0)
                reads[slot] = false;
        }
    for (size_t l = region->first; l <= region->last; l++)
        for (size_t t = 0; t < built->layers[l].layer->output_count; t++)
            meet(region, find_tensor_value(mapping, built->layers[l].layer->outputs[t].name));
    for (size_t at = 0; at < region->count; at++) {
        const struct ulp_step *step = mapping->program->nodes[mapping->stack[at]].step;
        for (size_t i = 0; i < step->input_count; i++)
            meet(region, step->inputs[i]);
    }
    for (size_t l = region->first; l <= region->last; l++)
        for (size_t t = 0; t < built->layers[l].layer->input_count; t++) {
            const int slot = find_tensor_value(mapping, built->layers[l].layer->inputs[t].name);
            if (slot >= 0)
                reads[slot] = false;
        }
}

static enum ulp_status take_region(struct region *region, size_t layer, enum ulp_mapped_by by,
                                   enum ulp_engine_map_kind kind, struct ulp_error *error)
{
    struct ulp_layer_map *mapping = region->mapping;
    struct ulp_engine_map_layer *out = &mapping->built->layers[layer];
    for (size_t i = 0; i < region->count; i++) {
        const size_t node = mapping->stack[i];
        if (mapping->built->nodes[node].layer >= 0)
            continue;
        if (out->by == ULP_MAPPED_NOT)
            out->by = by;
        ULP_TRY(ulp_mapping_add(mapping, layer, node, kind, error));
    }
    return ULP_OK;
}

/* ---- ForeignNodes, and the rows of one of Myelin's graphs ---- */

/* The number behind "_myl" of a row's name; -1: it is none of Myelin's. */
static long myelin_graph(const char *name)
{
    const char *at = NULL;
    for (const char *next = strstr(name, "_myl"); next; next = strstr(next + 1, "_myl"))
        at = next;
    if (!at || at[4] < '0' || at[4] > '9')
        return -1;
    long number = 0;
    for (at += 4; *at >= '0' && *at <= '9' && number < 1000000; at++)
        number = number * 10 + (*at - '0');
    return *at == '_' ? number : -1;
}

/* Marks in stamp what the node reaches, going forward through the steps in order. */
static void mark_after(struct ulp_layer_map *mapping, size_t first)
{
    const struct ulp_block *block = mapping->main;
    mapping->stamp[first] = ++mapping->stamp_now;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        for (size_t i = 0; i < step->input_count; i++) {
            const struct ulp_step *from = ulp_block_producer(block, step->inputs[i]);
            if (from && mapping->stamp[from->number] == mapping->stamp_now)
                mapping->stamp[step->number] = mapping->stamp_now;
        }
    }
}

/* Nodes on ways from the first to the last, with both, that no other layer names. */
static enum ulp_status take_between(struct ulp_layer_map *mapping, size_t layer, size_t first,
                                    size_t last, struct ulp_error *error)
{
    struct region region = {.mapping = mapping, .first = layer, .last = layer};
    mark_after(mapping, first);
    const uint32_t after = mapping->stamp_now, before = ++mapping->stamp_now;
    if (mapping->stamp[last] != after)
        return ULP_OK;
    mapping->stamp[last] = before;
    mapping->stack[region.count++] = last;
    for (size_t at = 0; at < region.count; at++) {
        const struct ulp_step *step = mapping->program->nodes[mapping->stack[at]].step;
        for (size_t i = 0; i < step->input_count; i++) {
            const struct ulp_step *from = ulp_block_producer(mapping->main, step->inputs[i]);
            if (!from || mapping->stamp[from->number] != after || from->folded)
                continue;
            mapping->stamp[from->number] = before;
            mapping->stack[region.count++] = from->number;
        }
    }
    return take_region(&region, layer, ULP_MAPPED_BOUND, ULP_BUILT_INSIDE, error);
}

static enum ulp_status bound_foreign(struct ulp_layer_map *mapping, size_t l, bool *reads,
                                     struct ulp_error *error)
{
    struct region region = {.mapping = mapping, .first = l, .last = l, .reads = reads};
    ptrdiff_t first, last;
    if (!ulp_foreign_ends(mapping, mapping->built->layers[l].layer->name, &first, &last))
        return ULP_OK;
    walk(&region, reads);
    if (region.count && region.closed)
        return take_region(&region, l, ULP_MAPPED_BOUND, ULP_BUILT_INSIDE, error);
    return first >= 0 && last >= 0 && mapping->program->nodes[first].block == mapping->main &&
                   mapping->program->nodes[last].block == mapping->main
               ? take_between(mapping, l, (size_t)first, (size_t)last, error)
               : ULP_OK;
}

/* Rows of one graph follow one another; what lies between their common borders and has no row of
 * its own is somewhere among them. */
static enum ulp_status bound_myelin(struct ulp_layer_map *mapping, size_t first, size_t last,
                                    bool *reads, struct ulp_error *error)
{
    struct region region = {.mapping = mapping, .first = first, .last = last, .reads = reads};
    walk(&region, reads);
    size_t to = last;
    for (size_t l = first; l <= last; l++)
        if (mapping->built->layers[l].by == ULP_MAPPED_NOT &&
            mapping->built->layers[l].layer->output_count)
            to = l;
    return region.closed ? take_region(&region, to, ULP_MAPPED_BOUND, ULP_BUILT_TAKEN, error)
                         : ULP_OK;
}

static enum ulp_status bound_regions(struct ulp_layer_map *mapping, bool *reads,
                                     struct ulp_error *error)
{
    const struct ulp_engine_map *built = mapping->built;
    for (size_t l = 0; l < built->layer_count;) {
        const long graph = myelin_graph(built->layers[l].layer->name);
        size_t end = l + 1;
        while (graph >= 0 && end < built->layer_count &&
               myelin_graph(built->layers[end].layer->name) == graph)
            end++;
        ULP_TRY(graph >= 0 ? bound_myelin(mapping, l, end - 1, reads, error)
                           : bound_foreign(mapping, l, reads, error));
        l = end;
    }
    return ULP_OK;
}

enum ulp_status ulp_mapping_tensors(struct ulp_layer_map *mapping, struct ulp_error *error)
{
    struct ulp_engine_map *built = mapping->built;
    ULP_TAKE_ARRAY(bool, reads, mapping->arena, mapping->main->slot_count + 1, error);
    ULP_TRY(index_tensors(mapping, error));
    for (size_t l = 0; l < built->layer_count; l++) {
        struct region region = {.mapping = mapping, .first = l, .last = l, .reads = reads};
        for (size_t t = 0; t < built->layers[l].layer->output_count; t++)
            mapping->named +=
                find_tensor_value(mapping, built->layers[l].layer->outputs[t].name) >= 0;
        ptrdiff_t first, last;
        if (is_copy(&built->layers[l]) ||
            ulp_foreign_ends(mapping, built->layers[l].layer->name, &first, &last))
            continue;
        walk(&region, reads);
        if (region.closed)
            ULP_TRY(take_region(&region, l, ULP_MAPPED_TENSORS,
                                built->layers[l].node_count ? ULP_BUILT_TAKEN : ULP_BUILT_MAPPED,
                                error));
    }
    return bound_regions(mapping, reads, error);
}

/* ---- what is left ---- */

enum { NO_LAYER = -1, SEVERAL_LAYERS = -2 };

/* The only layer of the nodes that compute its inputs. */
static ptrdiff_t find_source(const struct ulp_layer_map *mapping, size_t node)
{
    const struct ulp_step *step = mapping->program->nodes[node].step;
    ptrdiff_t found = NO_LAYER;
    for (size_t i = 0; i < step->input_count; i++) {
        const struct ulp_step *from =
            ulp_block_producer(mapping->program->nodes[node].block, step->inputs[i]);
        const ptrdiff_t layer = from ? mapping->built->nodes[from->number].layer : NO_LAYER;
        if (layer >= 0 && found >= 0 && found != layer)
            return SEVERAL_LAYERS;
        found = layer >= 0 ? layer : found;
    }
    return found;
}

/* By node: the only layer of those that read its results. */
static void find_readers(const struct ulp_layer_map *mapping, ptrdiff_t *readers)
{
    for (size_t n = 0; n < mapping->program->node_count; n++)
        readers[n] = NO_LAYER;
    for (size_t n = 0; n < mapping->program->node_count; n++) {
        const struct ulp_step *step = mapping->program->nodes[n].step;
        const ptrdiff_t layer = mapping->built->nodes[n].layer;
        for (size_t i = 0; i < step->input_count && layer >= 0; i++) {
            const struct ulp_step *from =
                ulp_block_producer(mapping->program->nodes[n].block, step->inputs[i]);
            if (!from || readers[from->number] == layer)
                continue;
            readers[from->number] =
                readers[from->number] == NO_LAYER ? layer : (ptrdiff_t)SEVERAL_LAYERS;
        }
    }
}

static bool is_move(const struct ulp_step *step)
{
    return step->bound.op->work == ULP_WORK_MOVE;
}

/* Elementwise work between the nodes of layers is done by one of them. */
static bool may_be_taken(const struct ulp_step *step)
{
    return step->bound.op->work == ULP_WORK_FORMULA && step->bound.op->formula;
}

enum ulp_status ulp_mapping_rest(struct ulp_layer_map *mapping, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(ptrdiff_t, readers, mapping->arena, mapping->program->node_count + 1, error);
    find_readers(mapping, readers);
    for (size_t n = 0; n < mapping->program->node_count; n++) {
        struct ulp_engine_map_node *node = &mapping->built->nodes[n];
        const struct ulp_step *step = mapping->program->nodes[n].step;
        if (!ulp_is_computed(mapping, n)) {
            if (node->layer < 0)
                node->kind = ULP_BUILT_CONSTANT;
            continue;
        }
        if (node->layer >= 0)
            continue;
        if (is_move(step)) {
            node->kind = ULP_BUILT_MOVED;
            continue;
        }
        if (!may_be_taken(step))
            continue;
        ptrdiff_t layer = find_source(mapping, n);
        if (layer < 0)
            layer = readers[n];
        if (layer >= 0)
            ULP_TRY(ulp_mapping_add(mapping, (size_t)layer, n, ULP_BUILT_TAKEN, error));
    }
    return ULP_OK;
}
