libulpscope_a_SOURCES += %D%/quick_judge.c %D%/quick_part.c %D%/quick_part.h %D%/quick.c %D%/quick.h
