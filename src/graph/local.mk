libulpscope_a_SOURCES += \
	%D%/find.c \
	%D%/graph.c %D%/graph.h %D%/scoped.h \
	%D%/mapped.c \
	%D%/sort.c
