/* An audit of many samples, made of audits of one each: in memory that does not grow with their
 * number, in several processes or on several machines, and resumed after one of them has ended.
 *
 * Every sample is audited by itself (an auditor, an attributor, one sample, ulp_auditor_finish,
 * ulp_attributor_finish), and an auditor of the same plan that runs nothing itself adds these
 * audits up in the order of the samples (ulp_auditor_add). Each is added as the figures that it
 * has, so the sum depends on the samples and their order alone: not on which process computed a
 * sample, nor on when it arrived, bit for bit. ulp_part_encode hands an audit of one sample from
 * process to process. Of an overflow that several samples have, absorber_count is the largest of
 * theirs. */
#ifndef ULPSCOPE_PART_H
#define ULPSCOPE_PART_H

#include <ulpscope/analysis.h>

/* Add the finished audit of one sample, under its name, behind those that were added; it is copied.
 * Both auditors' plans are of the same model and lanes, with any shapes: ULP_ERROR_USAGE when they
 * cannot be. The auditor is then for adding alone; ulp_auditor_finish completes the audit with
 * shares, certificate and seconds. */
ULP_API enum ulp_status ulp_auditor_add(struct ulp_auditor *auditor, const struct ulp_audit *sample,
                                        struct ulp_error *error);

/* The audit of one sample as bytes, the same on every machine; free *bytes with free(). */
ULP_API enum ulp_status ulp_part_encode(const struct ulp_audit *sample, unsigned char **bytes,
                                        size_t *count, struct ulp_error *error);
/* ulp_auditor_add of what was encoded. Bytes that are not, or of another model or other lanes:
 * ULP_ERROR_INPUT; nothing was added then. Charged to the model's budget while it lasts. */
ULP_API enum ulp_status ulp_auditor_add_part(struct ulp_auditor *auditor, const void *bytes,
                                             size_t count, struct ulp_error *error);

/* One sample shared by processes: each audits the reference and those of the other lanes that are
 * its own (in an audit of these alone), and ulp_part_join makes one part of theirs, the bytes of an
 * audit of all lanes but for the costs: seconds are summed, and peak_bytes is the largest. (Shares
 * that one process has no room for may be there: the values that they need are fewer in each.)
 *
 * Which of process_count processes has lane `lane`; lanes[0], the reference, is every one's.
 * Arithmetics with qdq=integer and the same without it, which are compared with each other, have
 * one owner. */
ULP_API size_t ulp_part_owner(const struct ulp_arithmetic *lanes, size_t lane_count, size_t lane,
                              size_t process_count);
/* How many processes can have lanes at all. */
ULP_API size_t ulp_part_owner_count(const struct ulp_arithmetic *lanes, size_t lane_count);
/* Of `process_count` parts of one sample, in the order of the processes, one; the auditor's plan is
 * of all lanes. Bytes that are none, or are of other references, samples or lanes than the first:
 * ULP_ERROR_INPUT. Free *bytes with free(). An audit with --quick's check cannot be shared: what
 * its reference is computed in depends on all lanes. */
ULP_API enum ulp_status ulp_part_join(const struct ulp_auditor *auditor, const void *const *parts,
                                      const size_t *part_counts, size_t process_count,
                                      unsigned char **bytes, size_t *count,
                                      struct ulp_error *error);

/* A file with `count` bytes that belong to `key`, lines of text that say of what they are a part:
 * written beside `path` and renamed, and on the disk when this returns. */
ULP_API enum ulp_status ulp_part_write(const char *path, const char *key, const void *bytes,
                                       size_t count, struct ulp_error *error);
/* Read it, of 1 GiB at most. ULP_ERROR_INPUT: it is damaged, or its key is another (the message
 * has the first line of the two that differs). key NULL: of any. *found, unless NULL, is the file's
 * own key. Free *found and *bytes with free(). */
ULP_API enum ulp_status ulp_part_read(const char *path, const char *key, char **found,
                                      unsigned char **bytes, size_t *count,
                                      struct ulp_error *error);

/* A number that tells models apart: of the bytes of all files that the model was read from. Reads
 * them once; ULP_ERROR_INPUT where the model's file cannot be opened, as that of a model that was
 * read from memory. */
ULP_API enum ulp_status ulp_model_fingerprint(const struct ulp_model *model, uint64_t *out,
                                              struct ulp_error *error);
/* The same of tensors: names, types, shapes and elements. */
ULP_API uint64_t ulp_tensor_set_fingerprint(const struct ulp_tensor_set *set);

#endif
