/* Counting how many operators of each opset are covered: onnx_operators.def says what exists, the
 * operator table what is covered. */
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/coverage.h"

static const struct onnx_operator {
    const char *name, *versions;
    int removed; /* the opset without it; 0: it still exists */
} onnx_operators[] = {
#define OPERATOR(name, versions, removed) {name, versions, removed},
#include "tests/conformance/onnx_operators.def"
#undef OPERATOR
};
#define ONNX_COUNT (sizeof onnx_operators / sizeof *onnx_operators)

static bool exists(const struct onnx_operator *op, int opset)
{
    return atoi(op->versions) <= opset && (!op->removed || opset < op->removed);
}

static bool is_covered(const char *name, int opset)
{
    struct ulp_operator_info row;
    for (size_t i = 0; ulp_operator_info(i, &row); i++)
        if (*row.domain == '\0' && strcmp(row.name, name) == 0 && row.since <= opset &&
            (!row.until || opset <= row.until))
            return true;
    return false;
}

static void print_opset(FILE *out, int opset)
{
    size_t existing = 0, covered = 0;
    for (size_t i = 0; i < ONNX_COUNT; i++)
        if (exists(&onnx_operators[i], opset)) {
            existing++;
            covered += is_covered(onnx_operators[i].name, opset);
        }
    fprintf(out, "%5d %9zu %9zu %9zu\n", opset, existing, covered, existing - covered);
}

int print_coverage(FILE *out)
{
    int unexplained = 0;
    fputs("ai.onnx\nopset operators   covered   missing\n", out);
    for (int opset = COVERAGE_OPSET_MIN; opset <= COVERAGE_OPSET_MAX; opset++)
        print_opset(out, opset);
    fputs("missing, with the opsets and the reason\n", out);
    for (size_t i = 0; i < ONNX_COUNT; i++) {
        const struct onnx_operator *op = &onnx_operators[i];
        int first = 0, last = 0;
        for (int opset = COVERAGE_OPSET_MIN; opset <= COVERAGE_OPSET_MAX; opset++)
            if (exists(op, opset) && !is_covered(op->name, opset)) {
                first = first ? first : opset;
                last = opset;
            }
        const char *reason = find_excuse(excused_operators, op->name);
        if (first)
            fprintf(out, "  %-28s %2d-%-2d  %s\n", op->name, first, last,
                    reason ? reason : "NO REASON IS WRITTEN DOWN");
        unexplained += first && !reason;
    }
    return unexplained;
}
