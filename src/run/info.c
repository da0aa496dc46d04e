/* The version and the operator table, as the public headers show them. */
#include <pthread.h>
#include <ulpscope.h>

#include "base/machine/cpu.h"
#include "config.h"
#include "ops/operator.h"

const char *ulp_version(void)
{
    return PACKAGE_VERSION;
}

static char sets[ULP_CPU_NAMES_BYTES];
static pthread_once_t sets_once = PTHREAD_ONCE_INIT;

static void name_sets(void)
{
    ulp_cpu_names(sets, ulp_cpu_features());
}

const char *ulp_instruction_sets(void)
{
    pthread_once(&sets_once, name_sets);
    return sets;
}

bool ulp_operator_info(size_t index, struct ulp_operator_info *out)
{
    static const char *const works[] = {[ULP_WORK_FORMULA] = "formulas",
                                        [ULP_WORK_MOVE] = "moves elements",
                                        [ULP_WORK_CONTRACTION] = "contraction",
                                        [ULP_WORK_CONTROL] = "control flow"};
    const struct ulp_operator *row = ulp_operator_row(index);
    if (!row)
        return false;
    *out = (struct ulp_operator_info){.name = row->name,
                                      .domain = row->domain ? row->domain : "",
                                      .since = row->since,
                                      .until = row->until,
                                      .formula = row->formula != NULL,
                                      .work = works[row->work],
                                      .text = row->formula ? row->formula : row->epilogue,
                                      .index = index};
    return true;
}

const char *ulp_operator_info_formula(size_t index, size_t i)
{
    const struct ulp_operator *row = ulp_operator_row(index);
    if (!row || !row->formulas)
        return NULL;
    for (size_t k = 0; k < i; k++)
        if (!row->formulas[k])
            return NULL;
    return row->formulas[i] ? row->formulas[i]->text : NULL;
}
