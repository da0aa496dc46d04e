libulpscope_a_SOURCES += \
	%D%/enclose_bodies.c %D%/enclose_bodies.h %D%/enclose_body.c %D%/enclose_graph.c %D%/enclose_graph.h %D%/enclosed.h %D%/iterations.c %D%/shares.c %D%/enclose_special.c %D%/enclose_step.c %D%/values.c
