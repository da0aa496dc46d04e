libulpscope_a_SOURCES += \
	%D%/box.c %D%/box.h %D%/prove_fields.c %D%/prove.c %D%/prove_text.c
