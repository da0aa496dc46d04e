libulpscope_a_SOURCES += \
	%D%/enclose.c %D%/enclose.h \
	%D%/interval.c %D%/interval.h
