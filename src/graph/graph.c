/* Looking at a loaded model, and freeing it. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"

void ulp_model_free(struct ulp_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->tensor_count; i++)
        ulp_tensor_free(model->tensors[i]);
    for (size_t i = 0; i < model->mapping_count; i++)
        if (model->mappings[i].address)
            munmap(model->mappings[i].address, model->mappings[i].bytes);
    ulp_free(model->tensors);
    free(model->mappings);
    free(model->path);
    free(model->arguments);
    ulp_free(model->bytes);
    ulp_arena_free(model->arena);
    free(model);
}

const char *ulp_domain_normal(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

const struct ulp_attribute *ulp_node_attribute(const struct ulp_node *node, const char *name)
{
    for (size_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}

int64_t ulp_node_int(const struct ulp_node *node, const char *name, int64_t fallback)
{
    const struct ulp_attribute *found = ulp_node_attribute(node, name);
    return found && found->kind == ULP_ATTRIBUTE_INT && !found->reference ? found->i : fallback;
}

double ulp_node_float(const struct ulp_node *node, const char *name, double fallback)
{
    const struct ulp_attribute *found = ulp_node_attribute(node, name);
    return found && found->kind == ULP_ATTRIBUTE_FLOAT && !found->reference ? found->f : fallback;
}

const struct ulp_node *ulp_value_producer(const struct ulp_graph *graph, int value)
{
    const int producer = value < 0 ? -1 : graph->values[value].producer;
    return producer < 0 ? NULL : &graph->nodes[producer];
}

const struct ulp_tensor *ulp_value_constant(const struct ulp_graph *graph, int value)
{
    const struct ulp_node *producer = ulp_value_producer(graph, value);
    if (value >= 0 && graph->values[value].initializer)
        return graph->values[value].initializer;
    if (!producer || strcmp(producer->op_type, "Constant") != 0)
        return NULL;
    const struct ulp_attribute *attribute = ulp_node_attribute(producer, "value");
    return attribute && attribute->kind == ULP_ATTRIBUTE_TENSOR ? attribute->tensor : NULL;
}

const char *ulp_model_path(const struct ulp_model *model)
{
    return model->path;
}

enum ulp_status ulp_model_set_arguments(struct ulp_model *model, const char *arguments,
                                        bool nonfinite_inputs_meant, struct ulp_error *error)
{
    char *copy = strdup(arguments);
    ULP_TRY(ulp_taken(copy, error));
    free(model->arguments);
    model->arguments = copy;
    model->nonfinite_inputs_meant = nonfinite_inputs_meant;
    return ULP_OK;
}

enum ulp_status ulp_model_check_file(const struct ulp_model *model, struct ulp_error *error)
{
    return model->at_path || model->bytes
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT,
                          "%s: the model was loaded from bytes, expected a file: write them to "
                          "one, and load that",
                          model->path);
}

struct ulp_budget *ulp_model_budget(const struct ulp_model *model)
{
    return model->budget.root;
}

int64_t ulp_model_ir_version(const struct ulp_model *model)
{
    return model->ir_version;
}

int64_t ulp_model_opset(const struct ulp_model *model, const char *domain)
{
    return ulp_opset_find(model->opsets, model->opset_count, ulp_domain_normal(domain));
}

size_t ulp_model_node_count(const struct ulp_model *model)
{
    return model->graph->node_count;
}

const char *ulp_model_node_name(const struct ulp_model *model, size_t index)
{
    return index < model->graph->node_count ? model->graph->nodes[index].name : NULL;
}

const char *ulp_model_node_op(const struct ulp_model *model, size_t index)
{
    return index < model->graph->node_count ? model->graph->nodes[index].op_type : NULL;
}

bool ulp_model_is_read_from(const struct ulp_model *model, const char *path)
{
    struct stat file, own;
    if (stat(path, &file) != 0)
        return false;
    if (model->path && stat(model->path, &own) == 0 && own.st_dev == file.st_dev &&
        own.st_ino == file.st_ino)
        return true;
    for (size_t m = 0; m < model->mapping_count; m++)
        if (model->mappings[m].device == file.st_dev && model->mappings[m].number == file.st_ino)
            return true;
    return false;
}

static bool has_operator(const struct ulp_graph *graph, const char *op)
{
    bool found = false;
    for (size_t n = 0; n < graph->node_count && !found; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        found = strcmp(node->op_type, op) == 0;
        for (size_t a = 0; a < node->attribute_count && !found; a++)
            found = node->attributes[a].kind == ULP_ATTRIBUTE_GRAPH &&
                    has_operator(node->attributes[a].graph, op);
    }
    return found;
}

bool ulp_model_has_operator(const struct ulp_model *model, const char *op)
{
    return has_operator(model->graph, op);
}

size_t ulp_model_input_count(const struct ulp_model *model)
{
    return model->graph->free_input_count;
}

struct ulp_value_info ulp_model_input(const struct ulp_model *model, size_t index)
{
    const struct ulp_graph *graph = model->graph;
    return index < graph->free_input_count ? graph->values[graph->free_inputs[index]].info
                                           : (struct ulp_value_info){.rank = -1};
}

size_t ulp_model_output_count(const struct ulp_model *model)
{
    return model->graph->output_count;
}

struct ulp_value_info ulp_model_output(const struct ulp_model *model, size_t index)
{
    const struct ulp_graph *graph = model->graph;
    return index < graph->output_count ? graph->values[graph->outputs[index]].info
                                       : (struct ulp_value_info){.rank = -1};
}
