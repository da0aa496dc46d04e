test_programs += check_adapt check_array check_bodies check_control check_fusion check_growth check_idiom check_iterations check_keep \
	check_nested check_networks check_ort_cpu check_packed check_pattern check_qdq check_run check_scales check_traps check_trial check_work
check_adapt_SOURCES = %D%/check_adapt.c
check_array_SOURCES = %D%/check_array.c
check_bodies_SOURCES = %D%/check_bodies.c
check_control_SOURCES = %D%/check_control.c %D%/run_test.h %D%/support.c
check_growth_SOURCES = %D%/check_growth.c %D%/growth_bodies.c %D%/growth_build.c %D%/growth_build.h \
	%D%/growth_models.c %D%/growth_models.h
check_idiom_SOURCES = %D%/check_idiom.c
check_iterations_SOURCES = %D%/check_iterations.c
check_keep_SOURCES = %D%/plan/check_keep.c %D%/run_test.h %D%/support.c
check_nested_SOURCES = %D%/check_nested.c
check_networks_SOURCES = %D%/check_networks.c
check_ort_cpu_SOURCES = %D%/check_ort_cpu.c
check_packed_SOURCES = %D%/check_packed.c
check_pattern_SOURCES = %D%/plan/check_pattern.c
check_qdq_SOURCES = %D%/plan/check_qdq.c
check_run_SOURCES = %D%/check_run.c %D%/check_small.c %D%/run_test.h %D%/support.c
check_scales_SOURCES = %D%/plan/check_scales.c
check_traps_SOURCES = %D%/check_traps.c
check_trial_SOURCES = %D%/check_trial.c %D%/run_test.h %D%/support.c
check_work_SOURCES = %D%/check_work.c
check_fusion_SOURCES = %D%/plan/check_fusion.c
