libcore_la_SOURCES += %D%/annotate.c %D%/audit.c %D%/compare.c %D%/compare.h %D%/diff.c %D%/diff_forms.c %D%/export.c %D%/export.def %D%/export.h
libcore_la_SOURCES += %D%/figures.c %D%/format.c %D%/saved.c %D%/saved.h %D%/show.c
