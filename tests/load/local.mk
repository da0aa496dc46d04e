test_programs += check_data check_inputs check_layer_options check_load check_npy check_recording
EXTRA_PROGRAMS += fuzz_load
$(also)check_load.log: fuzz_load$(EXEEXT)
check_data_SOURCES = %D%/check_data.c %D%/npy_file.c %D%/npy_file.h
check_npy_SOURCES = %D%/check_npy.c %D%/npy_file.c %D%/npy_file.h
check_inputs_SOURCES = %D%/check_inputs.c
check_layer_options_SOURCES = %D%/check_layer_options.c
check_load_SOURCES = %D%/check_load.c %D%/check_attributes.c %D%/check_damage.c %D%/check_external.c \
	%D%/check_graph.c %D%/check_tensor_proto.c %D%/load_test.h
check_recording_SOURCES = %D%/check_recording.c
fuzz_load_SOURCES = tests/fuzz/fuzz_main.c
EXTRA_DIST += tests/data/recording/polygraphy_inputs.json tests/data/recording/polygraphy_old.json \
	tests/data/recording/polygraphy_outputs.json
