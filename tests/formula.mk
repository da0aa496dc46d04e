check_PROGRAMS += check_formula
TESTS += check_formula
check_formula_SOURCES = %D%/check_formula.c %D%/formula/formula_test.h \
	%D%/formula/check_adjoint.c \
	%D%/formula/check_evaluate.c \
	%D%/formula/check_fuzz.c \
	%D%/formula/check_integers.c \
	%D%/formula/check_layout.c \
	%D%/formula/check_outputs.c \
	%D%/formula/check_parse.c \
	%D%/formula/laid.c %D%/formula/laid.h \
	%D%/formula/oracle.c %D%/formula/oracle.h \
	%D%/formula/support.c %D%/fuzz/fuzz_formula.c %D%/fuzz/fuzz_formula.h
check_formula_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/tests/formula -I$(top_srcdir)/tests/fuzz
check_formula_LDADD = $(test_libs)
