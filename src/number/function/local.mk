libulpscope_a_SOURCES += \
	%D%/binary64.c %D%/cuda.c %D%/cuda.h %D%/cuda_coefficients.h %D%/cuda_template.h \
	%D%/pair.c %D%/pair.h %D%/pair_arithmetic.h %D%/pair_arithmetic_end.h %D%/pair_tables.h %D%/pair_template.h \
	%D%/exact.c %D%/function.c %D%/function.h %D%/math.c %D%/math.h %D%/mlas.c %D%/mlas.h %D%/mlas_rows.c %D%/mlas_rows.h
