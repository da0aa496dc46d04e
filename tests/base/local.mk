check_PROGRAMS += check_base
TESTS += check_base
check_base_SOURCES = %D%/check_base.c
check_base_CPPFLAGS = $(test_cppflags)
check_base_LDADD = $(test_libs)
