libulpscope_a_SOURCES += \
	%D%/format_arithmetic.c %D%/base.c %D%/base.h %D%/describe.c %D%/floats.c %D%/format.c %D%/gpu.c %D%/gpu.def %D%/gpu.h %D%/part.def %D%/request.c %D%/request.h %D%/resolve.c %D%/scaling.c %D%/scaling.h %D%/steps.def %D%/target.c %D%/target.def
