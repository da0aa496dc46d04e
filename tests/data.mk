check_PROGRAMS += check_data check_inputs check_recording
TESTS += check_data check_inputs check_recording
check_data_SOURCES = %D%/check_data.c %D%/fuzz/fuzz_load.h %D%/fuzz/mutate.c
check_data_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/fuzz
check_data_LDADD = $(test_libs)

check_inputs_SOURCES = %D%/check_inputs.c
check_inputs_CPPFLAGS = $(test_cppflags)
check_inputs_LDADD = $(test_libs)

check_recording_SOURCES = %D%/check_recording.c
check_recording_CPPFLAGS = $(test_cppflags)
check_recording_LDADD = $(test_libs)
EXTRA_DIST += %D%/data/recording/polygraphy_inputs.json %D%/data/recording/polygraphy_old.json %D%/data/recording/polygraphy_outputs.json
