/* Looking at a loaded model, and freeing it. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/tensor.h"

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
    ulp_arena_free(model->arena);
    ulp_budget_close(&model->budget);
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

const char *ulp_model_path(const struct ulp_model *model)
{
    return model->path;
}

int64_t ulp_model_ir_version(const struct ulp_model *model)
{
    return model->ir_version;
}

int64_t ulp_model_opset(const struct ulp_model *model, const char *domain)
{
    domain = ulp_domain_normal(domain);
    for (size_t i = 0; i < model->opset_count; i++)
        if (strcmp(model->opsets[i].domain, domain) == 0)
            return model->opsets[i].version;
    return 0;
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

/* The index-th input without an initializer, or NULL. */
static const struct ulp_value *find_free_input(const struct ulp_graph *graph, size_t index)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct ulp_value *value = &graph->values[graph->inputs[i]];
        if (!value->initializer && index-- == 0)
            return value;
    }
    return NULL;
}

size_t ulp_model_input_count(const struct ulp_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->graph->input_count; i++)
        count += !model->graph->values[model->graph->inputs[i]].initializer;
    return count;
}

struct ulp_value_info ulp_model_input(const struct ulp_model *model, size_t index)
{
    const struct ulp_value *value = find_free_input(model->graph, index);
    return value ? value->info : (struct ulp_value_info){.rank = -1};
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
