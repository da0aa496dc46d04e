libulpscope_a_SOURCES += %D%/saved_audit.c %D%/saved_compare.c %D%/saved_compare.h %D%/diff.c %D%/diff_forms.c %D%/export.c %D%/export.def %D%/export.h
libulpscope_a_SOURCES += %D%/figures.c %D%/saved_format.c %D%/saved.c %D%/saved.h %D%/saved_page.c %D%/show.c
