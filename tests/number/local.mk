test_programs += check_binary64 check_format check_function check_function_cuda check_math check_number check_pair check_round check_strip check_strip_pair \
	check_wrong_names
# tests of number: formats, arithmetics by name, rounding
check_binary64_SOURCES = %D%/check_binary64.c %D%/strip_oracle.c %D%/strip_oracle.h
check_format_SOURCES = %D%/check_format.c
check_function_SOURCES = %D%/check_function.c %D%/strip_oracle.c %D%/strip_oracle.h
check_function_cuda_SOURCES = %D%/check_function_cuda.c
check_math_SOURCES = %D%/check_math.c
check_number_SOURCES = %D%/check_number.c
check_pair_SOURCES = %D%/check_pair.c %D%/strip_oracle.c %D%/strip_oracle.h
check_round_SOURCES = %D%/check_round.c %D%/round/check_oracle.c %D%/round/check_stochastic.c \
	%D%/round/round_test.h %D%/round/support.c
check_strip_SOURCES = %D%/check_strip.c %D%/check_strip_access.c %D%/check_strip_reduction.c \
	%D%/strip_oracle.c %D%/strip_oracle.h
check_strip_pair_SOURCES = %D%/check_strip_pair.c %D%/strip_oracle.c %D%/strip_oracle.h
check_wrong_names_SOURCES = %D%/check_wrong_names.c
