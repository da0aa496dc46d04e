libulpscope_a_SOURCES += \
	%D%/draw.h %D%/output.c %D%/output.h %D%/pack.c %D%/pack.h %D%/pack_template.h \
	%D%/operand_special.c %D%/operand_special.h %D%/scaled.c %D%/scaled.h \
	%D%/scaled_fit.c %D%/scaled_fit.h \
	%D%/scaled_round.c %D%/scaled_round.h
