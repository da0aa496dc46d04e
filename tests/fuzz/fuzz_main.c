/* fuzz_load FILE...: loads every file. fuzz_load -n COUNT [-s SEED] FILE...: loads COUNT damaged
 * copies of each as well, and says which seed found something. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "base/machine/file.h"
#include "tests/fuzz/fuzz_load.h"

static int try_bytes(const char *path, const uint8_t *bytes, size_t count, uint64_t seed,
                     const char *what)
{
    const char *wrong = fuzz_load(bytes, count);
    if (wrong)
        printf("%s, %s %llu: %s\n", path, what, (unsigned long long)seed, wrong);
    return wrong != NULL;
}

int main(int argc, char **argv)
{
    uint64_t mutations = 0, seed = 1;
    int first = 1, found = 0;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        *(argv[first][1] == 'n' ? &mutations : &seed) = strtoull(argv[first + 1], NULL, 0);
    for (int i = first; i < argc; i++) {
        unsigned char *bytes;
        size_t count, damaged_count;
        struct ulp_error error;
        if (ulp_file_read(argv[i], (size_t)1 << 30, NULL, &bytes, &count, &error) != ULP_OK) {
            fprintf(stderr, "%s\n", error.message);
            return EXIT_FAILURE;
        }
        found += try_bytes(argv[i], bytes, count, 0, "undamaged");
        for (uint64_t m = 0; m < mutations; m++) {
            uint8_t *damaged = fuzz_mutate(bytes, count, seed + m, &damaged_count);
            found += try_bytes(argv[i], damaged, damaged_count, seed + m, "seed");
            free(damaged);
        }
        ulp_free(bytes);
    }
    return found ? EXIT_FAILURE : EXIT_SUCCESS;
}
