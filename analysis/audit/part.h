/* An audit of many samples, made of audits of one each: in memory that does not grow with their
 * number, in several processes or on several machines, and resumed after one of them has ended.
 *
 * Every sample is audited by itself (an auditor, an attributor, one sample, ulp_auditor_finish,
 * ulp_attributor_finish), and an auditor of the same program that runs nothing itself adds these
 * audits up in the order of the samples (ulp_auditor_add). Each is added as the figures that it
 * has, so the sum depends on the samples and their order alone: not on which process computed a
 * sample, nor on when it arrived, bit for bit. ulp_part_encode hands an audit of one sample from
 * process to process. Of an overflow that several samples have, absorber_count is the largest of
 * theirs. */
#pragma once

#include "analysis/audit/auditor.h"
#include "base/text/coder.h"

/* What was encoded of an audit whose lanes have that many nodes: lanes, nodes and what lies in them
 * are in memory of the arena; only what is encoded is set. */
enum ulp_status ulp_part_decode(struct ulp_audit *out, const void *bytes, size_t count,
                                size_t lane_count, size_t node_count, struct ulp_arena *arena,
                                struct ulp_error *error);

/* The audit of one sample as bytes, the same on every machine; free *bytes with free(). */
enum ulp_status ulp_part_encode(const struct ulp_audit *sample, unsigned char **bytes,
                                size_t *count, struct ulp_error *error);
/* ulp_auditor_add of what was encoded. Bytes that are not, or of another model or other lanes:
 * ULP_ERROR_INPUT; nothing was added then. Charged to the model's budget while it lasts. */
enum ulp_status ulp_auditor_add_part(struct ulp_auditor *auditor, const void *bytes, size_t count,
                                     struct ulp_error *error);

/* A file with `count` bytes that belong to `key`, lines of text that say of what they are a part:
 * written beside `path` and renamed, and on the disk when this returns. */
enum ulp_status ulp_part_write(const char *path, const char *key, const void *bytes, size_t count,
                               struct ulp_error *error);
/* Read it, of 1 GiB at most. ULP_ERROR_INPUT: it is damaged, or its key is another (the message
 * has the first line of the two that differs). key NULL: of any. *found, unless NULL, is the file's
 * own key. Free *found and *bytes with free(). */
enum ulp_status ulp_part_read(const char *path, const char *key, char **found,
                              unsigned char **bytes, size_t *count, struct ulp_error *error);

/* A number that tells models apart: of the bytes of all files that the model was read from. Reads
 * them once; ULP_ERROR_INPUT where the model's file cannot be opened, as that of a model that was
 * read from memory. */
enum ulp_status ulp_model_fingerprint(const struct ulp_model *model, uint64_t *out,
                                      struct ulp_error *error);
