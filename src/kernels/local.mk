libcore_la_SOURCES += \
	%D%/contract.h \
	%D%/cpu.c %D%/cpu.h \
	%D%/pack.c %D%/pack.h %D%/pack_template.h
