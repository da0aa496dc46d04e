/* The inside of a search that gives each layer one of several formats, by a model of their
 * errors. */
#pragma once

#include "analysis/search/searcher.h"

/* measured.c. Runs every layer in one format, for each format, into out->uniforms; scales the
 * layers' powers by what these runs show. work: room for an allocation. */
enum ulp_status ulp_search_uniforms(struct ulp_searcher *search, struct ulp_search *out,
                                    ulp_pick *work, struct ulp_error *error);
/* Once the powers are measured: the model's error is limited, too, where that is asked for, and
 * what was run is judged again by it. */
void ulp_search_uniforms_again(struct ulp_searcher *search, struct ulp_search *out, ulp_pick *work);
/* course.c. The powers of one of several starts: as they are in `powers`, learnt, or each changed
 * by a random factor. */
void ulp_search_set_model(struct ulp_searcher *search, const double *powers, size_t number);
/* Takes each layer's powers from runs in which it alone has each format. */
enum ulp_status ulp_search_measure(struct ulp_searcher *search, ulp_pick *work,
                                   struct ulp_error *error);
/* Takes them from what a cheaper choice of a layer did to the best allocation. */
void ulp_search_learn(struct ulp_searcher *search);
/* course.c. Room for an allocation, and a run of the widest choice everywhere. *work NULL: there
 * are no layers. */
enum ulp_status ulp_search_begin(struct ulp_searcher *search, ulp_pick **work,
                                 struct ulp_error *error);
/* approach.c: some allocations by the model, corrected by what they measure; the cheapest that
 * meets the tolerance. */
struct ulp_search_found {
    ulp_pick *of; /* room for one */
    bool given;
    double cost, ratio;
};
void ulp_search_offer(const struct ulp_searcher *search, struct ulp_search_found *found,
                      const ulp_pick *of, double ratio);
/* What the model says of the best, over what it measures. */
double ulp_search_factor(const struct ulp_searcher *search);
enum ulp_status ulp_search_approach(struct ulp_searcher *search, ulp_pick *work,
                                    struct ulp_search_found *found, struct ulp_error *error);
