libcore_la_SOURCES += \
	%D%/build.h \
	%D%/parse.c \
	%D%/tape.c %D%/tape.h
