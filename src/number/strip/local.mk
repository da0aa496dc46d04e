libulpscope_a_SOURCES += \
	%D%/access.c %D%/access.h %D%/access_template.h %D%/fma_template.h %D%/fused.c %D%/fused.h %D%/fused_template.h \
	%D%/double.c %D%/float.c %D%/integer.c %D%/map.h \
	%D%/move.c %D%/move.h %D%/strip_mpfr.c %D%/reduction.c %D%/strip.c %D%/strip_template.h
