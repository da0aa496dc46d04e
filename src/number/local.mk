# libcore: src/number
libcore_la_SOURCES += \
	%D%/arithmetic.c %D%/request.c %D%/request.h \
	%D%/describe.c \
	%D%/format.c \
	%D%/round.c %D%/round.h \
	%D%/round_mpfr.c
