libulpscope_a_SOURCES += %D%/timings_fields.c %D%/timings_text.c %D%/timer.c %D%/timings.c %D%/timings.h
