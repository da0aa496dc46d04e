libulpscope_a_SOURCES += \
	%D%/audit_page.c %D%/assumed.c %D%/hint.c %D%/report_json.h %D%/junit.c %D%/layers_csv.c %D%/limits.c %D%/magnify.c %D%/magnify.def %D%/report.c %D%/report.h %D%/report_cause.c \
	%D%/report_json.c %D%/report_notes.c %D%/report_scaled.c %D%/report_verdict.c %D%/report_zeroed.c %D%/verdict_decided.c %D%/verdict_original.c
