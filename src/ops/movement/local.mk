libcore_la_SOURCES += \
	%D%/axes.c %D%/blocks.c %D%/gather.c %D%/generate.c %D%/select.c %D%/shape.c
