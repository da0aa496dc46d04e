libulpscope_a_SOURCES += \
	%D%/bits.h %D%/vectorise.h \
	%D%/error.c %D%/error.h \
	%D%/options.c %D%/options.h \
	%D%/random.c %D%/random.h \
	%D%/tuning.h
include src/base/memory/local.mk
include src/base/text/local.mk
include src/base/machine/local.mk
