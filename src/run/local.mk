libcore_la_SOURCES += \
	%D%/block.c \
	%D%/border.c \
	%D%/constants.c \
	%D%/replay.c %D%/replay.h \
	%D%/rounds.c \
	%D%/sweep.c %D%/sweep.h \
	%D%/evaluate.c \
	%D%/execute.c \
	%D%/expand.c \
	%D%/fold.c %D%/follow.c \
	%D%/fuse.c \
	%D%/grow.c \
	%D%/info.c \
	%D%/inline.c \
	%D%/keep.c \
	%D%/lane.c %D%/lane.h \
	%D%/memory.c \
	%D%/order.c \
	%D%/ort_cpu.c %D%/ort_cpu.def \
	%D%/pattern.c \
	%D%/perturb.c \
	%D%/plan.c %D%/plan.h \
	%D%/problems.c \
	%D%/tell.c \
	%D%/types.c \
	%D%/walk.c %D%/walk.h
