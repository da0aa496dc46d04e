libulpscope_a_SOURCES += %D%/fix.c %D%/fix_edits.c %D%/fix_fields.c %D%/fix_judge.c %D%/fix_text.c %D%/fix_write.c %D%/fixing.h
