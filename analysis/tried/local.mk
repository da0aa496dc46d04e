libulpscope_a_SOURCES += %D%/alone.c %D%/attempts.c %D%/tried.h
