EXTRA_DIST += %D%/page.py
dist_check_SCRIPTS += %D%/check_html.sh
TESTS += %D%/check_html.sh
