libulpscope_a_SOURCES += %D%/saved_audit.c %D%/saved_compare.c %D%/saved_compare.h %D%/diff.c 
libulpscope_a_SOURCES += %D%/saved.c %D%/saved.h %D%/saved_page.c %D%/show.c
