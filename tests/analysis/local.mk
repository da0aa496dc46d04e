test_programs += check_analysis
check_analysis_SOURCES = %D%/check_analysis.c %D%/wide.h
test_programs += check_attribution
check_attribution_SOURCES = %D%/attribution_test.h %D%/check_attribution.c
test_programs += check_attribution_kept
check_attribution_kept_SOURCES = %D%/attribution_test.h %D%/check_attribution_kept.c
test_programs += check_attribution_special
check_attribution_special_SOURCES = %D%/attribution_test.h %D%/check_attribution_special.c
test_programs += check_compare
check_compare_SOURCES = %D%/check_compare.c %D%/pictures.c %D%/pictures.h
test_programs += check_compare_parts
check_compare_parts_SOURCES = %D%/check_compare_parts.c %D%/pictures.c %D%/pictures.h
test_programs += check_confidence
check_confidence_SOURCES = %D%/check_confidence.c %D%/plan_oracle.c %D%/plan_oracle.h
test_programs += check_deadline
check_deadline_SOURCES = %D%/check_deadline.c %D%/plan_oracle.c %D%/plan_oracle.h
test_programs += check_divergence
check_divergence_SOURCES = %D%/check_divergence.c
test_programs += check_engine
check_engine_SOURCES = \
	%D%/check_engine.c \
	%D%/check_engine_lane.c \
	%D%/check_engine_wishes.c \
	%D%/check_kernel_names.c \
	%D%/engine_test.c \
	%D%/engine_test.h
test_programs += check_engine_fuzz
check_engine_fuzz_SOURCES = %D%/check_engine_fuzz.c
test_programs += check_environment
check_environment_SOURCES = \
	%D%/check_environment.c \
	%D%/environment/digest.c \
	%D%/environment/digest.h \
	%D%/environment/engines.c \
	%D%/environment/findings.c \
	%D%/environment/host.c \
	%D%/environment/host.h \
	%D%/environment/subject.c \
	%D%/environment/subject.h
test_programs += check_overflow_forecast
check_overflow_forecast_SOURCES = %D%/check_overflow_forecast.c
test_programs += check_hint
check_hint_SOURCES = %D%/check_hint.c
test_programs += check_histogram
check_histogram_SOURCES = %D%/check_histogram.c
test_programs += check_limits
check_limits_SOURCES = %D%/check_limits.c
test_programs += check_lint check_open_sizes check_powers check_rewrite
check_powers_SOURCES = %D%/check_powers.c
check_open_sizes_SOURCES = %D%/check_open_sizes.c
check_rewrite_SOURCES = %D%/check_rewrite.c
check_lint_SOURCES = %D%/check_lint.c
test_programs += check_metrics_strip
check_metrics_strip_SOURCES = %D%/check_metrics_strip.c
test_programs += check_mixed
check_mixed_SOURCES = %D%/check_mixed.c
test_programs += check_resized
check_resized_SOURCES = %D%/check_resized.c
test_programs += check_overflow
check_overflow_SOURCES = %D%/check_overflow.c
test_programs += check_plan
check_plan_SOURCES = %D%/check_plan.c %D%/plan_oracle.c %D%/plan_oracle.h
test_programs += check_prove
check_prove_SOURCES = %D%/attack.c %D%/attack.h %D%/check_prove.c
test_programs += check_quantile
check_quantile_SOURCES = %D%/check_quantile.c
test_programs += check_scale_report
check_scale_report_SOURCES = %D%/check_scale_report.c %D%/pictures.c %D%/pictures.h
test_programs += check_slices
check_slices_SOURCES = %D%/check_slices.c
test_programs += check_entire
check_entire_SOURCES = %D%/check_entire.c %D%/shapes_test.h
test_programs += check_search_shapes
check_search_shapes_SOURCES = %D%/check_search_shapes.c %D%/plan_oracle.c %D%/plan_oracle.h \
	%D%/shapes_test.h
test_programs += check_written
check_written_SOURCES = %D%/check_written.c
test_programs += check_tolerance
check_tolerance_SOURCES = %D%/check_tolerance.c
test_programs += check_truth
check_truth_SOURCES = %D%/check_truth.c
test_programs += check_views
check_views_SOURCES = %D%/check_views.c %D%/wide.h
dist_check_SCRIPTS += %D%/check_fields.sh %D%/check_forecast_gpu.sh
TESTS += %D%/check_fields.sh %D%/check_forecast_gpu.sh
dist_check_SCRIPTS += %D%/check_mixed_files.sh
TESTS += %D%/check_mixed_files.sh
EXTRA_DIST += tests/data/engine/concatenated.json
EXTRA_DIST += tests/data/engine/foreign.json
EXTRA_DIST += tests/data/engine/names_only.json
EXTRA_DIST += tests/data/engine/profiles.json
EXTRA_DIST += tests/data/engine/trt10_fp16_claimed.json
EXTRA_DIST += tests/data/engine/trt10_half.json
EXTRA_DIST += tests/data/engine/trt10_mixed.json
EXTRA_DIST += tests/data/engine/trt10_wide.json
EXTRA_DIST += tests/data/engine/trt11_half.json
EXTRA_DIST += tests/data/engine/trt84_numbered.json
# Run by hand: attacks proofs of a model for as long as it is told (doc/prove.md).
EXTRA_PROGRAMS += attack_proofs
$(also)check_prove.log: attack_proofs$(EXEEXT)
attack_proofs_SOURCES = %D%/attack.c %D%/attack.h %D%/attack_proofs.c
