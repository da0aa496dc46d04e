libcore_la_SOURCES += \
	%D%/allocation.h %D%/approach.c %D%/choices.c %D%/descend.c %D%/emulate.c %D%/find.c %D%/frontier.c %D%/learn.c %D%/merge.c %D%/model.c %D%/range.c %D%/report.c %D%/search.c %D%/text.c \
	%D%/uniform.c %D%/write.c %D%/write.h
