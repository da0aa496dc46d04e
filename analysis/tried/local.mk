libulpscope_a_SOURCES += %D%/attempt.def %D%/alone.c %D%/attempt_list.c %D%/attempts.c %D%/tried.h
