libcore_la_SOURCES += \
	%D%/block.c %D%/bodies.c %D%/constants.c %D%/enclose.c %D%/enclose.h %D%/enclose_deviation.c %D%/enclose_special.c %D%/enclosed.h %D%/evaluate.c \
	%D%/execute.c %D%/follow.c %D%/forward.c %D%/forward.h %D%/info.c %D%/kept.c %D%/kept.h %D%/lane.c \
	%D%/lane.h %D%/notify.c %D%/perturb.c %D%/replay.c %D%/replay.h %D%/sweep.c %D%/sweep.h \
	%D%/trial.c %D%/trial.h %D%/walk.c %D%/walk.h
include src/run/idiom/local.mk
include src/run/plan/local.mk
