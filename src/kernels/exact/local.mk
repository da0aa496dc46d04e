libulpscope_a_SOURCES += \
	%D%/kulisch.c %D%/number.h %D%/parts.h %D%/exact_round.c %D%/sum.c
