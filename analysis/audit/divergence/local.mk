libulpscope_a_SOURCES += \
	%D%/divergence.c %D%/divergence.h %D%/qdq.c %D%/qdq.h %D%/suppression.c %D%/turned.c %D%/turned.h
