check_PROGRAMS += check_formula
TESTS += check_formula
check_formula_SOURCES = %D%/check_formula.c %D%/formula/formula_test.h %D%/formula/check_parse.c
check_formula_CPPFLAGS = $(test_cppflags)
check_formula_LDADD = $(test_libs)
