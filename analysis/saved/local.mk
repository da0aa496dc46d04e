libcore_la_SOURCES += %D%/diff.c %D%/export.c %D%/export.def %D%/saved.c %D%/saved.h %D%/show.c
