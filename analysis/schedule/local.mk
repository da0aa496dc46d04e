libulpscope_a_SOURCES += \
	%D%/redraw.c %D%/redraw.h %D%/schedule.h %D%/spread.c
