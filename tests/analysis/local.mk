test_programs += check_analysis check_attribution check_bits check_compare check_compare_parts check_divergence check_engine check_engine_fuzz \
	check_environment check_extreme check_fit check_fit_probe check_forecast check_hint check_histogram check_limits check_lint check_mixed check_overflow check_plan check_prove check_slices check_timings check_tolerance check_truth
test_programs += check_study check_study_runs check_study_same
test_programs += check_quick
test_programs += check_views
check_analysis_SOURCES = %D%/check_analysis.c
check_attribution_SOURCES = %D%/check_attribution.c
check_bits_SOURCES = %D%/check_bits.c %D%/plan_oracle.c %D%/plan_oracle.h
check_compare_SOURCES = %D%/check_compare.c %D%/pictures.c %D%/pictures.h
check_compare_parts_SOURCES = %D%/check_compare_parts.c %D%/pictures.c %D%/pictures.h
check_divergence_SOURCES = %D%/check_divergence.c
check_engine_SOURCES = %D%/check_engine.c %D%/check_engine_lane.c %D%/check_engine_wishes.c %D%/check_kernel_names.c %D%/engine_test.c %D%/engine_test.h
check_engine_fuzz_SOURCES = %D%/check_engine_fuzz.c
check_environment_SOURCES = %D%/check_environment.c %D%/environment/digest.c %D%/environment/digest.h %D%/environment/findings.c \
	%D%/environment/host.c %D%/environment/host.h \
	%D%/environment/subject.c %D%/environment/subject.h
check_extreme_SOURCES = %D%/check_extreme.c
check_forecast_SOURCES = %D%/check_forecast.c
check_hint_SOURCES = %D%/check_hint.c
check_histogram_SOURCES = %D%/check_histogram.c
check_limits_SOURCES = %D%/check_limits.c
check_lint_SOURCES = %D%/check_lint.c %D%/lint_cases.c %D%/lint_cases.h
check_mixed_SOURCES = %D%/check_mixed.c
check_overflow_SOURCES = %D%/check_overflow.c
check_fit_SOURCES = %D%/check_fit.c
check_fit_probe_SOURCES = %D%/check_fit_probe.c
check_plan_SOURCES = %D%/check_plan.c %D%/plan_oracle.c %D%/plan_oracle.h
check_quick_SOURCES = %D%/check_quick.c
check_slices_SOURCES = %D%/check_slices.c %D%/pictures.c %D%/pictures.h
check_timings_SOURCES = %D%/check_timings.c
check_study_SOURCES = %D%/check_study.c
check_study_runs_SOURCES = %D%/check_study_runs.c %D%/study_test.h
check_study_same_SOURCES = %D%/check_study_same.c %D%/study_test.h
check_tolerance_SOURCES = %D%/check_tolerance.c
check_prove_SOURCES = %D%/attack.c %D%/attack.h %D%/check_prove.c
check_truth_SOURCES = %D%/check_truth.c
check_views_SOURCES = %D%/check_views.c
TESTS += %D%/check_forecast_gpu.sh %D%/check_mixed_files.sh
dist_check_SCRIPTS += %D%/check_forecast_gpu.sh %D%/check_mixed_files.sh
EXTRA_DIST += scripts/sample_engines.py tests/data/engine/concatenated.json tests/data/engine/foreign.json tests/data/engine/names_only.json \
	tests/data/engine/oneline.txt tests/data/engine/openvino.xml tests/data/engine/profiles.json tests/data/engine/trt10_fp16_claimed.json \
	tests/data/engine/trt10_half.json tests/data/engine/trt10_mixed.json tests/data/engine/trt10_wide.json \
	tests/data/engine/trt11_half.json tests/data/engine/trt84_numbered.json tests/data/engine/verbose.log
# Run by hand: attacks proofs of a model for as long as it is told (doc/prove.md).
check_PROGRAMS += attack_proofs
attack_proofs_SOURCES = %D%/attack.c %D%/attack.h %D%/attack_proofs.c
