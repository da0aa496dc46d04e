libulpscope_a_SOURCES += %D%/candidate.c %D%/fit.c %D%/fit.h %D%/fit_fields.c %D%/fit_text.c %D%/fit_mask.c %D%/operand.c %D%/fit_order.c %D%/probe.c %D%/sieve.c
