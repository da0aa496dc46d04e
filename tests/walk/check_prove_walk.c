/* No proof of a random graph is false (proof_walk.h): a fixed sample of seeds, in `make check-long`
 * as many as have 10^7 tensors, which reach every row of the operator table. */
#include "proof_walk.h"
#include "tests/support/test.h"

#define GRAPHS 500
#define TENSORS_LONG 10000000

static struct proof_walk *walk;

TEST(no_proof_is_false)
{
    static char missing[6000];
    proof_walk_run(walk, 1, test_count(GRAPHS, UINT64_C(10000000)),
                   test_long() ? TENSORS_LONG : SIZE_MAX, false);
    for (size_t f = 0; f < walk->violations && f < WALK_FAILURES_MAX; f++)
        fprintf(stderr, "%s\n", walk->failures[f]);
    ck_assert_msg(walk->violations == 0, "%zu violations", walk->violations);
    const size_t rows = proof_walk_missing(walk, missing, sizeof missing);
    ck_assert_msg(!test_long() || rows == 0, "%zu rows are not reached: %s", rows, missing);
}

int main(void)
{
    walk = proof_walk_create();
    const int code = test_main("prove_walk", test_long() ? 7200 : 120, NULL);
    proof_walk_print(walk);
    return code;
}
