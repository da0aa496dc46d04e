libcore_la_SOURCES += \
	%D%/base64.c \
	%D%/check_inputs.c \
	%D%/data.h \
	%D%/group_list.c \
	%D%/input_range.c \
	%D%/json_file.c \
	%D%/json_file.h \
	%D%/layer_options.c \
	%D%/layer_options.h \
	%D%/npy.c \
	%D%/npz.c \
	%D%/polygraphy_json.c \
	%D%/precision_plan.c \
	%D%/random_inputs.c \
	%D%/read.c \
	%D%/recording.c \
	%D%/recording_list.c \
	%D%/tensor_set.c \
	%D%/test_data_set.c
