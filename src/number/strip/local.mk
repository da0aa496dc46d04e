libcore_la_SOURCES += \
	%D%/access.c %D%/access.h %D%/access_template.h %D%/chain.c %D%/chain.h %D%/chain_template.h \
	%D%/double.c %D%/float.c %D%/fold.c %D%/fuse_template.h %D%/integer.c %D%/map.h \
	%D%/move.c %D%/move.h %D%/mpfr.c %D%/strip.c %D%/strip_template.h
