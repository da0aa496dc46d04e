libcore_la_SOURCES += %D%/extract.c
