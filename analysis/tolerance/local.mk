libulpscope_a_SOURCES += %D%/tolerance.c %D%/tolerance_fields.c %D%/tolerance_text.c
