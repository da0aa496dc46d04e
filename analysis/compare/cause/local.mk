libcore_la_SOURCES += \
	%D%/cause.c %D%/change.c %D%/change.h %D%/fit.c %D%/format.c %D%/guess.c %D%/input.c %D%/suspects.c
