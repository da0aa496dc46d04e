libcore_la_SOURCES += %D%/judge.c %D%/part.c %D%/part.h %D%/quick.c %D%/quick.h
