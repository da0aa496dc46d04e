libcore_la_SOURCES += \
	%D%/fate.c %D%/forecast.c %D%/forecaster.h %D%/hidden.c %D%/json.c %D%/look.c %D%/remedy.c %D%/text.c %D%/words.c
