check_PROGRAMS += check_wide
TESTS += check_wide
check_wide_SOURCES = %D%/check_wide.c %D%/wide/check_kept.c %D%/wide/world.c %D%/wide/world.h
check_wide_CPPFLAGS = $(test_cppflags)
check_wide_LDADD = $(test_libs)
