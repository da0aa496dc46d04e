libcore_la_SOURCES += \
	%D%/fate.c %D%/forecast.c %D%/forecaster.h %D%/json.c %D%/look.c %D%/text.c %D%/words.c
