#!/usr/bin/env bash
# Causes found in public are named first, and nothing else is called broken: examples/causes.
set -u
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy for $python: the public causes are not looked for"; exit 77; }
source=$(cd "${top_srcdir:-.}" && pwd)
exec "$python" "$source/tests/doc/check_corpus.py" "${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}" "$source" "$@"
