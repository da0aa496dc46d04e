libulpscope_a_SOURCES += \
	%D%/engine_arithmetic.c %D%/engine_fields.c %D%/built.c %D%/kernel.c %D%/kernel.def %D%/engine_lane.c %D%/mapping.c %D%/mapping.h %D%/engine_names.c \
	%D%/tensors.c %D%/engine_map_text.c %D%/verdict.c %D%/wish.c %D%/words.h
