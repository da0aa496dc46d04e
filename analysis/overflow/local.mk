libulpscope_a_SOURCES += \
	%D%/fate.c %D%/hidden.c %D%/look.c %D%/meter.h %D%/overflow.c %D%/overflow_run.c %D%/overflow_sample.c %D%/overflow_fields.c %D%/overflow_text.c %D%/overflow_words.c \
	%D%/remedy.c
