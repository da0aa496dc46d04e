/* --checkpoint's folder of finished samples. */
#ifndef ULP_CLI_COMMAND_AUDIT_STORE_H
#define ULP_CLI_COMMAND_AUDIT_STORE_H

#include "base/text/text.h"
#include "cli/command/audit.h"

struct store {
    const struct audit_parts *parts;
    struct ulp_text key; /* what the audit is, in lines; freed by the caller */
    size_t first,
        step;   /* of the samples that this process makes, or that all ranks share lanes of */
    bool split; /* the ranks share the samples of one shard */
};

/* Each folder is of this audit; the first of a run that makes samples may be new. */
enum ulp_status open_store(struct store *store, struct ulp_error *error);

/* What is before the figures in a finished sample's bytes: the fingerprint of its inputs. */
enum { FINGERPRINT_BYTES = 8 };
/* *found: it is in a folder. The bytes are freed with free(). */
enum ulp_status read_finished(const struct store *store, size_t index, bool *found,
                              unsigned char **bytes, size_t *count, struct ulp_error *error);
/* The figures behind the fingerprint, and in the folder if there is one. */
enum ulp_status keep_finished(const struct store *store, size_t index, const void *figures,
                              size_t length, unsigned char **bytes, size_t *count,
                              struct ulp_error *error);

#endif
