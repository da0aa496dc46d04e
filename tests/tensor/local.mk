test_programs += check_tensor
check_tensor_SOURCES = %D%/check_tensor.c
test_programs += check_odd
check_odd_SOURCES = %D%/check_odd.c
