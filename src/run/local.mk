libcore_la_SOURCES += \
	%D%/block.c \
	%D%/execute.c \
	%D%/expand.c \
	%D%/fold.c \
	%D%/fuse.c \
	%D%/info.c \
	%D%/inline.c \
	%D%/lane.c %D%/lane.h \
	%D%/memory.c \
	%D%/plan.c %D%/plan.h \
	%D%/types.c
