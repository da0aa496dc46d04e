/* What was found as text. */
#pragma once

#include <jansson.h>
#include <string.h>
#include <ulpscope/search.h>

#include "analysis/writing/columns.h"
#include "base/text/text.h"

/* Its headline, and what goes behind; what it rests on. */
void ulp_search_conclude(struct ulp_headline *head, struct ulp_text *notes,
                         const struct ulp_search *found);
void ulp_search_say_basis(struct ulp_text *out, const struct ulp_search *found);
void ulp_search_say(struct ulp_headline *head, const void *found, size_t part);
/* Does it not meet its tolerance with every node in the wider format either? That, said. */
bool ulp_search_fails(const struct ulp_search *found);
void ulp_search_say_none(struct ulp_text *out, const struct ulp_search *found);
/* search_write.c */
extern const struct ulp_said ulp_search_said;

/* search_say.c. What verdicts are made of: the tolerances; a sample's figure, "logits is at
 * 63.1 dB"; the worst sample. */
void ulp_search_say_tolerances(struct ulp_text *out, const struct ulp_search *found);
void ulp_search_say_figure(struct ulp_text *out, const struct ulp_search_sample *sample);
/* "the error is 3 times what is allowed.", with the widest format everywhere */
void ulp_search_say_full(struct ulp_text *out, const struct ulp_search *found);
const struct ulp_search_sample *ulp_search_worst(const struct ulp_search_sample *samples,
                                                 size_t count);
/* ", and holds in 50 of 50 draws for trt11:fp16 (worst 61.2 dB)" */
void ulp_search_say_draws(struct ulp_text *out, const struct ulp_search *found);
/* modelopt.c: the innermost module of PyTorch that a node is of, as the exporter's metadata, its
 * weights ("": it has none) or itself are named; false: they do not say. "": the model itself. */
bool ulp_search_module(struct ulp_text *out, const char *scopes, const char *node,
                       const char *weight);
/* search_formats.c: of plans that give each layer a format of a list. */
void ulp_search_say_listed(struct ulp_headline *head, struct ulp_text *notes,
                           const struct ulp_search *found);
