include analysis/measure/local.mk
include analysis/writing/local.mk
include analysis/schedule/local.mk
include analysis/resized/local.mk
include analysis/audit/local.mk
include analysis/attribution/local.mk
include analysis/session/local.mk
include analysis/compare/local.mk
include analysis/fit/local.mk
include analysis/lint/local.mk
include analysis/mixed/local.mk
include analysis/emulation/local.mk
include analysis/search/local.mk
include analysis/overflow/local.mk
include analysis/tolerance/local.mk
include analysis/prove/local.mk
include analysis/engine/local.mk
include analysis/extract/local.mk
include analysis/doctor/local.mk
include analysis/fix/local.mk
include analysis/report/local.mk
include analysis/saved/local.mk
include analysis/scales/local.mk
include analysis/html/local.mk
include analysis/quick/local.mk
include analysis/study/local.mk
include analysis/timings/local.mk

# tables of results' members, which are committed: a header that has changed writes them again, where there is a Python
BUILT_SOURCES += analysis/fields.stamp
CLEANFILES += analysis/fields.stamp
analysis/fields.stamp: $(pkginclude_HEADERS) scripts/headers.py scripts/result_fields.py
	$(AM_V_GEN)if command -v python3 >/dev/null; then python3 $(srcdir)/scripts/result_fields.py; fi
	@mkdir -p analysis && touch $@
