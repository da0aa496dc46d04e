libulpscope_a_SOURCES += \
	%D%/access.c %D%/access.h %D%/access_template.h %D%/fma_template.h \
	%D%/double.c %D%/float.c %D%/integer.c %D%/map.h \
	%D%/strip_bound.c %D%/strip_bound.h %D%/strip_mpfr.c %D%/strip_pair.c %D%/strip_pair_access.c %D%/strip_pair_whole.c %D%/strip_pair.h %D%/strip_pair_template.h %D%/reduction.c %D%/strip.c %D%/strip_template.h
