libulpscope_a_SOURCES += \
	%D%/ask.c %D%/building.c %D%/integers.c %D%/lint_fields.c %D%/proposal.c %D%/lint_json.c %D%/lint.c %D%/lint.h %D%/proposal.h %D%/rewrite.c %D%/rewrite.def %D%/rule.def %D%/rules_cast.c %D%/rules_codes.c %D%/rules_constant.c %D%/rules_half.c %D%/rules_idiom.c %D%/parser.def %D%/rules_option.c %D%/rules_original.c %D%/rules_parser.c %D%/rules_qdq.c %D%/rules_scale.c \
	%D%/rules_shape.c %D%/lint_text.c %D%/refusal.c %D%/refusal.h %D%/lint_types.c  %D%/term.c %D%/term.h %D%/lint_bytes.c %D%/planned.c %D%/view.c
