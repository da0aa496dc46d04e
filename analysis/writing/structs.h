/* Made by scripts/result_fields.py: the structs of results whose members are in tables. */
#ifndef ULP_ANALYSIS_WRITING_STRUCTS_H
#define ULP_ANALYSIS_WRITING_STRUCTS_H

#include "analysis/writing/fields.h"

/* clang-format off */
extern const struct ulp_struct ulp_struct_arithmetic;
extern const struct ulp_struct ulp_struct_attribution;
extern const struct ulp_struct ulp_struct_audit;
extern const struct ulp_struct ulp_struct_audit_border;
extern const struct ulp_struct ulp_struct_audit_constant;
extern const struct ulp_struct ulp_struct_audit_crossing;
extern const struct ulp_struct ulp_struct_audit_input;
extern const struct ulp_struct ulp_struct_audit_lane;
extern const struct ulp_struct ulp_struct_audit_limit;
extern const struct ulp_struct ulp_struct_audit_node;
extern const struct ulp_struct ulp_struct_audit_output;
extern const struct ulp_struct ulp_struct_audit_overflow;
extern const struct ulp_struct ulp_struct_audit_samples;
extern const struct ulp_struct ulp_struct_cause;
extern const struct ulp_struct ulp_struct_certificate;
extern const struct ulp_struct ulp_struct_compared_file;
extern const struct ulp_struct ulp_struct_compared_slices;
extern const struct ulp_struct ulp_struct_compared_tensor;
extern const struct ulp_struct ulp_struct_compared_value;
extern const struct ulp_struct ulp_struct_comparison;
extern const struct ulp_struct ulp_struct_divergence;
extern const struct ulp_struct ulp_struct_doctor;
extern const struct ulp_struct ulp_struct_doctor_cause;
extern const struct ulp_struct ulp_struct_expected_error;
extern const struct ulp_struct ulp_struct_extreme;
extern const struct ulp_struct ulp_struct_finding;
extern const struct ulp_struct ulp_struct_fit;
extern const struct ulp_struct ulp_struct_fit_candidate;
extern const struct ulp_struct ulp_struct_followed;
extern const struct ulp_struct ulp_struct_format;
extern const struct ulp_struct ulp_struct_histogram;
extern const struct ulp_struct ulp_struct_link;
extern const struct ulp_struct ulp_struct_lint_result;
extern const struct ulp_struct ulp_struct_matched;
extern const struct ulp_struct ulp_struct_metrics;
extern const struct ulp_struct ulp_struct_mixed;
extern const struct ulp_struct ulp_struct_mixed_widened;
extern const struct ulp_struct ulp_struct_node_kernel;
extern const struct ulp_struct ulp_struct_node_shares;
extern const struct ulp_struct ulp_struct_node_types;
extern const struct ulp_struct ulp_struct_output_shares;
extern const struct ulp_struct ulp_struct_overflow_forecast;
extern const struct ulp_struct ulp_struct_overflow_hidden;
extern const struct ulp_struct ulp_struct_overflow_inside;
extern const struct ulp_struct ulp_struct_overflow_lane;
extern const struct ulp_struct ulp_struct_overflow_node;
extern const struct ulp_struct ulp_struct_overflow_output;
extern const struct ulp_struct ulp_struct_overflow_remedy;
extern const struct ulp_struct ulp_struct_place;
extern const struct ulp_struct ulp_struct_proof;
extern const struct ulp_struct ulp_struct_proof_hidden;
extern const struct ulp_struct ulp_struct_proof_input;
extern const struct ulp_struct ulp_struct_proof_node;
extern const struct ulp_struct ulp_struct_proof_output;
extern const struct ulp_struct ulp_struct_qdq_divergence;
extern const struct ulp_struct ulp_struct_quick_check;
extern const struct ulp_struct ulp_struct_range;
extern const struct ulp_struct ulp_struct_search;
extern const struct ulp_struct ulp_struct_search_cast;
extern const struct ulp_struct ulp_struct_search_entry;
extern const struct ulp_struct ulp_struct_search_format;
extern const struct ulp_struct ulp_struct_search_layer;
extern const struct ulp_struct ulp_struct_search_node;
extern const struct ulp_struct ulp_struct_search_point;
extern const struct ulp_struct ulp_struct_search_sample;
extern const struct ulp_struct ulp_struct_search_uniform;
extern const struct ulp_struct ulp_struct_share_group;
extern const struct ulp_struct ulp_struct_spread;
extern const struct ulp_struct ulp_struct_spreads;
extern const struct ulp_struct ulp_struct_study;
extern const struct ulp_struct ulp_struct_study_fit;
extern const struct ulp_struct ulp_struct_study_place;
extern const struct ulp_struct ulp_struct_study_point;
extern const struct ulp_struct ulp_struct_study_series;
extern const struct ulp_struct ulp_struct_study_setting;
extern const struct ulp_struct ulp_struct_study_trials;
extern const struct ulp_struct ulp_struct_time;
extern const struct ulp_struct ulp_struct_timings;
extern const struct ulp_struct ulp_struct_tolerance;
extern const struct ulp_struct ulp_struct_tolerance_element;
extern const struct ulp_struct ulp_struct_tolerance_output;
extern const struct ulp_struct ulp_struct_unjudged;
extern const struct ulp_struct ulp_struct_unjudged_list;
extern const struct ulp_struct ulp_struct_vacant;
extern const struct ulp_struct ulp_struct_verified;

#endif
