libulpscope_a_SOURCES += \
	%D%/arithmetic.c %D%/arithmetic.h %D%/arithmetic_template.h %D%/batch.c %D%/batch.h \
	%D%/batch_function.h %D%/batch_series.h %D%/batch_template.h %D%/element.c %D%/element.h %D%/element_template.h \
	%D%/fixed_function.c %D%/fixed_function.h %D%/instances.h %D%/limbs.h %D%/series.c %D%/series.h
