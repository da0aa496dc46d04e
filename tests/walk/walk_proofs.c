/* The walk through proofs by hand: walk_proofs FIRST COUNT, the seeds. Each violation is printed;
 * `random_graph -o FOLDER SEED` writes its graph. Ends with code 1 where there was one. */
#include "proof_walk.h"
#include "tests/support/test.h"

static struct proof_walk *walk;
static uint64_t first, count;

TEST(seeds)
{
    proof_walk_run(walk, first, count, SIZE_MAX, true);
    ck_assert_msg(walk->violations == 0, "%zu violations", walk->violations);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s FIRST COUNT\n", argv[0]);
        return 2;
    }
    first = strtoull(argv[1], NULL, 10);
    count = strtoull(argv[2], NULL, 10);
    walk = proof_walk_create();
    const int code = test_main("walk_proofs", 24 * 3600, NULL);
    proof_walk_print(walk);
    return code;
}
