libulpscope_a_SOURCES += \
	%D%/product_conv.c %D%/conv_kernel.c %D%/conv_kernel.h %D%/cudnn_conv.def %D%/cudnn_recurrent.def %D%/conv_layout.c %D%/conv_layout.h %D%/conv_transpose.c %D%/deform.c %D%/einsum.c %D%/product_integer.c %D%/product_matmul.c %D%/product_quantize.c %D%/product_tensorrt.c %D%/quantize_rows.h %D%/requantise.c %D%/requantise.h %D%/recurrent.c %D%/saturating.c %D%/saturating.h %D%/recurrent_codes.c %D%/recurrent_codes.h \
	%D%/recurrent_cell.c %D%/recurrent_cell.h %D%/recurrent.h %D%/recurrent_read.c %D%/recurrent_kernel.c %D%/recurrent_kernel.h
