libulpscope_a_SOURCES += \
	%D%/emulation_audit.c %D%/draws.c %D%/emulation.c %D%/emulation.h %D%/entries.c %D%/emulation_judge.c %D%/judged_in.c %D%/shapes.c \
	%D%/try.c
