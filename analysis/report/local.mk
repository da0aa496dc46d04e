libcore_la_SOURCES += \
	%D%/choice.c %D%/csv.c %D%/hint.c %D%/json.c %D%/json_node.c %D%/json_node.h %D%/json_value.c %D%/json_value.h %D%/json_writer.c %D%/json_writer.h %D%/junit.c %D%/kept.c %D%/limits.c \
	%D%/overflow.c %D%/page.c %D%/page.h %D%/report.c %D%/report.h %D%/shares.c %D%/tables.c %D%/text.c \
	%D%/verdict.c
