libulpscope_a_SOURCES += \
	%D%/compare_collect.c %D%/comparing.c %D%/comparing.h %D%/comparison.c %D%/comparison_fields.c %D%/comparison_json.c \
	%D%/comparison_text.c %D%/decisions.c %D%/expected.c %D%/compare_layout.c %D%/compare_match.c %D%/matched.c %D%/measure.c %D%/neighbours.c %D%/passed_over.c %D%/ranking.c %D%/compare_replay.c \
	%D%/tail.c %D%/trials.c
include analysis/compare/cause/local.mk
