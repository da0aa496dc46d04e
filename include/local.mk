include_HEADERS = include/ulpscope.h
pkginclude_HEADERS = \
	include/ulpscope/status.h \
	include/ulpscope/memory.h \
	include/ulpscope/format.h \
	include/ulpscope/tensor.h \
	include/ulpscope/model.h \
	include/ulpscope/array.h \
	include/ulpscope/search.h \
	include/ulpscope/unit.h \
	include/ulpscope/recording.h \
	include/ulpscope/run.h \
	include/ulpscope/audit.h \
	include/ulpscope/limit.h \
	include/ulpscope/html.h \
	include/ulpscope/compare.h \
	include/ulpscope/target.h \
	include/ulpscope/lint.h \
	include/ulpscope/saved.h \
	include/ulpscope/between.h \
	include/ulpscope/tolerance.h \
	include/ulpscope/mixed.h \
	include/ulpscope/overflow.h \
	include/ulpscope/engine.h \
	include/ulpscope/extract.h \
	include/ulpscope/quantise.h \
	include/ulpscope/scales.h \
	include/ulpscope/doctor.h \
	include/ulpscope/fix.h \
	include/ulpscope/verdict.h \
	include/ulpscope/prove.h \
	include/ulpscope/outputs.h include/ulpscope/report.h include/ulpscope/written.h
