libcore_la_SOURCES += \
	%D%/blocks.c %D%/cut.h %D%/digits.c %D%/digits.h %D%/doubles.c %D%/form.c %D%/form.h \
	%D%/lines.h %D%/lines_x86.c \
	%D%/plan.c %D%/product.c %D%/round_x86.c %D%/scheme.c %D%/scheme.h %D%/special.c %D%/terms.c \
	%D%/tile.c %D%/tile.h %D%/tile_template.h %D%/tile_x86.c \
	%D%/vector.c %D%/vector.h %D%/vector_doubles.c %D%/vector_doubles_template.h %D%/vector_x86.c
