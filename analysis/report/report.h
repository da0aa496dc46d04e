/* The writers of an audit's texts. Each appends a whole text; the caller checks the text for lack
 * of memory. */
#pragma once

#include <ulpscope/report.h>
#include <ulpscope/target.h>

#include "analysis/writing/columns.h"
#include "base/text/shown.h"
#include "base/text/text.h"

/* Decisions from that share on are shown: 0.1 % as it is printed. */
#define ULP_DECISION_SHOWN 5e-4

enum ulp_status ulp_report_json(const struct ulp_audit *audit, struct ulp_text *out,
                                struct ulp_error *error);
enum ulp_status ulp_report_csv(const struct ulp_audit *audit, struct ulp_text *out,
                               struct ulp_error *error);
/* hint.c: the first limit that the arithmetic crosses, without its name; NULL: none. */
const char *ulp_report_crossed(const struct ulp_audit *audit, const struct ulp_audit_lane *lane);
/* report_verdict.c: what one arithmetic makes of the outputs, why and what to do; the headline
 * begins with its name. */
void ulp_report_conclude(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         struct ulp_headline *verdict);
/* What makes an output comparable that is not; nothing where no inputs do. */
void ulp_report_uncompared(struct ulp_text *out, const struct ulp_audit_lane *lane);
void ulp_report_headline(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         struct ulp_headline *verdict);
/* The next node behind `after` (NULL: the first) that divides by what has an error worth naming, as
 * it is below the normal numbers of its format, or 0; NULL: there is none. And that as a clause. */
const struct ulp_audit_node *ulp_report_find_faint(const struct ulp_audit_lane *lane,
                                                   const struct ulp_audit_node *after);
void ulp_report_faint(struct ulp_text *out, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *node);
/* report_zeroed.c. Is a node that is not finite so because a value has become 0 or, of a root or a
 * logarithm, negative? by: the node where that happened (NULL: it is no node's); value: what is 0,
 * NULL: it is negative. And that as a clause. */
struct ulp_zeroed {
    const struct ulp_audit_node *by;
    const char *value;
};
bool ulp_report_find_zeroed(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                            const struct ulp_audit_node *node, struct ulp_zeroed *out);
void ulp_report_zeroed(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_node *node,
                       const struct ulp_zeroed *zeroed);
/* report_cause.c. A node's share, or its decisions'; where several nodes cancel each other, each
 * many times the whole, what they cause together counts for the largest, and nothing for the
 * others. */
