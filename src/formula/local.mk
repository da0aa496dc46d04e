libulpscope_a_SOURCES += \
	%D%/adjoint.c %D%/adjoint.h \
	%D%/build.c %D%/build.h \
	%D%/layout.c %D%/layout.h %D%/layout_window.c \
	%D%/parse.c \
	%D%/tape.c %D%/tape.h \
	%D%/token.c %D%/token.h \
	%D%/words.c %D%/words.h
include src/formula/enclose/local.mk
include src/formula/evaluate/local.mk
