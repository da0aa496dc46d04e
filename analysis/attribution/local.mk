libulpscope_a_SOURCES += \
	%D%/attributed_alone.c %D%/attributed_value.c %D%/attribution.c %D%/attributor.c %D%/attribution.h %D%/beyond.c %D%/bound.c %D%/causes.c %D%/collect.c %D%/decide.c %D%/attribution_groups.c %D%/store.c %D%/verify.c
