check_PROGRAMS += check_load fuzz_load
TESTS += check_load
check_load_SOURCES = %D%/check_load.c %D%/load/check_attributes.c %D%/load/check_damage.c %D%/load/check_external.c \
	%D%/load/check_graph.c %D%/load/check_tensor_proto.c %D%/load/load_test.h %D%/fuzz/fuzz_load.c %D%/fuzz/fuzz_load.h %D%/fuzz/mutate.c
check_load_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/fuzz
check_load_LDADD = $(test_libs)

fuzz_load_SOURCES = %D%/fuzz/fuzz_main.c %D%/fuzz/fuzz_load.c %D%/fuzz/fuzz_load.h %D%/fuzz/mutate.c
fuzz_load_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/fuzz
fuzz_load_LDADD = $(test_libs)
