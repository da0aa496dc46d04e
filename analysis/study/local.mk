libcore_la_SOURCES += %D%/conclude.c %D%/fit.c %D%/json.c %D%/kept.c %D%/places.c %D%/settings.c %D%/study.c %D%/studying.h \
	%D%/sweep.c %D%/text.c %D%/trials.c %D%/walk.c
