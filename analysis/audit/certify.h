/* The reference's own error. */
#pragma once

#include <ulpscope/audit.h>

/* Certify the reference: recompute mpfr:P at mpfr:2P on one sample, and count the decimal digits on
 * which they agree. *certificate, zeros before the first sample, keeps the worst over samples; free
 * its node with free(). reference must be an mpfr arithmetic with 2P <= 4096. progress may be
 * NULL. */
enum ulp_status ulp_certify(const struct ulp_model *model, const struct ulp_arithmetic *reference,
                            const struct ulp_tensor_set *inputs,
                            const struct ulp_run_options *options,
                            const struct ulp_observer *progress,
                            struct ulp_certificate *certificate, struct ulp_error *error);

/* Check that ulp_certify accepts this reference; ULP_ERROR_USAGE when not. */
enum ulp_status ulp_certify_check(const struct ulp_arithmetic *reference, struct ulp_error *error);
