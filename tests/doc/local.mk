# What the documentation shows, run.
EXTRA_DIST += %D%/check_walkthroughs.py
dist_check_SCRIPTS += %D%/check_readme.sh %D%/check_walkthroughs.sh
TESTS += %D%/check_readme.sh %D%/check_walkthroughs.sh