double ulp_report_part(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
/* What these cause together, and how many they are; one alone is none. */
double ulp_report_joint(const struct ulp_audit_lane *lane, size_t *count);
/* The node of the largest share in the error of the outputs, or of the largest
 * decision; NULL: they are not known. What the worst output's error comes from: "; node 4 ...". */
const struct ulp_audit_node *ulp_report_find_cause(const struct ulp_audit_lane *lane);
void ulp_report_source(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_output *worst);
/* "node 4 fc (Gemm) causes 97 % of it, by the rounding of its weights": of what is explained, which
 * --output may have asked for. `what` it is of the output of that name. */
void ulp_report_cause(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_audit_node *cause,
                      const char *output, const char *what);
/* The node that first reads the input of the model whose rounding makes most of the error, more
 * than any node does; NULL: none. "the rounding of input t to bf16 causes 66 % of it; node ...". */
const struct ulp_audit_node *ulp_report_find_reader(const struct ulp_audit_lane *lane);
void ulp_report_reads(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_audit_node *reader,
                      const char *output);
/* magnify.c. The node behind the cause through which half of the error passes and that makes it
 * count for most; false: none does. leads: no rounding before it makes half of the error, so that
 * it is named first. As a clause, and what to do. */
struct ulp_magnified {
    const struct ulp_audit_node *at;
    double times;
    size_t several;            /* nodes behind the cause that make it count twice and more */
    double in_all;             /* how much outputs feel the cause's relative errors */
    bool leads, grows, failed; /* grows: the cause's own error does, from iteration to iteration */
};
bool ulp_report_magnifier(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                          const struct ulp_audit_node *cause, struct ulp_magnified *out);
void ulp_report_magnified(struct ulp_text *out, const struct ulp_audit *audit,
                          const struct ulp_audit_lane *lane, const struct ulp_magnified *magnified);
void ulp_report_mends(struct ulp_text *out, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *at);
/* The same by the sizes of errors, where most of it is missing from shares: the node that
 * introduces what a node behind it, at, magnifies; NULL: there is none. And that as a clause. */
const struct ulp_audit_node *ulp_report_jump(const struct ulp_audit *audit,
                                             const struct ulp_audit_lane *lane,
                                             struct ulp_magnified *out);
void ulp_report_jumped(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_node *cause,
                       const struct ulp_magnified *jump);
/* " (values of up to 900, where fp16 has steps of 0.5)", " of 120000 terms": behind a cause (enum
 * ulp_share_cause) of a node; and how its error grows from iteration to iteration. */
void ulp_report_rounded(struct ulp_text *out, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane, const struct ulp_audit_node *node,
                        int cause);
double ulp_report_grows(const struct ulp_audit_node *node);
void ulp_report_iterations(struct ulp_text *out, const struct ulp_audit_node *node);
/* assumed.c. The pairs of lanes that differ in how they add, of which one is fine and one is not,
 * where the rule is only stated or inferred; false: there are no more. node: of the one that is not
 * fine, where it stops being finite; -1: it does not. terms: of those sums, or of the sums and
 * larger ones that make nearly all of what accumulation does; 0: not known. */
struct ulp_assumed {
    size_t fine, wrong; /* lanes */
    struct ulp_rule rule;
    ptrdiff_t node;
    size_t terms;
};
bool ulp_report_assumed(const struct ulp_audit *audit, size_t index, struct ulp_assumed *out);
void ulp_report_assumed_say(struct ulp_text *out, const struct ulp_audit *audit,
                            const struct ulp_assumed *assumed);
/* verdict_original.c, where there is a reference model. Which pair costs most; the node where the
 * graph begins to be as far off as the worst output, though nodes introduce less: false where there
 * is none, and nothing was said. */
bool ulp_report_pair(struct ulp_text *out, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane);
/* What a lane gains with weights that are quantised again; NaN: not tried. And of a fault in them:
 * "Blocks of w1 (node 3 dequantize1) lie along axis 1, where node 4 product1 sums along axis
 * 0; ..." */
double ulp_report_stored_gain(const struct ulp_audit_lane *lane,
                              const struct ulp_stored_fault *fault);
void ulp_report_stored(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_stored_fault *fault);
bool ulp_report_change(struct ulp_text *out, const struct ulp_audit_lane *lane,
                       const struct ulp_audit_output *worst, double introduced);
/* verdict_decided.c. What a node introduces there against its reference's rms; 0: nothing that can
 * be told. The node at whose decisions what the cause (NULL: any) does shows; NULL: at none. And of
 * a node that decides otherwise: in how many, by how much; and what outputs are when it does not.
 */
double ulp_report_introduced(const struct ulp_audit_output *output);
const struct ulp_audit_node *ulp_report_find_shows(const struct ulp_audit_lane *lane,
                                                   const struct ulp_audit_node *cause);
void ulp_report_shows(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_audit_node *cause);
/* ", by deciding otherwise": and by which constant, where it is no error of what is compared. */
void ulp_report_turns(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_node *node);
void ulp_report_decided(struct ulp_text *out, const struct ulp_audit_node *decided);
void ulp_report_followed(struct ulp_text *out, const struct ulp_audit_node *outputs);
/* hint.c: what to try next, a command as a shell takes it, and what that gives; empty: there is
 * nothing to try. */
void ulp_report_todo(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                     struct ulp_text *out);
/* Nodes of a lane, all that are known of, and which to keep. */
struct ulp_hint_node {
    const char *name;
    size_t index; /* in the plan */
    bool keep;
};
struct ulp_hint_nodes {
    const void *lane;
    size_t count, kept;
    struct ulp_hint_node (*get)(const void *lane, size_t n);
};
/* " --keep 'NAME=fp32'" for each that is kept, which keep just these: while they are few and named
 * by their names; else by their indexes. */
void ulp_hint_keeps(struct ulp_text *out, const struct ulp_hint_nodes *nodes);
