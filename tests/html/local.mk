EXTRA_DIST += %D%/browser.py %D%/drive.py %D%/page.py
dist_check_SCRIPTS += %D%/check_browser.sh %D%/check_html.sh %D%/check_views.sh
TESTS += %D%/check_browser.sh %D%/check_html.sh %D%/check_views.sh
