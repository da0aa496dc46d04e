libcore_la_SOURCES += \
	%D%/forward.c %D%/forward.h %D%/replay.c %D%/replay.h %D%/stages.c %D%/stages.h %D%/sweep.c %D%/sweep.h %D%/trial.c %D%/trial.h
