/* What subjects share: hashes of what functions give, calls that must leave the host's environment,
 * the model and its inputs. */
#pragma once

#include "host.h"
#include "subject.h"
#include "tests/support/text_model.h"

void add_bytes(struct digest *digest, const void *bytes, size_t count);
void add_tensor(struct digest *digest, const struct ulp_tensor *tensor);
void add_set(struct digest *digest, const struct ulp_tensor_set *set);
void add_file(struct digest *digest, const char *path);

/* A call that must succeed and leave the host's environment. */
#define CALL(call)                            \
    do {                                      \
        struct ulp_error error_;              \
        struct ulp_error *const e = &error_;  \
        expect_no_flags();                    \
        const enum ulp_status status_ = call; \
        ck_ulp_ok(status_, error_);           \
        expect_state(#call);                  \
    } while (0)

/* Of the shared model; made by subjects_open, in a plain environment. product_model: its first node
 * alone, whose result is no NaN, for what judges every output. */
extern struct ulp_model *model, *product_model, *logs_model;
extern struct ulp_tensor_set inputs;

#define LANE_COUNT 6
void find_lanes(struct ulp_arithmetic *lanes);

/* Observers that look at the environment in which the host is called, and count. */
enum ulp_status see_host(void *context, const struct ulp_event *event, struct ulp_error *error);
bool ask_host(void *context);
void tell_host(void *context, size_t part, size_t part_count);

/* findings.c */
void digest_comparison(struct digest *digest);
void digest_forecast(struct digest *digest);
void digest_lint(struct digest *digest);
void digest_doctor(struct digest *digest);
void digest_fix(struct digest *digest);
void digest_plan(struct digest *digest);
void digest_listed(struct digest *digest);
void digest_proof(struct digest *digest);
void digest_scales(struct digest *digest);
void digest_tolerance(struct digest *digest);
void digest_between(struct digest *digest);
void digest_quantiles(struct digest *digest);
/* engines.c */
void digest_engine(struct digest *digest);
