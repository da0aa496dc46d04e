libcore_la_SOURCES += \
	%D%/arithmetic.c %D%/built.c %D%/kernel.c %D%/kernel.def %D%/mapping.h %D%/names.c %D%/tensors.c
