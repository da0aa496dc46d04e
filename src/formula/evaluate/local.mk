libulpscope_a_SOURCES += \
	%D%/carrier.c %D%/evaluate.c %D%/evaluate.h %D%/memory.c %D%/evaluate_plan.c %D%/tile.c %D%/worker.c
