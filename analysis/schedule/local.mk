libcore_la_SOURCES += \
	%D%/schedule.h %D%/slices.c %D%/slices.h %D%/spread.c
