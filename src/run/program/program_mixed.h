/* A lane with kept nodes as a graph with types: which type each node gets, and the graph's file. */
#pragma once

#include <ulpscope/mixed.h>

#include "load/mixed/mixed.h"
#include "run/program/program.h"

struct ulp_mixed_types {
    enum ulp_type *node;       /* by node; UNDEFINED: it is no work, and stays as declared */
    enum ulp_widened *widened; /* by node */
    enum ulp_type **outputs; /* by node and output: as declared or inferred; a run knows them all */
    enum ulp_type low;       /* of the lane's own arithmetic */
    enum ulp_constants constants; /* as that lowers them */
    bool mixes;                   /* nodes have more than one type */
    bool differs;                 /* some have another than the model declares */
    bool casts_first;             /* of lanes that are ONNX Runtime's CUDA provider (mixed.h) */
};

/* Outputs as they are declared or inferred, in memory of the arena, before the lane's nodes have
 * types. */
enum ulp_status ulp_mixed_types_begin(const struct ulp_program *program,
                                      struct ulp_mixed_types *out, struct ulp_arena *arena,
                                      struct ulp_error *error);
/* The types of the lane's nodes; where these are as declared, by `outputs`. ULP_ERROR_UNSUPPORTED:
 * a node's arithmetic stores in a format that is no type, or in which nothing would differ from the
 * file (TF32). */
enum ulp_status ulp_mixed_types_find(const struct ulp_program *program, size_t lane,
                                     struct ulp_mixed_types *out, struct ulp_error *error);
/* Are there types in bodies that are not known, because no run has computed them? */
bool ulp_mixed_types_lack(const struct ulp_program *program, const struct ulp_mixed_types *types);
/* Such bodies stay as declared. */
void ulp_mixed_types_leave(const struct ulp_program *program, struct ulp_mixed_types *types);
/* The type that an arithmetic stores in; UNDEFINED: none. */
enum ulp_type ulp_mixed_type(const struct ulp_arithmetic *arithmetic);

/* Write the program's model with these types (load/mixed/mixed.h). */
enum ulp_status ulp_mixed_types_write(const struct ulp_program *program,
                                      const struct ulp_mixed_types *types, enum ulp_type io,
                                      const char *path, struct ulp_mixed_written *out,
                                      struct ulp_error *error);
