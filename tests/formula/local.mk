test_programs += check_formula
check_formula_SOURCES = %D%/check_formula.c %D%/formula_test.h %D%/check_adjoint.c %D%/check_evaluate.c \
	%D%/check_fuzz.c %D%/check_integers.c %D%/check_layout.c %D%/check_outputs.c %D%/check_parse.c %D%/laid.c \
	%D%/laid.h %D%/oracle.c %D%/oracle.h %D%/support.c
