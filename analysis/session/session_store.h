/* A checkpoint's folders of finished samples. */
#pragma once

#include "analysis/session/session.h"
#include "base/text/text.h"

struct ulp_store {
    const struct ulp_session *session;
    struct ulp_text key; /* what the audit is, in lines; freed by the caller */
};

/* Each folder is of this audit; the first of a run that makes samples may be new. */
enum ulp_status ulp_store_open(struct ulp_store *store, struct ulp_error *error);

/* What is before the figures in a finished sample's bytes: the fingerprint of its inputs. */
enum { ULP_STORE_HEAD = 8 };
/* *bytes NULL: the sample is in none of the folders. Freed with free(). */
enum ulp_status ulp_store_read(const struct ulp_store *store, size_t index, unsigned char **bytes,
                               size_t *count, struct ulp_error *error);
/* The sample's audit as bytes, and in the folder if there is one. */
enum ulp_status ulp_store_keep(const struct ulp_store *store, size_t index,
                               const struct ulp_audit *audit, unsigned char **bytes, size_t *count,
                               struct ulp_error *error);
