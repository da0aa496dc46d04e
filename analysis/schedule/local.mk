libulpscope_a_SOURCES += \
	%D%/redraw.c %D%/redraw.h %D%/schedule.h %D%/slices.c %D%/slices.h %D%/spread.c
