libulpscope_a_SOURCES += \
	%D%/approach.c %D%/course.c %D%/formats.h %D%/measured.c %D%/within.c
