check_PROGRAMS += check_analysis
TESTS += check_analysis
check_analysis_SOURCES = %D%/check_analysis.c
check_analysis_CPPFLAGS = $(test_cppflags)
check_analysis_LDADD = $(test_libs)
