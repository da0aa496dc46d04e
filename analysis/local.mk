libcore_la_SOURCES += \
	%D%/limit.c %D%/limit.h %D%/schedules.h %D%/slices.c %D%/slices.h %D%/spread.c
include analysis/measure/local.mk
include analysis/audit/local.mk
include analysis/attribution/local.mk
include analysis/session/local.mk
include analysis/compare/local.mk
include analysis/fit/local.mk
include analysis/lint/local.mk
include analysis/mixed/local.mk
include analysis/emulation/local.mk
include analysis/plan/local.mk
include analysis/bits/local.mk
include analysis/forecast/local.mk
include analysis/tolerance/local.mk
include analysis/prove/local.mk
include analysis/engine/local.mk
include analysis/report/local.mk
include analysis/saved/local.mk
include analysis/html/local.mk
include analysis/quick/local.mk
include analysis/study/local.mk
include analysis/timings/local.mk
