libcore_la_SOURCES += \
	%D%/bind.c %D%/bounds.c %D%/bounds.h %D%/call.c %D%/call.h %D%/combine.c %D%/combine.h %D%/compare.c %D%/compare.h \
	%D%/contraction.c %D%/contraction.h %D%/control.c %D%/control.h %D%/infer.c %D%/infer.h %D%/interpolate.c %D%/interpolate.h \
	%D%/move.c %D%/move.h %D%/operator.h %D%/registry.c %D%/run.c %D%/trace.h \
	%D%/enclose.h %D%/trace/adjoint.c %D%/trace/enclose.c %D%/trace/enclose_contract.c %D%/trace/enclose_tape.c \
	%D%/trace/enclosing.h %D%/trace/gate.h %D%/trace/names.c %D%/trace/record.c %D%/trace/reverse.c %D%/window.c %D%/window.h
include src/ops/movement/local.mk
include src/ops/formula/local.mk
include src/ops/product/local.mk
include src/ops/attention/local.mk
include src/ops/image/local.mk
include src/ops/microsoft/local.mk
