libcore_la_SOURCES += \
	%D%/accumulator.c %D%/number.h %D%/parts.h %D%/reference.c %D%/reference.h %D%/round.c %D%/sum.c
