libcore_la_SOURCES += \
	%D%/data.h \
	%D%/npy.c \
	%D%/npz.c \
	%D%/random_inputs.c \
	%D%/read.c \
	%D%/tensor_set.c \
	%D%/test_data_set.c
