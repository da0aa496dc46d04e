libulpscope_a_SOURCES += \
	%D%/array.c \
	%D%/broadcast.c \
	%D%/convert.c \
	%D%/lower.c %D%/lower.h \
	%D%/odd.c %D%/odd.h \
	%D%/perturb.c \
	%D%/stored.c %D%/stored.h \
	%D%/tensor.c %D%/tensor.h
