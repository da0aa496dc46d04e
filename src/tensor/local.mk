libcore_la_SOURCES += \
	%D%/broadcast.c \
	%D%/convert.c \
	%D%/perturb.c \
	%D%/tensor.c %D%/tensor.h
