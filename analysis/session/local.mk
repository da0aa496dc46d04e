libcore_la_SOURCES += %D%/audit_run.c %D%/overflowing.c %D%/parts.c %D%/quick.c %D%/sample.c %D%/session.c %D%/session.h %D%/store.c %D%/store.h
