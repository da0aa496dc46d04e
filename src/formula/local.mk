libcore_la_SOURCES += \
	%D%/build.h \
	%D%/evaluate.c %D%/evaluate.h \
	%D%/layout.c %D%/layout.h \
	%D%/layout_window.c \
	%D%/parse.c \
	%D%/plan.c \
	%D%/plan_memory.c \
	%D%/tape.c %D%/tape.h \
	%D%/tiles.c \
	%D%/worker.c
