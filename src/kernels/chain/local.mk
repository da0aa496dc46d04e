libulpscope_a_SOURCES += \
	%D%/block.h %D%/chains.c %D%/chains.h %D%/repair.c %D%/segments.c %D%/job.c %D%/job.h %D%/rounded_template.h %D%/rounded_tiles_template.h \
	%D%/step.c %D%/step.h %D%/step_template.h %D%/tile.h %D%/tile_generic.c %D%/tile_rounded.c \
	%D%/tile_neon.c %D%/tile_rows.h %D%/tile_set.h \
	%D%/tile_template.h %D%/tile_x86.c
