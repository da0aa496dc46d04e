libcore_la_SOURCES += %D%/json.c %D%/text.c %D%/timer.c %D%/timings.c %D%/timings.h
