libcore_la_SOURCES += %D%/candidate.c %D%/fit.c %D%/fit.h %D%/fit_text.c %D%/mask.c %D%/operand.c %D%/order.c %D%/probe.c %D%/sieve.c
