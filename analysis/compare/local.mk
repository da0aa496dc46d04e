libcore_la_SOURCES += \
	%D%/cause.c %D%/cause_format.c %D%/cause_input.c %D%/change.c %D%/change.h %D%/collect.c \
	%D%/comparing.c %D%/comparing.h %D%/comparison.c %D%/comparison_json.c %D%/comparison_text.c \
	%D%/decisions.c %D%/expected.c %D%/fit.c %D%/guess.c %D%/layout.c %D%/match.c %D%/measure.c \
	%D%/suspects.c %D%/tail.c %D%/trials.c
