libcore_la_SOURCES += \
	%D%/extreme.c %D%/fate.c %D%/forecast.c %D%/forecaster.h %D%/hidden.c %D%/json.c %D%/look.c %D%/remedy.c %D%/scan.c %D%/text.c %D%/words.c
