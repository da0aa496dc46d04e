check_PROGRAMS += check_analysis check_truth
TESTS += check_analysis check_truth
check_analysis_SOURCES = %D%/check_analysis.c
check_analysis_CPPFLAGS = $(test_cppflags)
check_analysis_LDADD = $(test_libs)
check_truth_SOURCES = %D%/check_truth.c tests/support/text_model.c tests/support/text_model.h
check_truth_CPPFLAGS = $(test_cppflags)
check_truth_LDADD = $(test_libs)
