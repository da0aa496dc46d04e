#include "analysis/audit/audit_shares.h"

#include <math.h>
#include <string.h>

const char ulp_attribution_nonfinite[] = "a value is not finite";

/* NULL, and what cannot be compared, is no worse than anything; nor are integers but those that are
 * off by steps. */
static bool is_worse(const struct ulp_audit_output *output, const struct ulp_audit_output *than)
{
    if (!output || output->entire.diverged ||
        (!ulp_type_is_float(output->type) && !(output->entire.max_abs > 0)) ||
        (!output->entire.count && !output->entire.nonfinite))
        return false;
    return !than || output->entire.nonfinite > than->entire.nonfinite ||
           (output->entire.nonfinite == than->entire.nonfinite &&
            output->entire.sqnr_db < than->entire.sqnr_db);
}

/* Of what shares explain: decisions before errors of outputs that are finite. */
static bool is_named_before(const struct ulp_output_shares *one,
                            const struct ulp_audit_output *output,
                            const struct ulp_output_shares *other,
                            const struct ulp_audit_output *than)
{
    if (!other)
        return true;
    if (one->of_decisions == other->of_decisions)
        return is_worse(output, than);
    return one->of_decisions ? !(than && than->entire.nonfinite)
                             : output && output->entire.nonfinite;
}

const struct ulp_audit_output *ulp_audit_worst(const struct ulp_audit_node *node)
{
    const struct ulp_audit_output *worst = NULL;
    for (size_t o = 0; o < node->output_count; o++)
        if (is_worse(&node->outputs[o], worst))
            worst = &node->outputs[o];
    return worst;
}

const char *ulp_share_cause_name(enum ulp_share_cause cause, const char **of_groups,
                                 const char **of_a_node)
{
    static const struct {
        const char *name, *groups, *node;
    } names[] = {
#define CAUSE(NAME, name, groups, node) [ULP_SHARE_##NAME] = {name, groups, node},
#include "analysis/audit/cause.def"
#undef CAUSE
    };
    if (of_groups)
        *of_groups = names[cause].groups;
    if (of_a_node)
        *of_a_node = names[cause].node;
    return names[cause].name;
}

void ulp_shares_divide(struct ulp_output_shares *shares, size_t node_count)
{
    const double count = (double)shares->sample_count;
    if (!shares->sample_count)
        return;
    shares->sum /= count;
    shares->inputs /= count;
    shares->decisions /= count;
    for (size_t n = 0; n < node_count; n++) {
        struct ulp_node_shares *node = &shares->nodes[n];
#define SHARE(name) node->name /= count;
#include "analysis/audit/share.def"
        for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
            node->causes[c] /= count;
    }
}

void ulp_node_shares_add(struct ulp_node_shares *to, const struct ulp_node_shares *from)
{
#define SHARE(name) to->name += from->name;
#include "analysis/audit/share.def"
    for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
        to->causes[c] += from->causes[c];
    if (fabs(from->share_worst) > fabs(to->share_worst))
        to->share_worst = from->share_worst;
    to->stops |= from->stops;
}

void ulp_shares_add(struct ulp_output_shares *sums, const struct ulp_output_shares *sample,
                    size_t node_count)
{
    if (!sample->sample_count)
        return;
    for (size_t n = 0; n < node_count; n++)
        ulp_node_shares_add(&sums->nodes[n], &sample->nodes[n]);
    sums->sum += sample->sum;
    sums->inputs += sample->inputs;
    sums->decisions += sample->decisions;
    sums->of_decisions |= sample->of_decisions;
    if (!sums->sample_count || fabs(sample->worst) > fabs(sums->worst))
        sums->worst = sample->worst;
    sums->sample_count += sample->sample_count;
}

struct ulp_node_shares ulp_shares_of(const struct ulp_audit_node *node)
{
    struct ulp_node_shares out = {.share_worst = node->share_worst, .stops = node->stops};
#define SHARE(name) out.name = node->name;
#include "analysis/audit/share.def"
    memcpy(out.causes, node->causes, sizeof out.causes);
    return out;
}

void ulp_shares_give(struct ulp_audit_node *node, struct ulp_node_shares shares)
{
#define SHARE(name) node->name = shares.name;
#include "analysis/audit/share.def"
    node->share_worst = shares.share_worst;
    node->stops = shares.stops;
    memcpy(node->causes, shares.causes, sizeof node->causes);
}

void ulp_shares_take(struct ulp_audit_lane *lane, const struct ulp_output_shares *shares)
{
    struct ulp_attribution *to = &lane->attribution;
    to->given = shares->sample_count > 0;
    to->sample_count = shares->sample_count;
    to->sum = shares->sum;
    to->residual = 1 - shares->sum;
    to->worst = shares->worst;
    to->inputs = shares->inputs;
    to->decisions = shares->decisions;
    to->of_decisions = shares->of_decisions;
    for (size_t n = 0; n < lane->node_count && to->given; n++)
        ulp_shares_give(&lane->nodes[n], shares->nodes[n]);
}

void ulp_shares_name(struct ulp_audit_lane *lane)
{
    struct ulp_attribution *attribution = &lane->attribution;
    const struct ulp_output_shares *named = NULL;
    const struct ulp_audit_output *worst = NULL;
    for (size_t o = 0; o < attribution->output_count; o++) {
        const struct ulp_output_shares *shares = &attribution->outputs[o];
        const struct ulp_audit_output *output = NULL;
        for (size_t i = 0; i < lane->outputs.output_count && shares->sample_count; i++)
            if (strcmp(lane->outputs.outputs[i].name, shares->output) == 0)
                output = &lane->outputs.outputs[i];
        if (!shares->sample_count || !is_named_before(shares, output, named, worst))
            continue;
        named = shares;
        worst = output;
    }
    if (!named)
        return;
    attribution->output = named->output;
    ulp_shares_take(lane, named);
}
