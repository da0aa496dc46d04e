test_programs += check_base check_options check_shown
check_options_SOURCES = %D%/check_options.c
check_base_SOURCES = %D%/check_base.c
check_shown_SOURCES = %D%/check_shown.c
