libulpscope_a_SOURCES += \
	%D%/audit_fields.c %D%/audit_json.c %D%/audit_json.h %D%/cause.def %D%/share.def %D%/add.c %D%/audit.c %D%/certify.c %D%/certify.h %D%/auditor.h %D%/birth.c %D%/birth.h %D%/listed.c %D%/listed.h %D%/lost.c %D%/lost.h %D%/given.c %D%/given.h %D%/audit_keep.c %D%/audit_keep.h %D%/audit_mixed.c %D%/audit_mixed.h %D%/observe.c \
	%D%/audit_overflow.c %D%/audit_overflow.h %D%/audit_pair.c %D%/audit_pair.h %D%/part.c %D%/part.h %D%/part_file.c %D%/place.c %D%/place.h %D%/samples.c %D%/audit_shares.c %D%/audit_shares.h %D%/audit_verdict.c %D%/taint.c %D%/taint.h \
	%D%/truth.c %D%/truth.h %D%/views.c %D%/views.h %D%/zero.c %D%/zero.h
include analysis/audit/divergence/local.mk
