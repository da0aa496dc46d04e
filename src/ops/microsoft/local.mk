libcore_la_SOURCES += \
	%D%/attention.c %D%/attention.h %D%/bits.c %D%/cache.c %D%/cache.h %D%/conv.c %D%/grouped.c %D%/microsoft.c %D%/projected.c %D%/quantize.c
