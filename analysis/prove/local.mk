libcore_la_SOURCES += \
	%D%/box.c %D%/box.h %D%/json.c %D%/prove.c %D%/text.c
