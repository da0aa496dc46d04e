libcore_la_SOURCES += \
	%D%/collect.c %D%/comparing.c %D%/comparing.h %D%/comparison.c %D%/comparison_json.c \
	%D%/comparison_text.c %D%/decisions.c %D%/expected.c %D%/layout.c %D%/match.c %D%/measure.c %D%/slices.c \
	%D%/tail.c %D%/trials.c
include analysis/compare/cause/local.mk
