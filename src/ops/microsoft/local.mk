libulpscope_a_SOURCES += \
	%D%/microsoft_attention.c %D%/microsoft_attention.h %D%/bits.c %D%/bits.h %D%/cache.c %D%/cache.h %D%/conv.c %D%/experts.c %D%/gates.c %D%/gather.c %D%/grouped.c %D%/microsoft.c %D%/projected.c %D%/quantize.c %D%/sparse.c
