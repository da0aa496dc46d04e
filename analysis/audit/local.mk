libcore_la_SOURCES += \
	%D%/add.c %D%/audit.c %D%/certify.c %D%/certify.h %D%/auditor.h %D%/given.c %D%/given.h %D%/keep.c %D%/keep.h %D%/mixed.c %D%/mixed.h %D%/observe.c \
	%D%/overflow.c %D%/overflow.h %D%/pair.c %D%/pair.h %D%/part.c %D%/part.h %D%/part_file.c %D%/place.c %D%/place.h %D%/samples.c %D%/shares.c %D%/shares.h %D%/taint.c %D%/taint.h \
	%D%/truth.c %D%/truth.h %D%/views.c %D%/views.h %D%/zero.c %D%/zero.h
include analysis/audit/divergence/local.mk
