/* ONNX's own test cases: a folder with model.onnx and test_data_set_i/{input,output}_j.pb is one
 * case. What is shared by the program (conformance.c), the run of one case (conformance_case.c)
 * and the written list of what is out of scope (conformance_scope.c). */
#pragma once

#include <ulpscope.h>

#include "graph/graph.h"

#define CONFORMANCE_OPSET_MIN 7
#define CASE_PATH_ROOM 4352 /* of a case's folder, at most 4200 bytes, and one of its files */

/* ---- scope: decided by these lists, not by what fails ---- */

struct excuse {
    const char *what, *reason;
};
/* Each ends in a row without `what`. */
extern const struct excuse excused_operators[]; /* by operator name */
extern const struct excuse excused_types[];     /* by ONNX's name of the type */
extern const struct excuse excused_cases[];     /* by the start of the case's name */

/* A case whose data are wrong: `what` is the start of its name, file one of its files and hash the
 * 64-bit FNV-1a hash of that file's bytes, so that a corrected version of the case is run. */
struct wrong_case {
    struct excuse excuse;
    const char *file;
    uint64_t hash;
};
extern const struct wrong_case wrong_cases[];

/* The reason, or NULL: it is in scope. */
const char *find_excuse(const struct excuse *list, const char *what);
/* For a case: folder is its path; model may be NULL when it could not be loaded. */
const char *excuse_case(const char *folder, const struct ulp_model *model);
/* Whether any value has this type, in the graph or in the bodies of its If, Loop and Scan. */
bool graph_has_type(const struct ulp_graph *graph, enum ulp_type type);

/* ---- one case ---- */

enum verdict { VERDICT_PASSED, VERDICT_FAILED, VERDICT_OUT_OF_SCOPE, VERDICT_COUNT };

/* |got - wanted| <= absolute + relative * |wanted| for floats; integers and booleans are compared
 * exactly; NaN equals NaN. */
struct tolerance {
    double relative, absolute;
};

struct case_result {
    enum verdict verdict;
    char op[48]; /* the operator a case of one node tests; "(several)" */
    char message[1024];
};
/* Run the case in a process of its own, so that a crash or a hang is one failed case, as is one
 * that needs more than max_memory bytes. False: no process could be made. */
bool run_case_apart(const char *folder, const struct ulp_arithmetic *arithmetic,
                    const struct tolerance *tolerance, size_t max_memory,
                    struct case_result *result);
