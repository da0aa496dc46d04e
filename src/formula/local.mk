libcore_la_SOURCES += \
	%D%/build.h \
	%D%/columns.c \
	%D%/evaluate.c %D%/evaluate.h \
	%D%/layout.c %D%/layout.h \
	%D%/layout_window.c \
	%D%/parse.c \
	%D%/plan.c \
	%D%/plan_memory.c \
	%D%/tape.c %D%/tape.h \
	%D%/worker.c
