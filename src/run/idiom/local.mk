libcore_la_SOURCES += \
	%D%/expression.c %D%/find.c %D%/idiom.def %D%/idiom.h %D%/match.c %D%/read.c %D%/read.h
