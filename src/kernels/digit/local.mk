libulpscope_a_SOURCES += \
	%D%/blocks.c %D%/cut.h %D%/digits.c %D%/digits.h %D%/doubles.c %D%/digit_form.c %D%/digit_form.h \
	%D%/lines.h %D%/lines_x86.c \
	%D%/digit_plan.c %D%/product.c %D%/round_x86.c %D%/scheme.c %D%/scheme.h %D%/special.c %D%/terms.c \
	%D%/digit_tile.c %D%/digit_tile.h %D%/tile_template.h %D%/digit_tile_x86.c \
	%D%/vector.c %D%/vector.h %D%/vector_doubles.c %D%/vector_doubles_template.h %D%/vector_x86.c
