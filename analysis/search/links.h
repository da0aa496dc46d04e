/* Links of nodes (links.c): what a set of kept nodes leaves of the error, as a sum. */
#pragma once

#include "analysis/search/searcher.h"

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

/* By estimate `start`, beyond the last by the first one, each node's changed by a random factor.
 * Closed also after a failure. */
enum ulp_status ulp_links_open(struct ulp_links *links, const struct ulp_searcher *search,
                               size_t start, struct ulp_error *error);
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
