libulpscope_a_SOURCES += %D%/resized.c %D%/resized.h %D%/resized_change.c
