/* The families of operators. */
#include <pthread.h>

#include "base/text/text.h"
#include "ops/operator.h"

#define FAMILY(name) extern const struct ulp_operator ulp_ops_##name[];
#include "ops/family.def"
#undef FAMILY

static const struct ulp_operator *const families[] = {
#define FAMILY(name) ulp_ops_##name,
#include "ops/family.def"
#undef FAMILY
};

#define ROWS_MAX 1024

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct ulp_operator *rows[ROWS_MAX + 1];

static void list_rows(void)
{
    size_t count = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct ulp_operator *op = families[f]; op->name && count < ROWS_MAX; op++)
            rows[count++] = op;
}

const struct ulp_operator *ulp_operator_row(size_t index)
{
    pthread_once(&once, list_rows);
    return index < ROWS_MAX ? rows[index] : NULL;
}

bool ulp_rounds_to_whole(const char *op_type)
{
    return ulp_is_word(op_type, "Round Floor Ceil");
}
