# libcore: src/number
libcore_la_SOURCES += \
	%D%/arithmetic.c %D%/request.c %D%/request.h \
	%D%/describe.c \
	%D%/format.c \
	%D%/round.c %D%/round.h %D%/round_template.h \
	%D%/round_mpfr.c
libcore_la_SOURCES += \
	%D%/strip.c %D%/strip.h %D%/strip_map.h %D%/strip_template.h \
	%D%/strip_chain.c %D%/strip_chain.h %D%/strip_chain_template.h \
	%D%/strip_access.c %D%/strip_access.h %D%/strip_access_template.h %D%/strip_fuse_template.h \
	%D%/strip_float.c %D%/strip_double.c %D%/odd.h \
	%D%/strip_mpfr.c %D%/strip_move.c %D%/strip_move.h %D%/mpfr_record.h \
	%D%/strip_integer.c \
	%D%/fold.c \
	%D%/function.c %D%/function.h %D%/function_exact.c \
	%D%/function_cuda.c %D%/function_cuda.h %D%/function_cuda_template.h %D%/function_cuda_coefficients.h \
	%D%/function_estimate.c %D%/function_estimate.h %D%/function_estimate_template.h %D%/function_coefficients.h \
	%D%/unary_table.c %D%/unary_table.h \
	%D%/wide_limbs.h %D%/wide_instances.h %D%/wide_series.c %D%/wide_series.h \
	%D%/wide_function.c %D%/wide_function.h %D%/wide_element_template.h \
	%D%/wide_batch.c %D%/wide_batch.h %D%/wide_batch_template.h \
	%D%/wide_arithmetic.c %D%/wide_arithmetic.h %D%/wide_arithmetic_template.h
