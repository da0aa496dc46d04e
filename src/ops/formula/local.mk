libulpscope_a_SOURCES += \
	%D%/cast.c %D%/cumulate.c %D%/det.c %D%/elementwise.c %D%/ngram.c %D%/normalize.c %D%/pool.c \
	%D%/reduce.c %D%/signal.c
