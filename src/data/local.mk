libcore_la_SOURCES += \
	%D%/base64.c \
	%D%/data.h \
	%D%/npy.c \
	%D%/npz.c \
	%D%/polygraphy_json.c \
	%D%/random_inputs.c \
	%D%/recording.c \
	%D%/tensor_set.c \
	%D%/test_data_set.c
