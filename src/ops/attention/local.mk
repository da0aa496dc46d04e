libcore_la_SOURCES += \
	%D%/attention.c %D%/attention.h %D%/state.c
