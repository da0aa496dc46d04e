dist_check_SCRIPTS += %D%/check_interop.sh %D%/check_python.sh
TESTS += %D%/check_interop.sh %D%/check_python.sh
EXTRA_DIST += %D%/check_backend.py %D%/check_declarations.py %D%/check_dropin.py %D%/check_package.py %D%/check_study.py tests/data/study/digits.json %D%/package.sh %D%/run_notebooks.py
