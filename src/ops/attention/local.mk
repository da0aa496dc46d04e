libulpscope_a_SOURCES += \
	%D%/attend.c %D%/attention.c %D%/cached.c %D%/attention.h %D%/heads.c %D%/heads.h %D%/mask.c %D%/mask.h %D%/rotary.c \
	%D%/rotary.h %D%/scores.c %D%/scores.h %D%/state.c %D%/tiles.c %D%/tiles.h
