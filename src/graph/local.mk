libcore_la_SOURCES += \
	%D%/find.c \
	%D%/graph.c %D%/graph.h \
	%D%/mapped.c \
	%D%/sort.c
