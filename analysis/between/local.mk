libulpscope_a_SOURCES += %D%/between.c %D%/between_cache.c %D%/between_fields.c %D%/between_text.c %D%/between_tokens.c %D%/between_try.c %D%/betweening.h
