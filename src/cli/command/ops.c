/* ulpscope ops: listing operators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

static const char documentation[] =
    "List the operators that this version computes: name, opset versions, and the formula that "
    "defines the operator, or the formulas that its computation calls."
    "\vExamples:\n"
    "  ulpscope ops              every operator\n"
    "  ulpscope ops Softmax Gelu their rows with formulas";

static int compare_rows(const void *a, const void *b)
{
    const struct ulp_operator_info *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = (x->since > y->since) - (x->since < y->since);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static struct ulp_operator_info *read_rows(size_t *count)
{
    struct ulp_operator_info row, *rows;
    for (*count = 0; ulp_operator_info(*count, &row); ++*count)
        ;
    rows = calloc(*count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < *count; i++)
        ulp_operator_info(i, &rows[i]);
    if (rows)
        qsort(rows, *count, sizeof *rows, compare_rows);
    return rows;
}

static void print_row(const struct ulp_operator_info *row)
{
    char versions[32];
    if (row->until)
        snprintf(versions, sizeof versions, "%d-%d", row->since, row->until);
    else
        snprintf(versions, sizeof versions, "%d-", row->since);
    say(stdout, "%s%s%-*s opset %-7s %s%s\n", row->domain, *row->domain ? "." : "",
        *row->domain ? 1 : 28, row->name, versions,
        row->formula ? "formula: "
        : row->text  ? "contraction, then "
                     : row->work,
        row->text ? row->text : "");
    const char *text;
    for (size_t i = 0; (text = ulp_operator_info_formula(row->index, i)); i++)
        say(stdout, "%44s with formula: %s\n", "", text);
}

/* How many of the names are no operator's; each is said. */
static int check_names(const struct ulp_operator_info *rows, size_t count, int name_count,
                       char **names)
{
    int unknown = 0;
    for (int n = 0; n < name_count; n++) {
        bool known = false;
        for (size_t i = 0; i < count && !known; i++)
            known = strcmp(names[n], rows[i].name) == 0;
        if (!known)
            say(stderr, "ulpscope: this version has no operator '%s' (ulpscope ops lists all)\n",
                names[n]);
        unknown += !known;
    }
    return unknown;
}

int command_ops(int argc, char **argv)
{
    static const struct argp argp = {.args_doc = "[OPERATOR...]", .doc = documentation};
    int first = argc;
    const int code = parse_words(&argp, argc, argv, &first, NULL);
    if (code != ULP_OK)
        return code;
    size_t count, names = 0, formulas = 0;
    struct ulp_operator_info *rows = read_rows(&count);
    if (!rows)
        return fail_memory();
    int unknown = check_names(rows, count, argc - first, argv + first);
    for (size_t i = 0; i < count; i++) {
        bool wanted = first >= argc;
        for (int a = first; a < argc; a++)
            wanted |= strcmp(argv[a], rows[i].name) == 0;
        formulas += rows[i].formula;
        names += i == 0 || strcmp(rows[i].name, rows[i - 1].name) != 0 ||
                 strcmp(rows[i].domain, rows[i - 1].domain) != 0;
        if (wanted)
            print_row(&rows[i]);
    }
    free(rows);
    if (first >= argc)
        say(stdout, "%zu operators in %zu rows, %zu of the rows are formulas\n", names, count,
            formulas);
    return unknown ? ULP_ERROR_UNSUPPORTED : ULP_OK;
}
