#!/usr/bin/env bash
# What the pages of doc/ show is what is printed: every command of the walkthroughs, and those of other pages on examples/.
set -u
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy for $python: the walkthroughs are not run"; exit 77; }
source=$(cd "${top_srcdir:-.}" && pwd)
exec "$python" "$source/tests/doc/check_walkthroughs.py" "${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}" "$source" "$@"
