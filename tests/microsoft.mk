TESTS += %D%/check_microsoft.sh
dist_check_SCRIPTS += %D%/check_microsoft.sh
EXTRA_DIST += %D%/data/microsoft scripts/record_microsoft_ops.py
