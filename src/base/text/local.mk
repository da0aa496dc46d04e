libulpscope_a_SOURCES += \
	%D%/coder.c %D%/coder.h \
	%D%/glob.c %D%/glob.h \
	%D%/names.c %D%/names.h \
	%D%/shown.c %D%/shown.h \
	%D%/suggest.c %D%/suggest.h \
	%D%/text.c %D%/text.h
