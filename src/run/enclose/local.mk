libcore_la_SOURCES += \
	%D%/deviation.c %D%/enclose.c %D%/enclose.h %D%/enclosed.h %D%/special.c
