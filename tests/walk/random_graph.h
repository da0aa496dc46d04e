/* Random models over every row of the operator table, for walks through proofs and commands: a few
 * nodes wired together, made from the cases, hints and variants of the operators' harness, in
 * bodies of If, Loop and Scan too; integers that are constants, inputs of the graph or computed;
 * ranges of the inputs, from single points and zeros to numbers beyond the formats; an arithmetic.
 * Nothing here knows what is proven about operators. A seed gives the same graph on every machine,
 * for one version of the operator table. */
#pragma once

#include <ulpscope/run.h>

#include "tests/support/proto.h"

#define RANDOM_INPUTS_MAX 12
#define RANDOM_NODES_MAX 64

struct random_input {
    char name[24];
    enum ulp_type type;
    int rank;
    int64_t dims[ULP_RANK_MAX];
    double low, high; /* of BOOL, which has no range: 0 and 1 */
};
struct random_graph {
    uint64_t seed;
    struct proto model; /* the file */
    char arithmetic[200];
    size_t input_count, node_count;
    struct random_input inputs[RANDOM_INPUTS_MAX];
    struct random_node {
        char name[48];
        size_t row; /* index of ulp_operator_row */
    } nodes[RANDOM_NODES_MAX];
};

/* The seed's graph, which loads and runs in FP32 on its sample 0. Free it with
 * random_graph_free. */
void random_graph_make(uint64_t seed, struct random_graph *out);
void random_graph_free(struct random_graph *graph);

/* Sample n of inputs inside the ranges: 0 uniform, 1 and 2 the lower and upper ends, 3 both by
 * turns, then by turns mostly ends, uniform, one element apart, and magnitudes uniform in their
 * logarithm. Free it with ulp_tensor_set_free. */
void random_graph_sample(const struct random_graph *graph, uint64_t n, struct ulp_tensor_set *out);
/* Element e of input i in that sample. */
double random_graph_element(const struct random_graph *graph, size_t i, uint64_t n, size_t e,
                            size_t count);

/* The ranges as options "--val-range=NAME=LOW,HIGH", one on a line, to be freed. */
char *random_graph_options(const struct random_graph *graph);

/* The name of an arithmetic that there is, drawn from all bases, formats and parts. */
void random_arithmetic(uint64_t key, char *out, size_t size);
