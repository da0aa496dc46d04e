libcore_la_SOURCES += \
	%D%/block.c %D%/constants.c %D%/evaluate.c %D%/execute.c %D%/follow.c %D%/info.c %D%/lane.c \
	%D%/lane.h %D%/perturb.c %D%/replay.c %D%/replay.h %D%/rounds.c %D%/sweep.c %D%/sweep.h %D%/tell.c \
	%D%/trial.c %D%/trial.h %D%/walk.c %D%/walk.h
include src/run/plan/local.mk
