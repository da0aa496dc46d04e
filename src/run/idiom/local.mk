libulpscope_a_SOURCES += \
	%D%/expression.c %D%/idiom_find.c %D%/idiom.def %D%/idiom.h %D%/match.c %D%/idiom_read.c %D%/idiom_read.h
