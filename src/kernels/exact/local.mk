libulpscope_a_SOURCES += \
	 %D%/parts.h %D%/exact_round.c %D%/sum.c
