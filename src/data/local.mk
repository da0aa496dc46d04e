libulpscope_a_SOURCES += \
	%D%/base64.c \
	%D%/calibration_cache.c %D%/calibration_cache.h \
	%D%/check_inputs.c \
	%D%/data.h \
	%D%/dim_value.c \
	%D%/engine/engine_json.c \
	%D%/engine/engine_onnx.c \
	%D%/engine/engine_type.def \
	%D%/engine/engine_read.c \
	%D%/engine/reading.c \
	%D%/engine/reading.h \
	%D%/free_sizes.c %D%/free_sizes.h \
	%D%/group_list.c \
	%D%/input_range.c \
	%D%/json_file.c \
	%D%/json_file.h \
	%D%/layer_options.c \
	%D%/layer_options.h \
	%D%/npy.c \
	%D%/npz.c \
	%D%/npz_write.c \
	%D%/polygraphy_json.c \
	%D%/polygraphy_write.c \
	%D%/precision_plan.c \
	%D%/range_list.c %D%/range_list.h \
	%D%/read.c \
	%D%/recording.c \
	%D%/recording_list.c \
	%D%/resize_inputs.c \
	%D%/tensor_set.c \
	%D%/test_data_set.c
