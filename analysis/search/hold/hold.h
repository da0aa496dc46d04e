/* The inside of a search for a plan: links of nodes say what a set of kept nodes leaves of the
 * error, draws whether it holds. */
#pragma once

#include "analysis/search/searcher.h"

/* links.c: what a set of kept nodes leaves of the error, as a sum. */
#define ULP_LINK_REQUIRED 1e100 /* more than any error: what overflows goes last */

/* Its weight, a power of the error, is gone when all its layers have the widest choice. */
struct ulp_error_link {
    double weight;
    size_t first, count; /* of its layers */
    bool broken;         /* while layers are released */
};

struct ulp_links {
    const struct ulp_searcher *search;
    struct ulp_budget *budget;
    struct ulp_error_link *items;
    size_t count, capacity;
    size_t *layers; /* of all links */
    size_t layer_count, layer_capacity;
};

/* Closed also after a failure. */
enum ulp_status ulp_links_open(struct ulp_links *links, const struct ulp_searcher *search,
                               struct ulp_error *error);
void ulp_links_close(struct ulp_links *links);
enum ulp_status ulp_links_add(struct ulp_links *links, double weight, const size_t *layers,
                              size_t count, struct ulp_error *error);
/* What the allocation leaves. */
double ulp_links_power(const struct ulp_links *links, const ulp_pick *of);
bool ulp_link_is_broken(const struct ulp_links *links, const struct ulp_error_link *link,
                        const ulp_pick *of);
/* Peeling from the allocation: again and again the layer is released whose links weigh least for
 * what that saves, of those that leave at most so much more power. In order in out, room for all
 * layers; *count of them. */
enum ulp_status ulp_links_peel(struct ulp_links *links, const ulp_pick *of, double most,
                               size_t *out, size_t *count, struct ulp_error *error);

/* learn_links.c: weights that explain what runs left, in units of the error allowed, squared.
 * alone: the power with each layer alone released; infinite: it never goes. The first weights, an
 * audit's, are brought to its scale, and each layer gets a link of its own. */
enum ulp_status ulp_links_scale(struct ulp_links *links, const double *alone,
                                struct ulp_error *error);
struct ulp_watched {
    ulp_pick *of;
    double power, count; /* count: of draws that it is the mean of */
};
/* alone_count: of problems. */
enum ulp_status ulp_links_learn(struct ulp_links *links, const double *alone, double alone_count,
                                const struct ulp_watched *watched, size_t watched_count,
                                struct ulp_error *error);

/* verify_draws.c. Of an error that so many independent directions share: its quantile for a
 * standard normal z, over its root mean square. */
double ulp_search_spread_factor(double freedom, double z);
/* The ratio that no more draws exceed than may fail, of those given; freedom: in how many
 * directions they vary. Those that are not finite are left out. */
double ulp_search_quantile(const double *ratios, size_t count, double confidence, double *freedom);
/* The kept nodes in everything that a plan is judged in. */
enum ulp_status ulp_search_lanes(struct ulp_searcher *search, const struct ulp_keeps *keeps,
                                 struct ulp_attempt *out, struct ulp_error *error);
/* A draw in each of the lanes; where something is decided otherwise in it even with the widest
 * format everywhere, all runs take the reference's decisions from then on. */
enum ulp_status ulp_search_draw(struct ulp_searcher *search, size_t draw,
                                const struct ulp_attempt *lanes, size_t count,
                                struct ulp_judgement *out, struct ulp_error *error);
/* Of the draws that decide. */
size_t ulp_search_may_fail(const struct ulp_searcher *search);
/* All draws of the allocation, into search->verified and search->holds; where too many fail or the
 * time is over, some, and it does not hold. */
enum ulp_status ulp_search_verify(struct ulp_searcher *search, const ulp_pick *of,
                                  struct ulp_error *error);
void ulp_search_forget_draws(struct ulp_searcher *search);
/* What is known of the best by its draws, while others are tried. */
struct ulp_kept_draws {
    struct ulp_search_verified of[ULP_SEARCH_TARGETS_MAX];
    double ratios[ULP_SEARCH_TARGETS_MAX][ULP_SEARCH_DRAWS];
};
void ulp_search_copy_draws(struct ulp_searcher *search, struct ulp_kept_draws *kept, bool back);
/* hold_decided.c. After hold.c's course: nodes in front of decisions, where they are cheaper. */
enum ulp_status ulp_search_decided(struct ulp_searcher *search, struct ulp_error *error);
/* hold.c. The cheapest that holds, after `wide`, the widest choice everywhere, was run. */
enum ulp_status ulp_search_hold(struct ulp_searcher *search, const ulp_pick *wide,
                                struct ulp_error *error);
