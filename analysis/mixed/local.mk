libulpscope_a_SOURCES += %D%/mixed_compare.c %D%/mixed.c %D%/mixed.h %D%/mixed_text.c
