check_PROGRAMS += check_run
TESTS += check_run
check_run_SOURCES = %D%/check_run.c %D%/support/networks.c %D%/support/networks.h
check_run_CPPFLAGS = $(test_cppflags)
check_run_LDADD = $(test_libs)
