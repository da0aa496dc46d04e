/* The difference of given tokens as text and as JSON. */
#include <math.h>
#include <string.h>
#include <ulpscope/between.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/audit_json.h"
#include "analysis/html/said.h"
#include "analysis/writing/json_value.h"
#include "base/machine/environment.h"

/* A change that leaves more than that of the difference closes nothing to speak of. */
#define CLOSES_LITTLE 0.1

/* A channel that is so many times its head's median one takes that many of its neighbours' steps,
 * where they share a scale: three bits. */
#define STANDS_OUT 8

static const struct ulp_between_cache *find_outlier(const struct ulp_between *b)
{
    const struct ulp_between_cache *worst = NULL;
    for (size_t i = 0; i < b->cache_count; i++)
        if (!worst || b->caches[i].ratio > worst->ratio)
            worst = &b->caches[i];
    return worst;
}

static void say_why(struct ulp_text *out, const struct ulp_between *b)
{
    ulp_text_add(out, "at most %.2g at token %zu, %+.2g on average", b->most, b->most_at, b->mean);
    if (!isnan(b->kl))
        ulp_text_add(out, "; KL %.2g nats, %.0f first choice%s change", b->kl, b->flips,
                     b->flips == 1 ? "" : "s");
    ulp_text_show(out, "; from %s the first is off by %.2g nats, the second by %.2g", b->reference,
                  b->first_error, b->second_error);
    if (!isnan(b->own_share))
        ulp_text_add(out, "; %zu node%s other results on equal inputs", b->own_count,
                     b->own_count == 1 ? " gives" : "s give");
    if (fabs(1 - b->own_share) < 0.005)
        ulp_text_add(out, ", and all of it is rounded there");
    else if (!isnan(b->own_share))
        ulp_text_add(out, ", and %.0f %% of it is rounded there, the rest behind them",
                     100 * b->own_share);
    if (fabs(1 - b->explained) > ULP_ATTRIBUTION_WHOLE)
        ulp_text_add(out, "; shares sum to %.2g: errors are large for derivatives", b->explained);
    if (b->node_count && b->nodes[0].share > 0)
        ulp_text_show(out, "; most at node %zu %s (%s): %.0f %%", b->nodes[0].index,
                      b->nodes[0].name, b->nodes[0].op, 100 * b->nodes[0].share);
    if (b->head_count && b->heads[0].node == b->nodes[0].index && b->heads[0].share > 0)
        ulp_text_add(out, ", of its head %zu alone %.0f %%", b->heads[0].head,
                     100 * b->heads[0].share);
    if (!isnan(b->law)) {
        const bool told = fabs(b->law) > 2 * b->law_error;
        ulp_text_add(out, "; %scontext^%.2f, give or take %.2f%s",
                     told ? "its rms goes as "
                          : "whether it grows with the context cannot be told by so many tokens (",
                     b->law, b->law_error, told ? "" : ")");
    }
    const struct ulp_between_cache *cache = find_outlier(b);
    if (cache && cache->ratio > STANDS_OUT)
        ulp_text_show(out, "; of the %s of %s channel %zu of head %zu is %.0f times the median one",
                      cache->what, cache->name, cache->channel, cache->head, cache->ratio);
    if (b->no_shares)
        ulp_text_show(out, "; no shares: %s", b->no_shares);
}

/* The command that says what each of both loses, with why it is to be run. */
static void say_audit(struct ulp_text *out, const struct ulp_between *b, const char *why)
{
    ulp_text_show(out, "ulpscope audit %s -a %s,%s # %s", b->arguments, b->first, b->second, why);
}

/* What caches alone make of it: both in an arithmetic that rounds little else. */
static void say_alone(struct ulp_text *out, const struct ulp_between *b)
{
    static const char *const parts[] = {",keys=", ",values=", ",cached=", ",key-scale=",
                                        ",value-scale="};
    ulp_text_show(out, "ulpscope audit %s --between fp32,written-attention=kernel,fp32",
                  b->arguments);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const char *at = strstr(b->second, parts[p]);
        if (at)
            ulp_text_show(out, "%.*s", 1 + (int)strcspn(at + 1, ","), at);
    }
    ulp_text_add(out,
                 " # the caches alone: %.0f %% of it is other rounding, of values that they "
                 "moved",
                 100 * (1 - b->own_share));
}

static void say_todo(struct ulp_text *out, const struct ulp_between *b)
{
    const struct ulp_between_change *best = b->changes;
    if (b->cache_count && b->own_share < 0.5)
        say_alone(out, b);
    else if (!b->change_count)
        say_audit(out, b, "no change of the second was tried: says what each loses");
    else if (!(best->closes >= CLOSES_LITTLE))
        say_audit(out, b, "no change tried closes a tenth of it: says what each loses, and where");
    else
        ulp_text_show(out, "%s: %.2g nats are left (of %zu changes tried)", best->what, best->nats,
                      b->change_count);
}

static void conclude(struct ulp_headline *head, const void *between, size_t part)
{
    const struct ulp_between *b = between;
    (void)part;
    if (b->nonfinite)
        ulp_text_show(&head->what,
                      "%s and %s cannot be compared: the log-probability of %zu of the %zu given "
                      "tokens is not finite in one or both (%s)",
                      b->first, b->second, b->nonfinite, b->token_count, b->tokens);
    else if (b->nats > 0)
        ulp_text_show(&head->what,
                      "%s and %s differ by %.2g nats a token (mean of %zu given tokens: %s)",
                      b->first, b->second, b->nats, b->token_count, b->tokens);
    else
        ulp_text_show(&head->what,
                      "%s and %s give the %zu given tokens equal log-probabilities (%s)", b->first,
                      b->second, b->token_count, b->tokens);
    if (b->nonfinite)
        say_audit(&head->todo, b, "names the node where they begin");
    else if (b->nats > 0) {
        say_why(&head->why, b);
        say_todo(&head->todo, b);
    }
    ulp_headline_drawn(head, b->drawn);
}

static const struct ulp_said said = {"between", &ulp_struct_between, .conclude = conclude};
ULP_SAID_TEXT(between, ulp_between, said, ULP_PAGE_RANKED)
ULP_SAID_WRITE(between, ulp_between, said)
