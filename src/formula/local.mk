libcore_la_SOURCES += \
	%D%/adjoint.c %D%/adjoint.h \
	%D%/build.c %D%/build.h \
	%D%/evaluate.c %D%/evaluate.h \
	%D%/evaluate_memory.c \
	%D%/evaluate_plan.c \
	%D%/evaluate_chain.c %D%/evaluate_tiles.c \
	%D%/evaluate_worker.c \
	%D%/layout.c %D%/layout.h \
	%D%/layout_window.c \
	%D%/parse.c \
	%D%/tape.c %D%/tape.h \
	%D%/words.c %D%/words.h
