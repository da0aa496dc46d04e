libcore_la_SOURCES += \
	%D%/graph.c %D%/graph.h \
	%D%/names.c %D%/names.h \
	%D%/sort.c
