libcore_la_SOURCES += \
	%D%/attribution.c %D%/attribution.h %D%/bound.c %D%/collect.c %D%/decide.c %D%/groups.c %D%/store.c %D%/target.c %D%/verify.c
