/* proof.json: its schema is in doc/prove.md. */
#include <stdio.h>
#include <stdlib.h>

#include <ulpscope.h>

#include "analysis/writing/json_value.h"
#include "analysis/writing/folder.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"

#define SCHEMA_VERSION 1

static json_t *make_output(const struct ulp_proof_output *output)
{
    json_t *json = json_object();
    ulp_json_set(&json, "name", ulp_json_text(output->name));
    ulp_json_set(&json, "bound", ulp_json_number(output->bound));
    ulp_json_set(&json, "low", ulp_json_number(output->low));
    ulp_json_set(&json, "high", ulp_json_number(output->high));
    ulp_json_set(&json, "proven", json_boolean(output->verdict == ULP_PROOF_PROVEN));
    ulp_json_set(&json, "verdict", json_string(ulp_proof_verdict_name(output->verdict)));
    ulp_json_set(&json, "elements", json_integer((json_int_t)output->elements));
    ulp_json_set(&json, "unproven", json_integer((json_int_t)output->unproven));
    ulp_json_set(&json, "infinite", json_integer((json_int_t)output->infinite));
    return json;
}

static json_t *make_hidden(const struct ulp_proof_hidden *hidden)
{
    json_t *json = json_object();
    ulp_json_set(&json, "what", ulp_json_text(hidden->what));
    ulp_json_set(&json, "bound", ulp_json_number(hidden->bound));
    ulp_json_set(&json, "limit", ulp_json_number(hidden->limit));
    ulp_json_set(&json, "proven", json_boolean(hidden->proven));
    return json;
}

static json_t *make_node(const struct ulp_proof_node *node)
{
    json_t *json = json_object(), *outputs = json_array(), *hidden = json_array();
    ulp_json_set(&json, "index", json_integer((json_int_t)node->index));
    ulp_json_set(&json, "name", ulp_json_text(node->name));
    ulp_json_set(&json, "op", ulp_json_text(node->op));
    ulp_json_set(&json, "inputs", ulp_json_number(node->inputs));
    ulp_json_set(&json, "normalised", json_boolean(node->normalised));
    for (size_t o = 0; o < node->output_count; o++)
        ulp_json_append(&outputs, make_output(&node->outputs[o]));
    ulp_json_set(&json, "outputs", outputs);
    for (size_t h = 0; h < node->hidden_count; h++)
        ulp_json_append(&hidden, make_hidden(&node->hidden[h]));
    ulp_json_set(&json, "hidden", hidden);
    ulp_json_set(&json, "reason", node->reason ? ulp_json_text(node->reason) : json_null());
    ulp_json_set(&json, "grew", node->grew >= 0 ? json_integer(node->grew) : json_null());
    ulp_json_set(&json, "grew_from",
                 node->grew >= 0 ? ulp_json_number(node->grew_from) : json_null());
    return json;
}

static json_t *make_input(const struct ulp_proof_input *input)
{
    json_t *json = json_object();
    ulp_json_set(&json, "name", ulp_json_text(input->name));
    ulp_json_set(&json, "low", ulp_json_number(input->low));
    ulp_json_set(&json, "high", ulp_json_number(input->high));
    ulp_json_set(&json, "given", json_boolean(input->given));
    ulp_json_set(&json, "sampled", json_boolean(input->sampled));
    ulp_json_set(&json, "beyond", json_boolean(input->beyond));
    ulp_json_set(&json, "why", ulp_json_text(input->why));
    return json;
}

static json_t *make_verdict(const struct ulp_proof *proof)
{
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_proof_summary(proof, 0, false, &text, &ignored);
    return ulp_json_paragraph(text);
}

static json_t *make_document(const struct ulp_proof *proof)
{
    json_t *root = json_object(), *inputs = json_array(), *counts = json_object(),
           *nodes = json_array();
    ulp_json_set(&root, "schema", json_integer(SCHEMA_VERSION));
    ulp_json_set(&root, "ulpscope", json_string(ulp_version()));
    ulp_json_set(&root, "verdict", make_verdict(proof));
    ulp_json_set(&root, "model", ulp_json_text(proof->model_path));
    ulp_json_set(&root, "format", ulp_json_text(proof->arithmetic));
    for (size_t i = 0; i < proof->input_count; i++)
        ulp_json_append(&inputs, make_input(&proof->inputs[i]));
    ulp_json_set(&root, "inputs", inputs);
    for (int v = ULP_PROOF_PROVEN; v <= ULP_PROOF_NOT_PROVEN; v++)
        ulp_json_set(&counts, ulp_proof_verdict_name((enum ulp_proof_verdict)v),
                     json_integer((json_int_t)proof->counts[v]));
    ulp_json_set(&root, "counts", counts);
    ulp_json_set(&root, "hidden_unproven", json_integer((json_int_t)proof->hidden_unproven));
    ulp_json_set(&root, "short_of_memory", json_boolean(proof->short_of_memory));
    ulp_json_set(&root, "seconds", ulp_json_number(proof->seconds));
    for (size_t n = 0; n < proof->node_count; n++)
        ulp_json_append(&nodes, make_node(&proof->nodes[n]));
    ulp_json_set(&root, "nodes", nodes);
    return root;
}

enum ulp_status ulp_proof_write(const struct ulp_proof *proof, const char *folder,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_report_write_json(make_document(proof), folder, "proof.json", error);
}
