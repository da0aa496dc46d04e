check_PROGRAMS += check_load fuzz_load
TESTS += check_load
check_load_SOURCES = %D%/check_load.c %D%/check_attributes.c %D%/check_damage.c %D%/check_external.c \
	%D%/check_graph.c %D%/check_tensor_proto.c %D%/load_test.h tests/fuzz/fuzz_load.c tests/fuzz/fuzz_load.h tests/fuzz/mutate.c
check_load_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/fuzz
check_load_LDADD = $(test_libs)

fuzz_load_SOURCES = tests/fuzz/fuzz_main.c tests/fuzz/fuzz_load.c tests/fuzz/fuzz_load.h tests/fuzz/mutate.c
fuzz_load_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/fuzz
fuzz_load_LDADD = $(test_libs)
check_PROGRAMS += check_data check_inputs
TESTS += check_data check_inputs
check_data_SOURCES = %D%/check_data.c tests/fuzz/fuzz_load.h tests/fuzz/mutate.c
check_data_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/fuzz
check_data_LDADD = $(test_libs)

check_inputs_SOURCES = %D%/check_inputs.c
check_inputs_CPPFLAGS = $(test_cppflags)
check_inputs_LDADD = $(test_libs)

check_PROGRAMS += check_recording
TESTS += check_recording
check_recording_SOURCES = %D%/check_recording.c
check_recording_CPPFLAGS = $(test_cppflags)
check_recording_LDADD = $(test_libs)
EXTRA_DIST += tests/data/recording/polygraphy_inputs.json tests/data/recording/polygraphy_old.json \
	tests/data/recording/polygraphy_outputs.json

check_PROGRAMS += check_layer_options
TESTS += check_layer_options
check_layer_options_SOURCES = %D%/check_layer_options.c
check_layer_options_CPPFLAGS = $(test_cppflags)
check_layer_options_LDADD = $(test_libs)
