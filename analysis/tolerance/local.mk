libcore_la_SOURCES += %D%/tolerance.c %D%/tolerance_text.c
