libulpscope_a_SOURCES += \
	%D%/alloc.c %D%/alloc.h \
	%D%/budget.c %D%/budget.h %D%/spin.h \
	%D%/reserve.c %D%/reserve.h \
	%D%/scratch.c %D%/scratch.h
