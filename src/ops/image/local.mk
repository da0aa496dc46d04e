libcore_la_SOURCES += \
	%D%/detect.c %D%/resize.c %D%/roi.c %D%/sample.c
