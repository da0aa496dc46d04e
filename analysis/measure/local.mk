libulpscope_a_SOURCES += \
	%D%/difference.c %D%/difference.h %D%/figure.c %D%/figure.h %D%/histogram.c %D%/histogram.h %D%/judge.c \
	%D%/judge.h %D%/judged.c %D%/judged.h %D%/judged_groups.c %D%/judged_groups.h %D%/judged_rows.c %D%/limit.c %D%/limit.h %D%/measure_merge.c %D%/measure_range.c %D%/median.c %D%/median.h %D%/metric.def %D%/metrics.c \
	%D%/metrics.h %D%/metrics_strip.c %D%/metrics_strip.h %D%/metrics_strip_template.h %D%/object_columns.c %D%/object_lists.c %D%/objects.c %D%/objects.h %D%/partial.c %D%/partial.h %D%/quantile.c %D%/quantile.h %D%/row_match.c %D%/row_match.h \
	%D%/verdict.def %D%/view.def
