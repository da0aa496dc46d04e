libcore_la_SOURCES += \
	%D%/adjoint.c %D%/adjoint.h \
	%D%/build.c %D%/build.h \
	%D%/evaluate.c %D%/evaluate.h \
	%D%/evaluate_case.c \
	%D%/evaluate_chain.c \
	%D%/evaluate_memory.c \
	%D%/evaluate_plan.c \
	%D%/evaluate_tile.c \
	%D%/evaluate_worker.c \
	%D%/enclose.c %D%/enclose.h \
	%D%/interval.c %D%/interval.h \
	%D%/layout.c %D%/layout.h \
	%D%/layout_window.c \
	%D%/parse.c \
	%D%/tape.c %D%/tape.h %D%/token.c %D%/token.h \
	%D%/words.c %D%/words.h
