/* Edits of a graph as terms: a pattern of nodes over names, matched from a node backwards, and what
 * takes their place, built of what has matched. rewrite.def has the grammar and the rows. */
#pragma once

#include "analysis/lint/proposal.h"
#include "run/idiom/idiom.h"

enum { ULP_TERMS_MAX = 40, ULP_TERM_NAMES_MAX = 12, ULP_TERM_BYTES = 24 };

struct ulp_term {
    enum { ULP_TERM_NAME, ULP_TERM_NUMBER, ULP_TERM_NODE } kind;
    char op[ULP_TERM_BYTES];
    char given[ULP_TERM_BYTES]; /* {axis epsilon}: the attributes that it is given
                                 */
    int name;                   /* of a NAME; of a NODE its tag, or the one whose attributes it has;
                                   -1: none */
    bool keeps;                 /* [TAG!] */
    double number;
    int arguments[ULP_EDIT_INPUTS_MAX], count;
};

struct ulp_terms {
    struct ulp_lint_proposals *p;
    const char *at; /* in the text */
    struct ulp_term terms[ULP_TERMS_MAX];
    int term_count;
    char names[ULP_TERM_NAMES_MAX][ULP_TERM_BYTES];
    int name_count;
    struct ulp_lint_place root;
    /* by name: what has matched */
    struct ulp_term_bound {
        bool is;
        struct ulp_edit_input input;
        struct ulp_lint_place place; /* of a tag */
    } bound[ULP_TERM_NAMES_MAX];
    /* the idiom among them, in the plan at the sizes given; NULL: there is none */
    const struct ulp_block *block;
    const struct ulp_idiom *idiom;
    struct ulp_building building;
    size_t plan; /* of lint->planned, that has the shapes */
};

/* Match the pattern at the node; of *terms only p need be set. */
bool ulp_terms_match(struct ulp_terms *terms, struct ulp_lint_place place, const char *pattern);
/* "m = TERM; ... TERM" into terms->building. */
void ulp_terms_build(struct ulp_terms *terms, const char *replacement);

/* What the name stands for: a value, -1: nothing; who computes it; its constant, its shape in the
 * plan, NULL: not known. */
int ulp_term_value(const struct ulp_terms *terms, const char *name);
struct ulp_lint_place ulp_term_node(const struct ulp_terms *terms, const char *name);
const struct ulp_tensor *ulp_term_constant(const struct ulp_terms *terms, const char *name);
const struct ulp_tensor *ulp_term_shape(const struct ulp_terms *terms, const char *name);
/* The idiom in the plan, and its block; NULL: it is none there. */
const struct ulp_idiom *ulp_term_idiom(const struct ulp_terms *terms,
                                       const struct ulp_block **block);
/* Of a reduction, and of a CumSum or a Softmax its one axis: as attribute or constant. *count 0:
 * all. False: they are not known. */
bool ulp_term_axes(struct ulp_lint_place place, int64_t axes[ULP_RANK_MAX], size_t *count);
