# tests of number: formats, arithmetics by name, rounding
check_PROGRAMS += check_format check_number check_round
TESTS += check_format check_number check_round
check_format_SOURCES = %D%/check_format.c
check_format_CPPFLAGS = $(test_cppflags)
check_format_LDADD = $(test_libs)
check_number_SOURCES = %D%/check_number.c
check_number_CPPFLAGS = $(test_cppflags)
check_number_LDADD = $(test_libs)
check_round_SOURCES = %D%/check_round.c %D%/round/check_oracle.c %D%/round/check_stochastic.c \
	%D%/round/round_test.h %D%/round/support.c
check_round_CPPFLAGS = $(test_cppflags)
check_round_LDADD = $(test_libs)
check_PROGRAMS += check_strip check_function check_function_cuda
TESTS += check_strip check_function check_function_cuda
check_strip_SOURCES = %D%/check_strip.c %D%/check_strip_access.c %D%/check_strip_fold.c %D%/check_strip_chain.c \
	%D%/strip_oracle.c %D%/strip_oracle.h
check_strip_CPPFLAGS = $(test_cppflags)
check_strip_LDADD = $(test_libs)
check_function_SOURCES = %D%/check_function.c %D%/strip_oracle.c %D%/strip_oracle.h
check_function_CPPFLAGS = $(test_cppflags)
check_function_LDADD = $(test_libs)
check_function_cuda_SOURCES = %D%/check_function_cuda.c
check_function_cuda_CPPFLAGS = $(test_cppflags)
check_function_cuda_LDADD = $(test_libs)
check_PROGRAMS += check_wide_function
TESTS += check_wide_function
check_wide_function_SOURCES = %D%/check_wide_function.c %D%/strip_oracle.c %D%/strip_oracle.h
check_wide_function_CPPFLAGS = $(test_cppflags)
check_wide_function_LDADD = $(test_libs)
check_PROGRAMS += check_wide_arithmetic
TESTS += check_wide_arithmetic
check_wide_arithmetic_SOURCES = %D%/check_wide_arithmetic.c %D%/strip_oracle.c %D%/strip_oracle.h
check_wide_arithmetic_CPPFLAGS = $(test_cppflags)
check_wide_arithmetic_LDADD = $(test_libs)
