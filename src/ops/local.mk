libcore_la_SOURCES += \
	%D%/attention.c %D%/attention.h \
	%D%/axes.c \
	%D%/bind.c \
	%D%/blocks.c \
	%D%/bounds.c %D%/bounds.h \
	%D%/call.c %D%/call.h \
	%D%/cast.c \
	%D%/combine.c %D%/combine.h \
	%D%/compare.c %D%/compare.h \
	%D%/contraction.c %D%/contraction.h \
	%D%/control.c %D%/control.h \
	%D%/conv.c \
	%D%/cumulate.c \
	%D%/deform.c \
	%D%/det.c \
	%D%/detect.c \
	%D%/einsum.c \
	%D%/elementwise.c \
	%D%/gather.c \
	%D%/generate.c \
	%D%/infer.c %D%/infer.h \
	%D%/integer.c \
	%D%/interpolate.c %D%/interpolate.h \
	%D%/matmul.c \
	%D%/microsoft.c \
	%D%/microsoft_attention.c %D%/microsoft_attention.h \
	%D%/microsoft_conv.c \
	%D%/microsoft_grouped.c \
	%D%/microsoft_quantize.c \
	%D%/move.c %D%/move.h \
	%D%/ngram.c \
	%D%/normalize.c \
	%D%/operator.h \
	%D%/pool.c \
	%D%/quantize.c \
	%D%/recurrent.c \
	%D%/recurrent_cell.c %D%/recurrent_cell.h \
	%D%/reduce.c \
	%D%/registry.c \
	%D%/resize.c \
	%D%/roi.c \
	%D%/sample.c \
	%D%/select.c \
	%D%/shape.c \
	%D%/signal.c \
	%D%/state.c \
	%D%/window.c %D%/window.h
