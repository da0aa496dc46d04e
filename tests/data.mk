check_PROGRAMS += check_data check_inputs
TESTS += check_data check_inputs
check_data_SOURCES = %D%/check_data.c %D%/fuzz/fuzz_load.h %D%/fuzz/mutate.c
check_data_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/fuzz
check_data_LDADD = $(test_libs)

check_inputs_SOURCES = %D%/check_inputs.c
check_inputs_CPPFLAGS = $(test_cppflags)
check_inputs_LDADD = $(test_libs)
