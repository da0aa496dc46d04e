/* libFuzzer's entry, which scripts/fuzz links with -fsanitize=fuzzer: ULPSCOPE_FUZZ names the
 * target. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("ULPSCOPE_FUZZ");
    (void)argc, (void)argv;
    for (size_t i = 0; name && (target = fuzz_target(i)) && strcmp(target->name, name) != 0; i++)
        ;
    if (!target) {
        fprintf(stderr, "ULPSCOPE_FUZZ names no target of tests/fuzz/target.def\n");
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const char *wrong = target->run(bytes, count);
    if (wrong) {
        fprintf(stderr, "fuzz_%s: %s\n", target->name, wrong);
        abort();
    }
    return 0;
}
