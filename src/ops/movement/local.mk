libulpscope_a_SOURCES += \
	%D%/axes.c %D%/movement_blocks.c %D%/movement_gather.c %D%/generate.c %D%/select.c %D%/shape.c
