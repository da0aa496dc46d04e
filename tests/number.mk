# tests of number: rounding
check_PROGRAMS += check_round
TESTS += check_round
check_round_SOURCES = %D%/check_round.c
check_round_CPPFLAGS = $(test_cppflags)
check_round_LDADD = $(test_libs)
