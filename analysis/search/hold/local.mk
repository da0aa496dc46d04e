libulpscope_a_SOURCES += \
	%D%/confidence.c %D%/hold.c %D%/hold.h %D%/hold_decided.c %D%/learn_links.c %D%/links.c %D%/verify_draws.c
