libulpscope_a_SOURCES += %D%/double_pair.c %D%/double_pair.h %D%/mpfr_record.h %D%/strip.h
include src/number/round/local.mk
include src/number/format/local.mk
include src/number/function/local.mk
include src/number/strip/local.mk
