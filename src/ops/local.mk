libcore_la_SOURCES += \
	%D%/axes.c \
	%D%/bind.c \
	%D%/blocks.c \
	%D%/call.c %D%/call.h \
	%D%/elementwise.c \
	%D%/gather.c \
	%D%/infer.c %D%/infer.h \
	%D%/move.c %D%/move.h \
	%D%/operator.h \
	%D%/reduce.c \
	%D%/registry.c \
	%D%/shape.c
