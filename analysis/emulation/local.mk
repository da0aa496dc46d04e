libcore_la_SOURCES += \
	%D%/audit.c %D%/emulation.c %D%/emulation.h %D%/entries.c %D%/judge.c %D%/shapes.c \
	%D%/try.c
