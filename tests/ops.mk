check_PROGRAMS += check_ops conformance
TESTS += check_ops
check_ops_SOURCES = %D%/check_ops.c
check_ops_CPPFLAGS = $(test_cppflags)
check_ops_LDADD = $(test_libs)
conformance_SOURCES = %D%/conformance.c
conformance_CPPFLAGS = $(test_cppflags)
conformance_LDADD = libcore.la
