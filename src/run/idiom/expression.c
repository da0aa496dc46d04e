/* Formulas of idioms, parsed into parts: products and sums are flat, whatever their grouping. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formula/token.h"
#include "run/idiom/idiom.h"

static const char *const hole_names[ULP_IDIOM_HOLE_COUNT] = {
    [ULP_IDIOM_X] = "x",       [ULP_IDIOM_GAMMA] = "gamma", [ULP_IDIOM_BETA] = "beta",
    [ULP_IDIOM_Q] = "q",       [ULP_IDIOM_K] = "k",         [ULP_IDIOM_V] = "v",
    [ULP_IDIOM_MASK] = "mask", [ULP_IDIOM_LOW] = "low"};

#define DEFINITIONS_MAX 4

struct parser {
    struct ulp_token token; /* the next one, not yet taken */
    struct ulp_idiom_formula *out;
    struct {
        struct ulp_token name;
        int part;
    } definitions[DEFINITIONS_MAX];
    int definition_count, depth;
    bool failed;
};

static int parse_sum(struct parser *p);

static int fail(struct parser *p)
{
    p->failed = true;
    return 0;
}

static struct ulp_token take(struct parser *p)
{
    const struct ulp_token taken = p->token;
    const char *problem = NULL;
    p->token = ulp_token_read(taken.start + taken.length, &problem);
    p->failed |= problem != NULL;
    return taken;
}

static bool take_symbol(struct parser *p, const char *symbol)
{
    const bool is = ulp_token_is(&p->token, symbol);
    if (is)
        take(p);
    return is;
}

static int add_part(struct parser *p, struct ulp_idiom_part part)
{
    const int capacity = (int)(sizeof p->out->parts / sizeof *p->out->parts);
    if (p->out->count == capacity)
        return fail(p);
    p->out->parts[p->out->count] = part;
    return p->out->count++;
}

static int parse_call(struct parser *p, const struct ulp_token *name)
{
    struct ulp_idiom_part call = {.kind = ULP_IDIOM_CALL};
    if (name->length >= sizeof call.name)
        return fail(p);
    memcpy(call.name, name->start, name->length);
    do {
        if (call.count == ULP_IDIOM_ARGUMENTS)
            return fail(p);
        call.arguments[call.count++] = parse_sum(p);
    } while (!p->failed && take_symbol(p, ","));
    return take_symbol(p, ")") ? add_part(p, call) : fail(p);
}

static int parse_name(struct parser *p)
{
    const struct ulp_token name = take(p);
    if (take_symbol(p, "("))
        return parse_call(p, &name);
    for (int d = 0; d < p->definition_count; d++)
        if (name.length == p->definitions[d].name.length &&
            strncmp(p->definitions[d].name.start, name.start, name.length) == 0)
            return p->definitions[d].part;
    for (int h = 0; h < ULP_IDIOM_HOLE_COUNT; h++)
        if (ulp_token_is(&name, hole_names[h]))
            return add_part(p, (struct ulp_idiom_part){.kind = ULP_IDIOM_HOLE,
                                                       .hole = (enum ulp_idiom_hole)h});
    return fail(p);
}

static double combine(enum ulp_idiom_part_kind kind, double a, double b, bool flipped)
{
    if (kind == ULP_IDIOM_SUM)
        return flipped ? a - b : a + b;
    return flipped ? a / b : a * b;
}

/* Another argument of a product or sum; one of the same kind gives its own instead. */
static void add_argument(struct parser *p, struct ulp_idiom_part *to, int part, bool flipped)
{
    const struct ulp_idiom_part *from = &p->out->parts[part];
    if (p->failed)
        return;
    if (from->kind == to->kind) {
        to->constant = combine(to->kind, to->constant, from->constant, flipped);
        to->any |= from->any;
        for (int i = 0; i < from->count; i++)
            add_argument(p, to, from->arguments[i], from->flipped[i] != flipped);
    } else if (to->count == ULP_IDIOM_ARGUMENTS) {
        fail(p);
    } else {
        to->arguments[to->count] = part;
        to->flipped[to->count++] = flipped;
    }
}

static int end_group(struct parser *p, const struct ulp_idiom_part *group, double neutral)
{
    if (group->count == 1 && !group->flipped[0] && group->constant == neutral && !group->any)
        return group->arguments[0];
    return add_part(p, *group);
}

static void parse_factor(struct parser *p, struct ulp_idiom_part *product, bool flipped)
{
    if (take_symbol(p, "$")) {
        take(p);
        product->any = true;
    } else if (p->token.kind == ULP_TOKEN_NUMBER) {
        const double number = strtod(take(p).start, NULL);
        product->constant = combine(ULP_IDIOM_PRODUCT, product->constant, number, flipped);
    } else if (take_symbol(p, "(")) {
        const int inner = parse_sum(p);
        if (!take_symbol(p, ")"))
            fail(p);
        add_argument(p, product, inner, flipped);
    } else {
        const int inner = parse_name(p);
        add_argument(p, product, inner, flipped);
    }
}

/* A product into the sum: numbers become its constant, any or that. */
static void parse_product(struct parser *p, struct ulp_idiom_part *sum, bool flipped)
{
    struct ulp_idiom_part product = {.kind = ULP_IDIOM_PRODUCT, .constant = 1};
    if (take_symbol(p, "-"))
        product.constant = -1;
    parse_factor(p, &product, false);
    for (bool times; !p->failed && ((times = take_symbol(p, "*")) || take_symbol(p, "/"));)
        parse_factor(p, &product, !times);
    if (product.count == 0) {
        sum->any |= product.any;
        sum->constant = combine(ULP_IDIOM_SUM, sum->constant, product.constant, flipped);
    } else {
        const int part = end_group(p, &product, 1);
        add_argument(p, sum, part, flipped);
    }
}

static int parse_sum(struct parser *p)
{
    struct ulp_idiom_part sum = {.kind = ULP_IDIOM_SUM};
    if (++p->depth > 12)
        return fail(p);
    parse_product(p, &sum, false);
    for (bool plus; !p->failed && ((plus = take_symbol(p, "+")) || take_symbol(p, "-"));)
        parse_product(p, &sum, !plus);
    p->depth--;
    return p->failed ? 0 : end_group(p, &sum, 0);
}

enum ulp_status ulp_idiom_parse(const char *text, struct ulp_idiom_formula *out,
                                struct ulp_error *error)
{
    struct parser p = {.token.start = text, .out = out};
    out->count = 0;
    take(&p);
    while (!p.failed && strchr(p.token.start, '=')) {
        if (p.definition_count == DEFINITIONS_MAX)
            return ulp_fail(error, ULP_ERROR_USAGE, "idiom '%s': too many definitions", text);
        const struct ulp_token name = take(&p);
        const int part = take_symbol(&p, "=") ? parse_sum(&p) : fail(&p);
        p.definitions[p.definition_count].name = name;
        p.definitions[p.definition_count++].part = part;
        if (!take_symbol(&p, ";"))
            fail(&p);
    }
    out->root = p.failed ? 0 : parse_sum(&p);
    if (p.failed || p.token.kind != ULP_TOKEN_END)
        return ulp_fail(error, ULP_ERROR_USAGE, "idiom '%s' is not understood at column %d", text,
                        (int)(p.token.start - text) + 1);
    return ULP_OK;
}
