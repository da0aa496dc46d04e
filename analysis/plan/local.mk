libcore_la_SOURCES += \
	%D%/engine.c %D%/engine.h %D%/find.c %D%/held_out.c %D%/links.c %D%/mixed.c %D%/picture.c %D%/picture.h %D%/powers.c %D%/release.c %D%/report.c \
	%D%/search.c %D%/search.h %D%/try.c
