libcore_la_SOURCES += %D%/calibrate.c %D%/scales.c %D%/scales_block.c %D%/scales_choices.c %D%/scales_factor.c %D%/scales.h %D%/scales_fields.c %D%/scales_quantize.c %D%/scales_text.c
