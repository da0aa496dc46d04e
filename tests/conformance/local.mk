# ONNX's own test cases: conformance DIR... runs those of a folder.
EXTRA_PROGRAMS += conformance
conformance_SOURCES = %D%/conformance.c %D%/conformance.h %D%/conformance_case.c %D%/conformance_scope.c
conformance_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
conformance_LDADD = $(core)
dist_check_SCRIPTS += %D%/check_cases.sh %D%/check_conformance.sh %D%/check_coverage.sh
TESTS += %D%/check_cases.sh %D%/check_conformance.sh %D%/check_coverage.sh
$(also)%D%/check_cases.sh.log %D%/check_conformance.sh.log %D%/check_coverage.sh.log: conformance$(EXEEXT)
$(also)tests/ops/check_microsoft.sh.log tests/ops/check_tensorrt.sh.log tests/python/check_interop.sh.log: conformance$(EXEEXT)
