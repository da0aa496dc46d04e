libcore_la_SOURCES += \
	%D%/arithmetic.c %D%/describe.c %D%/format.c %D%/request.c %D%/request.h
