/* Collecting everything that a model needs and this version lacks, and reporting it in one error.
 */
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/text.h"
#include "run/program/program.h"

/* What a message shows: kinds of trouble, nodes of each, and characters altogether, of which
 * struct ulp_error holds a limited number. */
#define KINDS_SHOWN 20
#define NODES_SHOWN 3
#define LENGTH_SHOWN 6000

struct ulp_problem {
    const char *text; /* what, the key problems are grouped by */
    const char *nodes[NODES_SHOWN], *last;
    size_t count; /* of nodes */
};

enum ulp_status ulp_program_add_problem(struct ulp_program *program, const char *text,
                                        const char *node, struct ulp_error *error)
{
    struct ulp_problems *problems = &program->problems;
    int at = ulp_names_find(&problems->names, text);
    if (at < 0) {
        const char *copy = ulp_arena_copy(program->arena, text);
        at = (int)problems->count;
        ULP_TRY(ulp_taken(copy &&
                              ULP_ARENA_GROWS(problems->items, program->arena, problems->count,
                                              problems->capacity) &&
                              ulp_names_add(&problems->names, copy, at),
                          error));
        problems->items[problems->count++] = (struct ulp_problem){.text = copy};
    }
    struct ulp_problem *problem = &problems->items[at];
    if (problem->last == node)
        return ULP_OK;
    problem->last = node;
    if (problem->count < NODES_SHOWN)
        problem->nodes[problem->count] = node;
    problem->count++;
    return ULP_OK;
}

enum ulp_status ulp_program_add_bind_problem(struct ulp_program *program,
                                             const struct ulp_step *step,
                                             const struct ulp_node *node, const char *message,
                                             struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_text_show(&text, "node %s (%s): ", node->name, node->op_type);
    if (!text.failed && strncmp(message, text.data, text.length) == 0)
        message += text.length;
    ulp_text_free(&text);
    if (strncmp(message, "operator ", 9) == 0)
        return ulp_program_add_problem(program, message, step->name, error);
    ulp_text_add(&text, "%s: %s", node->op_type, message);
    return text.failed ? ulp_out_of_memory(error)
                       : ulp_program_add_problem(program, text.data, step->name, error);
}

/* "\n  what (nodes 'a', 'b', 'c' and 7 more)" */
static void add_line(struct ulp_text *text, const struct ulp_problem *problem)
{
    ulp_text_show(text, "\n  %.300s (node%s ", problem->text, problem->count > 1 ? "s" : "");
    for (size_t i = 0; i < problem->count && i < NODES_SHOWN; i++)
        ulp_text_show(text, i ? ", '%.200s'" : "'%.200s'", problem->nodes[i]);
    if (problem->count > NODES_SHOWN)
        ulp_text_show(text, " and %zu more", problem->count - NODES_SHOWN);
    ulp_text_show(text, ")");
}

enum ulp_status ulp_program_report_problems(const struct ulp_program *program,
                                            struct ulp_error *error)
{
    const struct ulp_problems *problems = &program->problems;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    size_t shown = 0, nodes = 0;
    ulp_text_show(&text, "%s: %zu thing%s this version does not compute:", program->model->path,
                  problems->count, problems->count == 1 ? "" : "s");
    while (shown < problems->count && shown < KINDS_SHOWN && text.length < LENGTH_SHOWN)
        add_line(&text, &problems->items[shown++]);
    for (size_t i = shown; i < problems->count; i++)
        nodes += problems->items[i].count;
    if (nodes)
        ulp_text_show(&text, "\n  and %zu more, in %zu node%s", problems->count - shown, nodes,
                      nodes == 1 ? "" : "s");
    return ulp_fail_lines(error, ULP_ERROR_UNSUPPORTED,
                          text.failed ? "unsupported model" : text.data);
    return ULP_OK;
}
