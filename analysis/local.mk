include analysis/measure/local.mk
include analysis/writing/local.mk
include analysis/schedule/local.mk
include analysis/resized/local.mk
include analysis/tried/local.mk
include analysis/audit/local.mk
include analysis/attribution/local.mk
include analysis/session/local.mk
include analysis/compare/local.mk
include analysis/lint/local.mk
include analysis/mixed/local.mk
include analysis/emulation/local.mk
include analysis/search/local.mk
include analysis/overflow/local.mk
include analysis/tolerance/local.mk
include analysis/between/local.mk
include analysis/prove/local.mk
include analysis/engine/local.mk
include analysis/extract/local.mk
include analysis/doctor/local.mk
include analysis/fix/local.mk
include analysis/report/local.mk
include analysis/saved/local.mk
include analysis/scales/local.mk
include analysis/quantise/local.mk
include analysis/html/local.mk

# Tables of results' members are made of the public headers; a tarball has them. Those in doc/ are committed.
made_fields = $(filter %_fields.c %/structs.h,$(libulpscope_a_SOURCES))
BUILT_SOURCES += analysis/fields.stamp
CLEANFILES += analysis/fields.stamp $(made_fields)
analysis/fields.stamp: $(pkginclude_HEADERS) scripts/headers.py scripts/result_fields.py
	$(AM_V_GEN)$(MKDIR_P) analysis && if test -n "$(PYTHON3)"; then \
	$(PYTHON3) $(srcdir)/scripts/result_fields.py --into . && $(PYTHON3) $(srcdir)/scripts/result_fields.py; \
	else for file in $(made_fields); do test -f $$file || { $(MKDIR_P) `dirname $$file` && cp $(srcdir)/$$file $$file; } || exit 1; done; fi && touch $@
$(made_fields): analysis/fields.stamp
	@:
$(libulpscope_a_OBJECTS) $(libtest_a_OBJECTS): | analysis/fields.stamp
