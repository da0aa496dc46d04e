test_programs += check_conv_order check_derivatives check_enclosures check_operators check_ops check_ops_numbers check_probe check_requantise check_walk
check_conv_order_SOURCES = %D%/check_conv_order.c
check_derivatives_SOURCES = %D%/check_derivatives.c %D%/harness/cases.c %D%/harness/cases.h %D%/harness/rows.c %D%/harness/rows.h \
	%D%/harness/hints.c
# Every formula that any operator runs passes through the harness.
check_operators_SOURCES = %D%/check_operators.c %D%/harness/cases.c %D%/harness/cases.h %D%/harness/rows.c %D%/harness/rows.h %D%/harness/hints.c \
	%D%/harness/interval.c %D%/harness/interval.h %D%/harness/watch.c %D%/harness/watch.h
check_operators_LDFLAGS = -Wl,--wrap=ulp_tape_run -Wl,--wrap=ulp_contract
check_ops_SOURCES = %D%/check_ops.c
check_ops_numbers_SOURCES = %D%/check_ops_numbers.c
check_probe_SOURCES = %D%/check_probe.c
check_requantise_SOURCES = %D%/check_requantise.c
check_walk_SOURCES = %D%/check_walk.c %D%/harness/cases.c %D%/harness/cases.h %D%/harness/rows.c %D%/harness/rows.h %D%/harness/hints.c \
	%D%/harness/variants.c %D%/harness/variants.h %D%/harness/variants_attribute.c \
	%D%/harness/variants_inside.h
TESTS += %D%/check_attention.sh %D%/check_cliffs.sh %D%/check_conv_kernels.sh %D%/check_decoders.sh %D%/check_htp.sh %D%/check_recurrent.sh %D%/check_microsoft.sh %D%/check_ort_cpu.sh %D%/check_ort_cuda.sh %D%/check_tensorrt.sh %D%/check_recorded_steps.sh
dist_check_SCRIPTS += %D%/check_attention.sh %D%/check_cliffs.sh %D%/check_decoders.sh %D%/check_conv_kernels.sh %D%/check_recurrent.sh
dist_check_SCRIPTS += %D%/check_htp.sh %D%/check_microsoft.sh %D%/check_ort_cpu.sh %D%/check_ort_cuda.sh %D%/check_tensorrt.sh %D%/check_recorded_steps.sh
EXTRA_DIST += tests/data/rtx tests/data/ort_cpu tests/data/ort_cuda tests/data/microsoft tests/data/declared tests/data/saturating tests/data/pairs tests/data/tensorrt tests/data/tflite tests/data/webgpu tests/data/rknn
check_enclosures_SOURCES = %D%/check_enclosures.c %D%/harness/cases.c %D%/harness/cases.h %D%/harness/rows.c %D%/harness/rows.h %D%/harness/hints.c
