libulpscope_a_SOURCES += \
	%D%/amounts.c %D%/amounts.h %D%/forward.c %D%/forward.h %D%/replay.c %D%/replay.h %D%/settled_order.c %D%/settled_order.h %D%/stages.c %D%/stages.h %D%/backward.c %D%/backward.h %D%/handed.c %D%/handed.h %D%/trial.c %D%/trial.h %D%/weigh.c %D%/weigh.h
