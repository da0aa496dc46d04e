libulpscope_a_SOURCES += \
	%D%/bind/attributes.c %D%/bind/bind.c %D%/bind/binding.h %D%/bind/slots.c \
	%D%/call/arguments.c %D%/call/call_blocks.c %D%/call/formula.c %D%/call/call_memory.c %D%/call/library.c %D%/call/library.h %D%/call/ranges.c %D%/call.h \
	%D%/bounds.c %D%/bounds.h %D%/combine.c %D%/combine.h %D%/compare.c %D%/compare.h \
	%D%/contraction.c %D%/contraction.h %D%/family.def %D%/infer.c %D%/infer.h %D%/ops_move.c %D%/ops_move.h \
	%D%/operator.h %D%/prepared.c %D%/prepared.h %D%/registry.c %D%/run.c %D%/steps.c %D%/steps.h %D%/wide.c %D%/wide.def %D%/wide.h \
	%D%/control/control.c %D%/control/control.h %D%/control/control_parts.c %D%/control/control_parts.h \
	%D%/probe.h %D%/probe/probe_contract.c %D%/probe/probe_tape.c \
	%D%/spatial/interpolate.c %D%/spatial/interpolate.h %D%/spatial/window.c %D%/spatial/window.h \
	%D%/trace/trace_adjoint.c %D%/trace/trace_elementwise.c %D%/trace/reverse_contraction.c %D%/trace/affine.c %D%/trace/affine.h %D%/trace/affine_contract.c \
	%D%/trace/affine_tape.c %D%/trace/trace_enclose.c %D%/trace/trace_enclose.h %D%/trace/enclose_contract.c %D%/trace/enclose_store.c %D%/trace/enclose_tape.c %D%/trace/enclose_tape.h \
	%D%/trace/enclosing.c %D%/trace/enclosing.h %D%/trace/gate.h %D%/trace/trace_names.c %D%/trace/trace_numbers.c %D%/trace/trace_settle.c %D%/trace/record.c %D%/trace/reverse.c %D%/trace/trace.h
include src/ops/movement/local.mk
include src/ops/formula/local.mk
include src/ops/product/local.mk
include src/ops/attention/local.mk
include src/ops/image/local.mk
include src/ops/microsoft/local.mk
