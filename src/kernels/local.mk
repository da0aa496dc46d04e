libcore_la_SOURCES += \
	%D%/contract.c %D%/contract.h %D%/reference.c %D%/reference.h
include src/kernels/operand/local.mk
include src/kernels/exact/local.mk
include src/kernels/digit/local.mk
include src/kernels/chain/local.mk
include src/kernels/unit/local.mk
