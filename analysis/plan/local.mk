libcore_la_SOURCES += \
	%D%/engine.c %D%/engine.h %D%/plan_find.c %D%/held_out.c %D%/links.c %D%/plan_onnx.c %D%/picture.c %D%/picture.h %D%/powers.c %D%/release.c %D%/plan_report.c \
	%D%/plan_search.c %D%/plan_search.h %D%/plan_try.c
