libcore_la_SOURCES += %D%/compare.c %D%/mixed.c %D%/mixed.h %D%/text.c
