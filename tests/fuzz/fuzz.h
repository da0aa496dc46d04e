/* Parsers fed with arbitrary bytes. Each function returns NULL, or what is wrong: a status that the
 * parser's header does not promise, a message that is not one clean line, a result that breaks a
 * promise. scripts/fuzz runs them under libFuzzer; what it found is kept in tests/fuzz/corpus,
 * which tests/fuzz/check_corpus.c reads again. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <ulpscope.h>

#define FUZZ_TARGET(name, meaning) const char *fuzz_##name(const uint8_t *bytes, size_t count);
#include "tests/fuzz/target.def"
#undef FUZZ_TARGET

typedef const char *fuzz_function(const uint8_t *bytes, size_t count);
struct fuzz_target {
    const char *name, *meaning;
    fuzz_function *run;
};
/* Index 0, 1, ... until NULL. */
const struct fuzz_target *fuzz_target(size_t index);

/* Of a parser that failed: NULL where the status is one of `allowed` (bits 1 << status) and the
 * message one clean line, of UTF-8 without control characters. */
const char *fuzz_failure(enum ulp_status status, unsigned allowed, const struct ulp_error *error);
#define FUZZ_ALLOW(status) (1u << (status))
/* What a file may be refused for. */
#define FUZZ_FILE \
    (FUZZ_ALLOW(ULP_ERROR_INPUT) | FUZZ_ALLOW(ULP_ERROR_UNSUPPORTED) | FUZZ_ALLOW(ULP_ERROR_MEMORY))

/* The path of a file in memory that holds the bytes until the next call. */
const char *fuzz_file(const uint8_t *bytes, size_t count);
/* The bytes as text (malloc'd), which ends where a zero byte is. */
char *fuzz_text(const uint8_t *bytes, size_t count);
/* A budget that bounds what a file may ask for; made once. */
struct ulp_budget *fuzz_budget(void);
