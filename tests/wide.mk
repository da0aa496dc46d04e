check_PROGRAMS += check_wide
TESTS += check_wide
check_wide_SOURCES = %D%/check_wide.c
check_wide_CPPFLAGS = $(test_cppflags)
check_wide_LDADD = $(test_libs)
