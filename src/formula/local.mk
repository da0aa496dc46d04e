libcore_la_SOURCES += \
	%D%/build.h \
	%D%/layout.c %D%/layout.h \
	%D%/layout_window.c \
	%D%/parse.c \
	%D%/tape.c %D%/tape.h
