libulpscope_a_SOURCES += %D%/extract.c
