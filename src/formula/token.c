/* Cutting a formula into tokens. */
#include "formula/token.h"

#include <string.h>

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_part(char c)
{
    return is_name_start(c) || is_digit(c);
}

/* Length of the number at s: decimal or hexadecimal float, or 0 when s does not start one. */
static size_t scan_number(const char *s)
{
    const bool hexadecimal = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    const char *at = hexadecimal ? s + 2 : s;
    size_t digits = 0;
    for (bool point = false;; at++) {
        if (is_digit(*at) || (hexadecimal && *at && strchr("abcdefABCDEF", *at)))
            digits++;
        else if (*at == '.' && !point)
            point = true;
        else
            break;
    }
    if (!digits)
        return 0;
    if (hexadecimal ? *at == 'p' || *at == 'P' : *at == 'e' || *at == 'E') {
        const char *exponent = at + 1;
        if (*exponent == '+' || *exponent == '-')
            exponent++;
        if (is_digit(*exponent)) {
            while (is_digit(*exponent))
                exponent++;
            at = exponent;
        }
    }
    return (size_t)(at - s);
}

struct ulp_token ulp_token_read(const char *s, const char **problem)
{
    static const char *const doubles[] = {"||", "&&", "==", "!=", "<=", ">="};
    while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
        s++;
    struct ulp_token token = {.kind = ULP_TOKEN_SYMBOL, .start = s, .length = 1};
    if (!*s) {
        token = (struct ulp_token){.kind = ULP_TOKEN_END, .start = s};
    } else if (is_name_start(*s)) {
        token.kind = ULP_TOKEN_NAME;
        while (is_name_part(s[token.length]))
            token.length++;
    } else if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
        token.kind = ULP_TOKEN_NUMBER;
        token.length = scan_number(s);
        if (!token.length || is_name_part(s[token.length]) || s[token.length] == '.') {
            token.length = 1;
            *problem = "malformed number";
        }
    } else if (strchr("=;?:+-*/<>!(),|&$", *s)) {
        for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
            if (!strncmp(s, doubles[i], 2))
                token.length = 2;
    } else {
        *problem = "unexpected character";
    }
    return token;
}

bool ulp_token_is(const struct ulp_token *token, const char *text)
{
    return token->length == strlen(text) && !strncmp(token->start, text, token->length);
}
