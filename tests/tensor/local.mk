test_programs += check_tensor
check_tensor_SOURCES = %D%/check_tensor.c
