libcore_la_SOURCES += \
	%D%/allocation.h %D%/approach.c %D%/choices.c %D%/descend.c %D%/emulate.c %D%/bits_find.c %D%/frontier.c %D%/learn.c %D%/merge.c %D%/model.c %D%/range.c %D%/bits_report.c %D%/search.c %D%/bits_text.c \
	%D%/uniform.c %D%/bits_write.c %D%/bits_write.h
