/* The words of a formula: names, numbers and symbols. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum ulp_token_kind { ULP_TOKEN_END, ULP_TOKEN_NUMBER, ULP_TOKEN_NAME, ULP_TOKEN_SYMBOL };

struct ulp_token {
    enum ulp_token_kind kind;
    const char *start;
    size_t length;
};

/* The first token of the text, white space skipped; *problem: what is wrong with it, else left. */
struct ulp_token ulp_token_read(const char *text, const char **problem);
bool ulp_token_is(const struct ulp_token *token, const char *text);
