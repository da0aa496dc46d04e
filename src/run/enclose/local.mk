libcore_la_SOURCES += \
	%D%/bodies.c %D%/bodies.h %D%/body.c %D%/deviation.c %D%/enclose.c %D%/enclose.h %D%/enclosed.h %D%/iterations.c %D%/shares.c %D%/special.c %D%/step.c %D%/values.c
