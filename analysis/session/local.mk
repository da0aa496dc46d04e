libulpscope_a_SOURCES += \
	%D%/advise.c %D%/worst_output.c %D%/advise.h %D%/audit_run.c %D%/overflowing.c %D%/pairs.c %D%/rescale.c %D%/rescale.h %D%/scaled_lanes.c %D%/session.c %D%/session.h %D%/session_parts.c %D%/session_sample.c \
	%D%/session_store.c %D%/session_store.h %D%/stored_faults.c %D%/twin.c %D%/twin.h
