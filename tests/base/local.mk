test_programs += check_base check_shown
check_base_SOURCES = %D%/check_base.c
check_shown_SOURCES = %D%/check_shown.c
