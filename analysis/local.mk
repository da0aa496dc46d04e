libcore_la_SOURCES += \
	%D%/audit.c \
	%D%/certify.c %D%/figure.c %D%/figure.h %D%/metric.def %D%/view.def \
	%D%/given.c %D%/given.h \
	%D%/hint.c \
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
	%D%/report_tables.c \
	%D%/report_text.c \
	%D%/report.c %D%/report_internal.h \
	%D%/spread.c \
	%D%/taint.c %D%/taint.h \
	%D%/truth.c %D%/truth.h \
	%D%/verdict.c
