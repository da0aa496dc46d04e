libcore_la_SOURCES += \
	%D%/arithmetic.c %D%/built.c %D%/change.c %D%/change_text.c %D%/cost.c %D%/json.c %D%/kernel.c %D%/kernel.def %D%/lane.c %D%/mapping.c %D%/mapping.h %D%/names.c \
	%D%/tensors.c %D%/text.c %D%/verdict.c %D%/wish.c %D%/words.h
