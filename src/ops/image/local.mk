libcore_la_SOURCES += \
	%D%/detect.c %D%/interpolate.c %D%/interpolate.h %D%/resize.c %D%/roi.c %D%/sample.c
