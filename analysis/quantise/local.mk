libulpscope_a_SOURCES += %D%/quantise.c
