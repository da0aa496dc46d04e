libcore_la_SOURCES += \
	%D%/attribution.c %D%/attribution_collect.c %D%/attribution_groups.c %D%/attribution_target.c %D%/attribution_verify.c %D%/attribution.h \
	%D%/audit.c \
	%D%/certify.c %D%/figure.c %D%/figure.h %D%/metric.def %D%/view.def \
	%D%/compare/cause.c %D%/compare/cause_format.c %D%/compare/cause_input.c \
	%D%/compare/change.c %D%/compare/change.h \
	%D%/compare/collect.c \
	%D%/compare/comparing.c %D%/compare/comparing.h \
	%D%/compare/comparison.c \
	%D%/compare/comparison_json.c \
	%D%/compare/comparison_text.c \
	%D%/compare/decisions.c \
	%D%/compare/expected.c \
	%D%/compare/fit.c \
	%D%/compare/guess.c \
	%D%/compare/layout.c \
	%D%/compare/match.c \
	%D%/compare/measure.c \
	%D%/compare/suspects.c \
	%D%/compare/tail.c \
	%D%/compare/trials.c \
	%D%/divergence.c %D%/divergence.h \
	%D%/given.c %D%/given.h \
	%D%/hint.c \
	%D%/junit.c \
	%D%/json_value.c %D%/json_value.h \
	%D%/limit.c \
	%D%/median.c %D%/median.h \
	%D%/merge.c \
	%D%/metrics.c %D%/metrics.h \
	%D%/metrics_strip.c %D%/metrics_strip.h %D%/metrics_strip_template.h \
	%D%/mixed.c %D%/mixed.h \
	%D%/overflow.c %D%/overflow.h \
	%D%/page.h \
	%D%/parting.c %D%/parting.h \
	%D%/report_csv.c \
	%D%/report_kept.c \
	%D%/report_overflow.c \
	%D%/report_json.c \
	%D%/report_shares.c \
	%D%/report_tables.c \
	%D%/report_text.c \
	%D%/report.c %D%/report_internal.h \
	%D%/schedules.h \
	%D%/spread.c \
	%D%/taint.c %D%/taint.h \
	%D%/truth.c %D%/truth.h \
	%D%/verdict.c
