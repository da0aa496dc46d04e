libcore_la_SOURCES += \
	%D%/json.c %D%/prove.c %D%/text.c
