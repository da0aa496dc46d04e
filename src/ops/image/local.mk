libulpscope_a_SOURCES += \
	%D%/detect.c %D%/detect.h %D%/resize.c %D%/roi.c %D%/sample.c
