libcore_la_SOURCES += \
	%D%/alloc.c %D%/alloc.h \
	%D%/budget.c %D%/budget.h \
	%D%/clock.h \
	%D%/cpu.c %D%/cpu.h \
	%D%/environment.c %D%/environment.h \
	%D%/error.c %D%/error.h \
	%D%/file.c %D%/file.h \
	%D%/names.c %D%/names.h \
	%D%/random.c %D%/random.h \
	%D%/reserve.c %D%/reserve.h \
	%D%/scratch.c %D%/scratch.h \
	%D%/shown.c %D%/shown.h \
	%D%/suggest.c %D%/suggest.h \
	%D%/text.c %D%/text.h \
	%D%/thread.c %D%/thread.h %D%/tuning.h
