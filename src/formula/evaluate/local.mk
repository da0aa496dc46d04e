libcore_la_SOURCES += \
	%D%/case.c %D%/evaluate.c %D%/evaluate.h %D%/fused.c %D%/memory.c %D%/plan.c %D%/tile.c \
	%D%/turn.c %D%/worker.c
