libulpscope_a_SOURCES += \
	%D%/mpfr.c %D%/odd.h %D%/round.c %D%/round.h %D%/round_template.h
