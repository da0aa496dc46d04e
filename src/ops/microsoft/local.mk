libcore_la_SOURCES += \
	%D%/attention.c %D%/bits.c %D%/attention.h %D%/conv.c %D%/grouped.c %D%/microsoft.c %D%/quantize.c
