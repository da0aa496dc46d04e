# What the documentation shows, run.
EXTRA_DIST += %D%/check_walkthroughs.py %D%/check_corpus.py
dist_check_SCRIPTS += %D%/check_corpus.sh %D%/check_polygraphy.sh %D%/check_readme.sh %D%/check_targets.sh %D%/check_walkthroughs.sh
TESTS += %D%/check_corpus.sh %D%/check_polygraphy.sh %D%/check_readme.sh %D%/check_targets.sh %D%/check_walkthroughs.sh
