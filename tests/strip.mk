check_PROGRAMS += check_strip check_function
TESTS += check_strip check_function
check_strip_SOURCES = %D%/check_strip.c %D%/check_strip_access.c %D%/check_strip_fold.c %D%/check_strip_chain.c \
	%D%/strip_oracle.c %D%/strip_oracle.h
check_strip_CPPFLAGS = $(test_cppflags)
check_strip_LDADD = $(test_libs)
check_function_SOURCES = %D%/check_function.c %D%/strip_oracle.c %D%/strip_oracle.h
check_function_CPPFLAGS = $(test_cppflags)
check_function_LDADD = $(test_libs)
check_PROGRAMS += check_wide_function
TESTS += check_wide_function
check_wide_function_SOURCES = %D%/check_wide_function.c %D%/strip_oracle.c %D%/strip_oracle.h
check_wide_function_CPPFLAGS = $(test_cppflags)
check_wide_function_LDADD = $(test_libs)
