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
