libulpscope_a_SOURCES += \
	%D%/contract.c %D%/contract.h %D%/cublas.c %D%/cublas.h %D%/cublas_floats.def %D%/cublas_split.def %D%/byte_pairs.c %D%/byte_pairs.h %D%/reference.c %D%/reference.h %D%/scaled_contract.c %D%/scaled_contract.h
include src/kernels/operand/local.mk
include src/kernels/exact/local.mk
include src/kernels/pair/local.mk
include src/kernels/chain/local.mk
include src/kernels/unit/local.mk
